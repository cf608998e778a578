/// Pointwise nodes that feed each other become one: a region is read and written once instead of once per operator. The
/// fused program rounds where the single operators rounded, so the results stay the same bit by bit.
#include <algorithm>

#include "ops/pointwise/pointwise.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace strop::passes {

namespace {

constexpr Knob<bool> kEnabled{{.name = "passes.fuse_pointwise", .help = "fuse pointwise operators into regions"}};
constexpr std::string_view kOperandValues[] = {"4", "8", "16"};
constexpr Knob<int64_t> kMaxOperands{{.name = "passes.fuse_pointwise_operands",
                                      .help = "most tensors that one pointwise region may read",
                                      .default_value = "8",
                                      .values = kOperandValues,
                                      .when_knob = "passes.fuse_pointwise",
                                      .when_value = "on",
                                      .min = 1,
                                      .max = 64}};
constexpr const KnobInfo* kKnobs[] = {&kMaxOperands.info};

/// A region of more instructions than this no longer waits for memory.
constexpr size_t kMaxInstructions = 96;
/// A producer with several users is computed again in each, if it reads one tensor and does no more than this.
constexpr size_t kMaxRepeated = 2;

using ops::Fn;
using ops::ScalarInstr;
using ops::ScalarProgram;

bool is_cheap(Fn fn) {
  switch (fn) {
    case Fn::Copy:
    case Fn::Cast:
    case Fn::Abs:
    case Fn::Neg:
    case Fn::Relu:
    case Fn::Add:
    case Fn::Sub:
    case Fn::Mul:
    case Fn::Min:
    case Fn::Max:
    case Fn::Clip:
    case Fn::Not: return true;
    default: return false;
  }
}

class Fuser {
 public:
  Fuser(ir::Graph& graph, const PassContext& ctx) : graph_(graph), max_operands_(ctx.route.get(kMaxOperands)) {}

  Result<bool> run() {
    const std::vector<ir::NodeId> order = graph_.order();
    for (const ir::NodeId id : order) {
      if (is_pointwise(id)) STROP_TRY(tidy(id));
    }
    uses_ = graph_.uses();
    for (const ir::NodeId id : order) {
      if (!is_pointwise(id)) continue;
      while (fuse_one_producer(id)) STROP_TRY(tidy(id));
    }
    return changed_;
  }

 private:
  using Uses = std::vector<ir::Graph::Use>;

