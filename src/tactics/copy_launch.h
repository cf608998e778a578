/// Tactics that move elements without looking at them.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/copy/strided_copy.h"
#include "tactics/tactic.h"

namespace strop::tactics {

/// Why a tensor's elements cannot be moved as bytes: strings, packed elements, unknown rank, too many axes, a blocked
/// layout. Null: they can.
std::optional<std::string> why_not_bytes(const TensorType& type);
/// The first reason of all operands and results that are there.
std::optional<std::string> why_not_bytes(const Problem& problem);

/// Bytes of one element; the type is one that why_not_bytes accepts.
int64_t element_bytes(const TensorType& type);

/// A launch that is a list of strided copies, carried out in order.
class CopyLaunch final : public Launch {
 public:
  static constexpr int kZeros = -1;      ///< a source of zero bytes
  static constexpr int kOwnOutput = -2;  ///< the step's output, written by earlier steps

  struct Step {
    int source = 0;  ///< an operand's index, kZeros or kOwnOutput
    kernels::StridedCopy copy;
    int output = 0;
  };
  explicit CopyLaunch(std::vector<Step> steps) : steps_(std::move(steps)) {}
  static std::unique_ptr<Launch> make(std::vector<Step> steps) {
    return std::make_unique<CopyLaunch>(std::move(steps));
  }

  Result<void> run(const LaunchArgs& args) const override {
    static constexpr std::array<char, 16> kZeroBytes{};
    for (const Step& step : steps_) {
      void* to = args.outputs[static_cast<size_t>(step.output)].data;
      if (to == nullptr) continue;
      const void* from = step.source == kZeros       ? kZeroBytes.data()
                         : step.source == kOwnOutput ? to
                                                     : args.inputs[static_cast<size_t>(step.source)].data;
      step.copy.run(from, to, args.threads);
    }
    return {};
  }

 private:
  std::vector<Step> steps_;
};

/// A CopyLaunch of one copy from operand 0.
std::unique_ptr<Launch> copy_operand(kernels::StridedCopy copy);

}  // namespace strop::tactics
