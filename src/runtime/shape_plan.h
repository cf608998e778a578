/// What a block needs to run at one set of input shapes: register values, buffer places, prepared launches. Made once
/// per shape, cached by the frame.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plan/arena.h"
#include "runtime/program.h"

namespace strop::runtime {

/// Where an operand's bytes are found at run time.
struct Place {
  plan::Storage root = plan::Storage::None;  ///< Input, Output, Weight, Arena or Host
  int32_t index = plan::kNone;               ///< port, weight, or value (Host)
  int64_t offset_bytes = 0;
};

struct PreparedStep {
  std::unique_ptr<tactics::Launch> launch;  ///< null: Copy, Generic and event steps
  std::vector<Place> inputs;                ///< packed weights in place of their operands
  std::vector<Place> outputs;
  std::vector<tactics::Buffer> input_buffers;  ///< pitches set, pointers filled in at each run
  std::vector<tactics::Buffer> output_buffers;
  bool alone = false;            ///< on the calling thread only
  int64_t workspace_offset = 0;  ///< in the arena
  int64_t copy_bytes = 0;        ///< Copy
};

struct ShapePlan {
  std::vector<int64_t> key;      ///< the input dimensions, ranks included
  std::vector<int64_t> symbols;  ///< kUnknown for unbacked ones
  std::vector<int64_t> registers;
  std::vector<std::vector<int64_t>> dims;  ///< per value; meaningless where not known
  std::vector<bool> known;                 ///< per value: all dimensions known before the run
  std::vector<Place> places;               ///< per value
  std::vector<PreparedStep> steps;
  plan::ArenaPlan arena;
  int64_t workspace_bytes = 0;     ///< the largest step's
  int64_t intermediate_bytes = 0;  ///< the sum of all intermediates, as if nothing were shared or viewed
};

struct ShapePlanRequest {
  const Program& program;
  size_t block = 0;
  const std::vector<Type>& inputs;     ///< as found at a call, in the block's input order; None for absent optionals
  std::span<const int64_t> inherited;  ///< symbol values of the enclosing block
  int threads = 1;
};
Result<std::unique_ptr<ShapePlan>> make_shape_plan(const ShapePlanRequest& request);

/// The attributes with symbols replaced by their values (unknown ones stay).
ops::Attrs bind_attrs(const ops::Attrs& attrs, const plan::ShapeProgram& shapes, const std::vector<int64_t>& symbols);

/// The concrete problem of a step: operand and result types with constant dimensions.
tactics::Problem concrete_problem(const ProgramStep& step, ops::Attrs attrs, std::vector<Type> inputs,
                                  std::vector<Type> outputs);

/// Picks the variant whose conditions hold and prepares it.
Result<std::unique_ptr<tactics::Launch>> prepare_variant(const plan::Step& step, const ProgramStep& loaded,
                                                         const std::vector<int64_t>& registers,
                                                         const tactics::PrepareArgs& args, size_t* chosen);

/// "node 'a' (Conv)"
std::string describe(const plan::Step& step);

}  // namespace strop::runtime
