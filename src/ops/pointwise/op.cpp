#include "ops/families.h"
#include "ops/late.h"
#include "ops/pointwise/op_evaluate.h"
#include "ops/pointwise/op_known.h"
#include "ops/pointwise/pointwise.h"
#include "ops/scalar_functions.h"
#include "tensor/convert.h"

namespace strop::ops {
namespace {

/// Larger tensors are data, not shapes.
constexpr int64_t kMaxKnownElements = 64;

Result<void> check_operands(const InferContext& ctx, const ScalarProgram& program) {
  const size_t wanted = program.empty() ? 1 : static_cast<size_t>(program.input_count);
  if (ctx.inputs.size() != wanted) return violates("(C3) {} operands for a program of {}", ctx.inputs.size(), wanted);
  for (size_t i = 0; i < wanted; ++i) STROP_TRY(ctx.tensor(i));
  for (const ScalarInstr& instr : program.instrs) {
    if (instr.fn != Fn::Input) continue;
    const DType given = ctx.inputs[static_cast<size_t>(instr.input)].tensor.dtype;
    if (given != instr.dtype) {
      return violates("(C4) operand {} must be {}, not {}", instr.input, to_string(instr.dtype), to_string(given));
    }
  }
  return {};
}

/// The operands' common shape; nullopt if a rank is not known.
Result<Shape> common_shape(const InferContext& ctx) {
  Dims dims;
  for (const Type& type : ctx.inputs) {
    if (!type.tensor.has_rank()) return Shape();
    STROP_ASSIGN(dims, broadcast(dims, type.tensor.dims()));
  }
  return Shape(dims);
}

void infer_known(InferContext& ctx, const ScalarProgram& program, const Dims& dims) {
  const auto count = product(dims).as_constant();
  if (dims.size() > 1 || !count || *count > kMaxKnownElements) return;
  if (program.empty()) {
    ctx.known_outputs[0] = ctx.known_inputs[0];
    return;
  }
  ctx.known_outputs = known_results(program, ctx.known_inputs, static_cast<size_t>(*count));
}

// (C1) The program is well formed. (C2) The node has as many outputs as the program. (C3) As many operands. (C4) The
// operands have the program's dtypes. Their shapes broadcast: (C1) of broadcasting.
Result<void> infer(InferContext& ctx) {
  const ScalarProgram& program = ctx.attrs.as<PointwiseAttrs>().program;
  if (const auto verified = verify(program); !verified.ok()) return violates("(C1) {}", verified.error().message);
  const size_t results = program.empty() ? 1 : program.outputs.size();
  if (ctx.outputs.size() != results)
    return violates("(C2) {} outputs of a program with {}", ctx.outputs.size(), results);
  STROP_TRY(check_operands(ctx, program));
  STROP_ASSIGN(const Shape shape, common_shape(ctx));
  for (size_t i = 0; i < results; ++i) {
    const DType dtype =
        program.empty() ? ctx.inputs[0].tensor.dtype : program.instrs[static_cast<size_t>(program.outputs[i])].dtype;
    ctx.outputs[i] = TensorType{dtype, shape, {}};
  }
  if (shape) infer_known(ctx, program, *shape);
  return {};
}

}  // namespace

const Operator kPointwise{
    .name = "Pointwise",
    .make_attrs = [] { return Attrs(PointwiseAttrs()); },
    .infer = infer,
    .evaluate = evaluate_pointwise,
    .cases = pointwise_cases,
    .in_place_operand = 0,
};

ScalarProgram function_program(Fn fn, DType dtype) {
  ScalarProgram program;
  ScalarInstr instr{.fn = fn, .dtype = result_rule(fn) == ScalarResult::Bool ? DType::Bool : dtype};
  for (int32_t k = 0; k < arity(fn); ++k) {
    instr.args[static_cast<size_t>(k)] = program.add_input(k, fn == Fn::Where && k == 0 ? DType::Bool : dtype);
  }
  program.instrs.push_back(instr);
  program.outputs = {arity(fn)};
  return program;
}

ScalarProgram function_program(Fn fn, DType dtype, std::initializer_list<double> parameters) {
  STROP_CHECK(static_cast<int>(parameters.size()) + 1 == arity(fn));
  ScalarProgram program;
  ScalarInstr instr{.fn = fn, .dtype = dtype};
  instr.args[0] = program.add_input(0, dtype);
  size_t k = 1;
  for (const double parameter : parameters) instr.args[k++] = program.add_number(dtype, parameter);
  program.instrs.push_back(instr);
  program.outputs = {arity(fn)};
  return program;
}

ScalarProgram cast_program(DType from, DType to) {
  ScalarProgram program;
  program.outputs = {program.add_declared(Fn::Cast, to, {program.add_input(0, from)})};
  return program;
}

ScalarProgram bind_operand(const ScalarProgram& program, int32_t operand, const Tensor& value) {
  STROP_CHECK(value.count() == 1 && operand < program.input_count, "operand {}", operand);
  ScalarProgram result = program;
  for (ScalarInstr& instr : result.instrs) {
    if (instr.fn != Fn::Input || instr.input < operand) continue;
    if (instr.input > operand) {
      --instr.input;
      continue;
    }
    instr = ScalarInstr{.fn = Fn::Constant, .dtype = value.dtype()};
    if (domain_of(instr.dtype) == ScalarDomain::Number) {
      instr.number = load_scalar(value.dtype(), value.raw(), 0);
    } else {
      instr.integer = load_integer(value.dtype(), value.raw(), 0);
    }
  }
  --result.input_count;
  return result;
}

std::span<const Operator* const> pointwise_operators() {
  static constexpr std::array kAll = {&kPointwise, &kBitCast, &kCastString, &kCastScale};
  return kAll;
}

}  // namespace strop::ops
