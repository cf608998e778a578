/// A loaded engine, ready to run: the plan with its operators, attributes and tactics looked up, and the weights.
/// Immutable and shared by every context of the engine.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "ops/operator.h"
#include "plan/plan.h"
#include "tactics/tactic.h"
#include "tensor/tensor.h"

namespace strop::runtime {

struct ProgramVariant {
  const tactics::Tactic* tactic = nullptr;  ///< null: the reference evaluation
  tactics::Config config;
};

struct ProgramStep {
  const ops::Operator* op = nullptr;  ///< null for Copy, Signal, Wait
  ops::Attrs attrs;                   ///< dimensions still symbolic
  bool symbolic_attrs = false;        ///< attrs depend on symbols
  std::vector<ops::LateField> late;
  std::vector<ProgramVariant> variants;  ///< parallel to the plan's
};

struct Program {
  std::shared_ptr<const plan::Plan> plan;
  std::vector<Tensor> weights;                  ///< parallel to the plan's; views of the file where it is mapped
  std::vector<std::vector<ProgramStep>> steps;  ///< per block, parallel to the plan's
};

/// Looks everything up in a verified plan. Errors (InvalidEngine): an operator, attribute, tactic or version that this
/// build does not have, or that does not fit where the plan uses it (step_check.h).
Result<std::shared_ptr<const Program>> make_program(std::shared_ptr<const plan::Plan> plan, std::vector<Tensor> weights,
                                                    const ops::Catalogue& operators,
                                                    const tactics::TacticList& tactics);

}  // namespace strop::runtime
