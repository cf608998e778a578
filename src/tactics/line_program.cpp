#include "tactics/line_program.h"

#include <array>

#include "ops/element_map.h"
#include "ops/fused.h"

namespace strop::tactics {
namespace {

constexpr size_t kMaxOperands = 24;

// Element offset of an operand for every line: the leading axes of `base`.
std::vector<int64_t> line_offsets(const std::vector<int64_t>& operand, const std::vector<int64_t>& base, int64_t axes) {
  const auto strides = ops::strides_of(operand);
  std::vector<int64_t> offsets = {0};
  for (size_t axis = 0; axis + static_cast<size_t>(axes) < base.size(); ++axis) {
    const size_t from_end = base.size() - axis;
    const bool own = from_end <= operand.size() && operand[operand.size() - from_end] != 1;
    const int64_t stride = own ? strides[operand.size() - from_end] : 0;
    std::vector<int64_t> longer;
    longer.reserve(offsets.size() * static_cast<size_t>(base[axis]));
    for (const int64_t offset : offsets) {
      for (int64_t i = 0; i < base[axis]; ++i) longer.push_back(offset + i * stride);
    }
    offsets = std::move(longer);
  }
  return offsets;
}

bool is_arithmetic(const std::vector<int64_t>& offsets) {
  for (size_t i = 2; i < offsets.size(); ++i) {
    if (offsets[i] != static_cast<int64_t>(i) * offsets[1]) return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> line_program_why_not(const Problem& problem, const LineSite& site) {
  const ops::ScalarProgram& program = site.program;
  if (!site.base.has_rank() || !(site.base.layout == Layout()))
    return "an operand's rank is not known, or it is blocked";
  if (program.empty()) return site.base.dtype == DType::F32 ? std::nullopt : std::optional<std::string>("only f32");
  if (program.instrs[static_cast<size_t>(program.outputs[0])].dtype != DType::F32)
    return "a program that does not give f32";
  if (static_cast<size_t>(program.input_count) > kMaxOperands) return "a program with too many operands";
  if (bit_width(site.base.dtype) < 8) return "packed elements";
  for (size_t i = 1; i < static_cast<size_t>(program.input_count); ++i) {
    const size_t input = site.first_operand + i - 1;
    if (!problem.has_input(input)) return "a program's operand is absent";
    const TensorType& type = problem.in(input);
    if (!type.has_rank() || !(type.layout == Layout()) || bit_width(type.dtype) < 8)
      return "a program's operand has no plain layout";
    if (ops::along_line(type.dims(), site.base.dims(), site.line_axes) == ops::AlongLine::Mixed)
      return "a program's operand broadcasts within a line";
  }
  return ops::tiles_why_not(program);
}

int64_t widest_line(const Problem& problem, LineSite site) {
  for (int64_t axes = site.base.rank(); axes > 1; --axes) {
    site.line_axes = axes;
    if (!line_program_why_not(problem, site)) return axes;
  }
  return 1;
}

LineProgram::LineProgram(const Problem& problem, const LineSite& site) {
  if (site.program.empty()) return;
  std::vector<ops::TileAccess> accesses(1);
  const auto base = *as_constants(site.base.dims());
  for (size_t i = 1; i < static_cast<size_t>(site.program.input_count); ++i) {
    Operand operand;
    operand.input = site.first_operand + i - 1;
    const TensorType& type = problem.in(operand.input);
    operand.element_bytes = bit_width(type.dtype) / 8;
    operand.along = ops::along_line(type.dims(), site.base.dims(), site.line_axes) == ops::AlongLine::Dense;
    operand.offsets = line_offsets(*as_constants(type.dims()), base, site.line_axes);
    if (is_arithmetic(operand.offsets)) {
      operand.step = operand.offsets.size() > 1 ? operand.offsets[1] : 0;
      operand.offsets.clear();
    }
    accesses.push_back({operand.along ? 1 : 0, nullptr});
    operands_.push_back(std::move(operand));
  }
  tiles_ = ops::make_tile_program(site.program, accesses, kernels::best_cpu_target());
  STROP_CHECK(tiles_ != nullptr, "too many values at once in {}", to_string(site.program));
}

void LineProgram::run(const LaunchArgs& args, const Part& part) const {
  std::array<const void*, kMaxOperands> pointers{part.in};
  for (size_t i = 0; i < operands_.size(); ++i) {
    const Operand& operand = operands_[i];
    const int64_t line =
        operand.offsets.empty() ? part.line * operand.step : operand.offsets[static_cast<size_t>(part.line)];
    const int64_t element = line + (operand.along ? part.begin : 0);
    pointers[i + 1] = args.inputs[operand.input].as<const std::byte>() + element * operand.element_bytes;
  }
  void* results[] = {part.out};
  tiles_->run(pointers.data(), results, part.count);
}

}  // namespace strop::tactics
