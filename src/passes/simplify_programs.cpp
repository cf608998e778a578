/// Scalar programs without detours: conversions to a wider type and back go, and so do nodes that only copy. Bit by bit
/// the same results.
#include "ops/pointwise/pointwise.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace strop::passes {

namespace {

constexpr Knob<bool> kEnabled{{.name = "passes.simplify_programs", .help = "drop exact conversions and copies"}};

using ops::Fn;
using ops::ScalarProgram;

/// Digits of the significand, and the range of the exponent, of the binary floating types.
struct FloatFormat {
  int digits = 0;
  int min_exponent = 0;  ///< of the smallest subnormal number
  int max_exponent = 0;
};
FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::F64: return {53, -1074, 1023};
    case DType::F32: return {24, -149, 127};
    case DType::BF16: return {8, -133, 127};
    case DType::F16: return {11, -24, 15};
    default: return {};
  }
}

/// Every value of `narrow` is a value of `wide`, so that converting there loses nothing.
bool holds_exactly(DType wide, DType narrow) {
  if (wide == narrow) return true;
  const FloatFormat to = format_of(wide);
  if (narrow == DType::Bool) return to.digits > 0 || is_integer(wide);
  if (is_integer(narrow)) {
    const int bits = bit_width(narrow) - (is_signed_integer(narrow) ? 1 : 0);
    if (to.digits > 0) return bits <= to.digits && bits <= to.max_exponent;
    if (!is_integer(wide)) return false;
    if (is_signed_integer(wide)) return bits <= bit_width(wide) - 1;
    return !is_signed_integer(narrow) && bits <= bit_width(wide);
  }
  const FloatFormat from = format_of(narrow);
  return from.digits > 0 && to.digits >= from.digits && to.min_exponent <= from.min_exponent &&
         to.max_exponent >= from.max_exponent;
}

/// Cast(Cast(x)) through a type that holds all of x's values is one Cast, or x itself.
ScalarProgram without_detours(const ScalarProgram& program) {
  ScalarProgram result = program;
  for (ops::ScalarInstr& instr : result.instrs) {
    while (instr.fn == Fn::Cast) {
      const ops::ScalarInstr& inner = result.instrs[static_cast<size_t>(instr.args[0])];
      if (inner.fn != Fn::Cast) break;
      const DType source = result.instrs[static_cast<size_t>(inner.args[0])].dtype;
      if (!holds_exactly(inner.dtype, source)) break;
      instr.args[0] = inner.args[0];
    }
  }
  return ops::simplify(result);
}

/// The program gives operand 0 back.
bool is_copy(const ScalarProgram& program) {
  if (program.empty()) return true;
  if (program.outputs.size() != 1 || program.input_count != 1) return false;
  return program.instrs[static_cast<size_t>(program.outputs[0])].fn == Fn::Input;
}

Result<bool> run(ir::Graph& graph, const PassContext&) {
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.order();
  for (const ir::NodeId id : order) {
    ir::Node& node = graph.node(id);
    if (node.op != &ops::kPointwise) continue;
    const ScalarProgram& program = node.attrs.as<ops::PointwiseAttrs>().program;
    ScalarProgram simpler = program.empty() ? program : without_detours(program);
    if (is_copy(simpler)) {
      replace_node(graph, id, {node.inputs[0]});
      changed = true;
    } else if (!(simpler == program)) {
      node.attrs = ops::PointwiseAttrs{std::move(simpler)};
      changed = true;
    }
  }
  return changed;
}

}  // namespace

extern const Pass kSimplifyPrograms;
const Pass kSimplifyPrograms = {"simplify_programs", "drops exact conversions and copies", run, &kEnabled};

}  // namespace strop::passes
