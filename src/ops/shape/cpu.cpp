// A few integers, known once shapes are.
#include <algorithm>
#include <array>

#include "ops/families.h"
#include "ops/late.h"
#include "ops/shape/shape.h"
#include "tactics/tactic.h"

namespace strop::ops {
namespace {

using tactics::Launch;
using tactics::PrepareArgs;
using tactics::Problem;

class ValuesLaunch final : public Launch {
 public:
  explicit ValuesLaunch(std::vector<int64_t> values) : values_(std::move(values)) {}
  Result<void> run(const tactics::LaunchArgs& args) const override {
    std::copy(values_.begin(), values_.end(), args.outputs[0].as<int64_t>());
    return {};
  }

 private:
  std::vector<int64_t> values_;
};

using Prepared = Result<std::unique_ptr<Launch>>;
std::unique_ptr<Launch> launch_of(std::vector<int64_t> values) {
  return std::make_unique<ValuesLaunch>(std::move(values));
}

Prepared prepare_dims_tensor(const PrepareArgs& args) {
  return launch_of(bound(args.problem.attrs.as<DimsTensorAttrs>().dims));
}

Prepared prepare_shape(const PrepareArgs& args) {
  const auto& attrs = args.problem.attrs.as<ShapeAttrs>();
  return launch_of(bound(selected_dims(args.problem.in(0).dims(), attrs.start, attrs.end)));
}

Prepared prepare_size(const PrepareArgs& args) { return launch_of({element_count(args.problem.in_dims(0))}); }

std::optional<std::string> why_not(const Problem& problem) {
  if (problem.has_input(0) && !problem.in(0).has_rank()) return "unknown rank";
  return std::nullopt;
}

constexpr tactics::Tactic tactic_of(std::string_view name, std::string_view op,
                                    Prepared (*prepare)(const PrepareArgs&)) {
  return {.name = name, .numerics = tactics::Numerics::Exact, .op = op, .why_not = why_not, .prepare = prepare};
}
constexpr tactics::Tactic kDimsTensorValues = tactic_of("DimsTensor.cpu.values", "DimsTensor", prepare_dims_tensor);
constexpr tactics::Tactic kShapeValues = tactic_of("Shape.cpu.values", "Shape", prepare_shape);
constexpr tactics::Tactic kSizeValues = tactic_of("Size.cpu.values", "Size", prepare_size);

}  // namespace

std::span<const tactics::Tactic* const> shape_cpu_tactics() {
  static constexpr std::array kTactics = {&kDimsTensorValues, &kShapeValues, &kSizeValues};
  return kTactics;
}

}  // namespace strop::ops