  const ScalarProgram& program_of(ir::NodeId id) const {
    return graph_.node(id).attrs.as<ops::PointwiseAttrs>().program;
  }
  bool is_pointwise(ir::NodeId id) const {
    const ir::Node& node = graph_.node(id);
    if (!node.alive || node.op != &ops::kPointwise || program_of(id).empty()) return false;
    // Strings and complex numbers have no programs of more than one instruction.
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId input) {
      const DType dtype = graph_.value(input).type.tensor.dtype;
      return dtype != DType::String && !is_complex(dtype);
    });
  }
  Uses& uses_of(ir::ValueId id) { return uses_[static_cast<size_t>(id)]; }

  /// Sets the program and the operands of a node, keeping `uses_` right.
  void set(ir::NodeId id, ScalarProgram program, std::vector<ir::ValueId> operands) {
    ir::Node& node = graph_.node(id);
    forget_uses(id);
    node.attrs = ops::PointwiseAttrs{std::move(program)};
    node.inputs = std::move(operands);
    if (!uses_.empty()) {
      for (size_t i = 0; i < node.inputs.size(); ++i) uses_of(node.inputs[i]).push_back({id, static_cast<int32_t>(i)});
    }
    changed_ = true;
  }

  void forget_uses(ir::NodeId id) {
    if (uses_.empty()) return;
    for (const ir::ValueId input : graph_.node(id).inputs) {
      std::erase_if(uses_of(input), [&](const ir::Graph::Use& use) { return use.node == id; });
    }
  }

  void drop(ir::NodeId id) {
    forget_uses(id);
    graph_.erase(id);
  }

  /// Scalars become immediates, equal operands one, operands that are not read go.
  Result<void> tidy(ir::NodeId id) {
    ScalarProgram program = program_of(id);
    std::vector<ir::ValueId> operands = graph_.node(id).inputs;
    for (size_t i = 0; i < operands.size();) {
      if (operands.size() > 1 && is_immediate(id, operands, i)) {
        program = ops::bind_operand(program, static_cast<int32_t>(i), *graph_.constant_tensor(operands[i]));
        operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    merge_operands(program, operands);
    program = ops::simplify(program);
    drop_unread(id, program, operands);
    const bool same = program == program_of(id) && operands == graph_.node(id).inputs;
    if (!same) set(id, std::move(program), std::move(operands));
    return {};
  }

  /// A constant of one element that the result's shape does not depend on.
  bool is_immediate(ir::NodeId id, const std::vector<ir::ValueId>& operands, size_t index) const {
    const Tensor* tensor = graph_.constant_tensor(operands[index]);
    if (!tensor || tensor->count() != 1 || tensor->dtype() == DType::String || is_complex(tensor->dtype()))
      return false;
    return keeps_shape(id, operands, index);
  }

  /// The result has the same shape without operand `index`, which has one element.
  bool keeps_shape(ir::NodeId id, const std::vector<ir::ValueId>& operands, size_t index) const {
    const TensorType* result = ranked(graph_, graph_.node(id).outputs[0]);
    if (!result) return false;
    Dims dims;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (i == index) continue;
      const TensorType* type = ranked(graph_, operands[i]);
      if (!type) return false;
      const auto joined = ops::broadcast(dims, type->dims());
      if (!joined.ok()) return false;
      dims = *joined;
    }
    return dims == result->dims();
  }

  static void remap_inputs(ScalarProgram& program, const std::vector<int32_t>& map, int32_t count) {
    for (ScalarInstr& instr : program.instrs) {
      if (instr.fn == Fn::Input) instr.input = map[static_cast<size_t>(instr.input)];
    }
    program.input_count = count;
  }

  static void merge_operands(ScalarProgram& program, std::vector<ir::ValueId>& operands) {
    std::vector<int32_t> map;
    std::vector<ir::ValueId> unique;
    for (const ir::ValueId operand : operands) {
      const auto found = std::find(unique.begin(), unique.end(), operand);
      map.push_back(static_cast<int32_t>(found - unique.begin()));
      if (found == unique.end()) unique.push_back(operand);
    }
    if (unique.size() == operands.size()) return;
    remap_inputs(program, map, static_cast<int32_t>(unique.size()));
    operands = std::move(unique);
  }

  void drop_unread(ir::NodeId id, ScalarProgram& program, std::vector<ir::ValueId>& operands) const {
    std::vector<bool> read(operands.size(), false);
    for (const ScalarInstr& instr : program.instrs) {
      if (instr.fn == Fn::Input) read[static_cast<size_t>(instr.input)] = true;
    }
    for (size_t i = operands.size(); i-- > 0;) {
      if (read[i] || operands.size() == 1 || !keeps_shape(id, operands, i)) continue;
      std::vector<int32_t> map(operands.size());
      for (size_t k = 0; k < map.size(); ++k) map[k] = static_cast<int32_t>(k > i ? k - 1 : k);
      operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(i));
      remap_inputs(program, map, static_cast<int32_t>(operands.size()));
    }
  }

  bool fuse_one_producer(ir::NodeId id) {
    const std::vector<ir::ValueId> operands = graph_.node(id).inputs;
    for (const ir::ValueId operand : operands) {
      const ir::NodeId before = producer(graph_, operand);
      if (before != ir::kNone && is_pointwise(before) && may_fuse(before, id, operand) && fuse(before, id, operand))
        return true;
    }
    return false;
  }

  bool may_fuse(ir::NodeId before, ir::NodeId id, ir::ValueId operand) {
    if (graph_.node(before).outputs.size() != 1) return false;
    const TensorType* produced = ranked(graph_, operand);
    const TensorType* result = ranked(graph_, graph_.node(id).outputs[0]);
    if (!produced || !result || produced->dims() != result->dims()) return false;
    const Uses& users = uses_of(operand);
    const bool only_here =
        std::all_of(users.begin(), users.end(), [&](const ir::Graph::Use& use) { return use.node == id; });
    return only_here || may_repeat(before, users);
  }

  /// Cheap, and every user is a pointwise node that can take it in, so that the value itself is not needed.
  bool may_repeat(ir::NodeId before, const Uses& users) const {
    const ScalarProgram& program = program_of(before);
    if (program.input_count > 1) return false;
    size_t work = 0;
    for (const ScalarInstr& instr : program.instrs) {
      if (instr.fn == Fn::Input || instr.fn == Fn::Constant) continue;
      if (!is_cheap(instr.fn)) return false;
      ++work;
    }
    if (work > kMaxRepeated) return false;
    const TensorType* produced = ranked(graph_, graph_.node(before).outputs[0]);
    return std::all_of(users.begin(), users.end(), [&](const ir::Graph::Use& use) {
      if (use.node == ir::kNone || !is_pointwise(use.node)) return false;
      const TensorType* result = ranked(graph_, graph_.node(use.node).outputs[0]);
      return result && result->dims() == produced->dims();
    });
  }

  /// False if the region would grow too large.
  bool fuse(ir::NodeId before, ir::NodeId id, ir::ValueId value) {
    const ir::Node& first = graph_.node(before);
    ScalarProgram program = program_of(id);
    std::vector<ir::ValueId> operands = graph_.node(id).inputs;
    for (auto at = std::find(operands.begin(), operands.end(), value); at != operands.end();
         at = std::find(operands.begin(), operands.end(), value)) {
      program = ops::compose(program_of(before), program, static_cast<int32_t>(at - operands.begin()));
      operands.erase(at);
      operands.insert(operands.begin(), first.inputs.begin(), first.inputs.end());
    }
    merge_operands(program, operands);
    program = ops::simplify(program);
    if (operands.size() > static_cast<size_t>(max_operands_) || program.instrs.size() > kMaxInstructions) return false;
    const std::vector<std::string> sources = merged_sources(first.sources, graph_.node(id).sources);
    set(id, std::move(program), std::move(operands));
    graph_.node(id).sources = sources;
    if (uses_of(value).empty()) drop(before);
    return true;
  }

  ir::Graph& graph_;
  int64_t max_operands_;
  std::vector<Uses> uses_;
  bool changed_ = false;
};

Result<bool> run(ir::Graph& graph, const PassContext& ctx) { return Fuser(graph, ctx).run(); }

}  // namespace

extern const Pass kFusePointwise;
const Pass kFusePointwise = {"fuse_pointwise", "fuses pointwise operators into regions", run, &kEnabled, kKnobs};

}  // namespace strop::passes
