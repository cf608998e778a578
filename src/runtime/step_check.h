/// Whether the steps of a plan mean something to the operators and tactics of this build. The plan itself has been
/// checked (plan::verify): every index is in range.
#pragma once

#include "runtime/block_types.h"
#include "runtime/program.h"

namespace strop::runtime {

/// The types of every block's values. Error: sizes that leave 64 bits.
Result<std::vector<BlockTypes>> block_types(const plan::Plan& plan);

/// Whether what inference found can be what was planned: the same kind and element type, and a dimension that is a
/// constant on both sides is the same. The plan may know more than inference, or less.
bool agree(const Type& inferred, const Type& planned);

struct StepCheck {
  const Program& program;  ///< plan and weights
  size_t block = 0;
  const plan::Step& step;
  const ProgramStep& loaded;
  const std::vector<BlockTypes>& types;  ///< per block
};
/// Attributes, operand and result types satisfy the operator's constraints; regions fit the operator; each variant's
/// tactic applies to the whole range of shapes, has such parameters, and gets the packed weights that it wants, in the
/// size that it wants. Errors are InvalidEngine.
Result<void> check_step(const StepCheck& check);

}  // namespace strop::runtime
