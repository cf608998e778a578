#include "ops/epilogue.h"

#include "ops/pointwise/op_broadcast.h"
#include "tensor/convert.h"

namespace strop::ops {
namespace {

const ScalarInstr& at(const ScalarProgram& program, int32_t index) {
  return program.instrs[static_cast<size_t>(index)];
}

// Follows additions from the last instruction down to the sum; the other operand of each must be a program operand.
bool collect_additions(const ScalarProgram& program, int32_t index, std::vector<int32_t>& added) {
  const ScalarInstr& instr = at(program, index);
  if (instr.fn == Fn::Input) return instr.input == 0;
  if (instr.fn != Fn::Add) return false;
  for (const int side : {0, 1}) {
    const ScalarInstr& other = at(program, instr.args[static_cast<size_t>(1 - side)]);
    if (other.fn != Fn::Input || other.input == 0) continue;
    if (!collect_additions(program, instr.args[static_cast<size_t>(side)], added)) continue;
    added.push_back(other.input);
    return true;
  }
  return false;
}

double constant_value(const ScalarInstr& instr) {
  return is_float(instr.dtype) ? instr.number : static_cast<double>(instr.integer);
}

ScalarValue load_broadcast(const Tensor& operand, const std::vector<int64_t>& strides, const std::vector<int64_t>& dims,
                           int64_t index) {
  int64_t offset = 0;
  for (size_t axis = dims.size(); axis-- > 0;) {
    offset += index % dims[axis] * strides[axis];
    index /= dims[axis];
  }
  ScalarValue value;
  if (is_float(operand.dtype())) {
    value.number = load_scalar(operand.dtype(), operand.raw(), offset);
  } else {
    value.integer = load_integer(operand.dtype(), operand.raw(), offset);
  }
  return value;
}

void store_result(const Tensor& out, int64_t index, ScalarValue value) {
  if (is_float(out.dtype())) {
    store_scalar(out.dtype(), out.mutable_raw(), index, value.number);
  } else {
    store_integer(out.dtype(), out.mutable_raw(), index, value.integer);
  }
}

int64_t wrap_to(DType dtype, int64_t value) {
  int64_t storage = 0;
  store_integer(dtype, &storage, 0, value);
  return load_integer(dtype, &storage, 0);
}

// Whether an operand certainly does not broadcast to `result` as it is. Symbols may still turn out to fit.
bool enlarges(const Dims& operand, const Dims& result) {
  if (operand.size() > result.size()) return true;
  for (size_t i = 0; i < operand.size(); ++i) {
    const Dim& own = operand[operand.size() - 1 - i];
    const Dim& wanted = result[result.size() - 1 - i];
    if (own.is_constant() && wanted.is_constant() && !(own == Dim(1)) && !(own == wanted)) return true;
  }
  return false;
}

}  // namespace

std::optional<SimpleEpilogue> match_simple_epilogue(const ScalarProgram& program) {
  SimpleEpilogue simple;
  if (program.empty()) return simple;
  if (program.outputs.size() != 1) return std::nullopt;
  int32_t index = program.outputs[0];
  const ScalarInstr* last = &at(program, index);
  if (last->fn == Fn::Relu) {
    simple.lo = 0;
    index = last->args[0];
  } else if (last->fn == Fn::Clip) {
    const ScalarInstr& lo = at(program, last->args[1]);
    const ScalarInstr& hi = at(program, last->args[2]);
    if (lo.fn != Fn::Constant || hi.fn != Fn::Constant) return std::nullopt;
    simple.lo = constant_value(lo);
    simple.hi = constant_value(hi);
    if (!(simple.lo <= simple.hi)) return std::nullopt;
    index = last->args[0];
  }
  if (!collect_additions(program, index, simple.added)) return std::nullopt;
  return simple;
}

std::optional<EpilogueOperand> classify_epilogue_operand(const Dims& operand, const Dims& result, size_t channel_axis) {
  if (operand.size() > result.size()) return std::nullopt;
  Dims dims(result.size() - operand.size(), Dim(1));
  dims.insert(dims.end(), operand.begin(), operand.end());
  if (dims == result) return EpilogueOperand::Element;
  if (product(dims) == Dim(1)) return EpilogueOperand::Scalar;
  Dims channel(result.size(), Dim(1));
  channel[channel_axis] = result[channel_axis];
  if (dims == channel) return EpilogueOperand::Channel;
  Dims row = result;
  row[channel_axis] = Dim(1);
  if (dims == row && channel_axis + 1 == result.size()) return EpilogueOperand::Row;
  return std::nullopt;
}

Result<DType> infer_epilogue(const ScalarProgram& program, const TensorType& result, std::span<const Type> operands) {
  if (program.empty()) return result.dtype;
  if (auto valid = verify(program); !valid.ok()) return valid.error();
  if (program.outputs.size() != 1)
    return error(ErrorCode::InvalidModel, "(E1) an epilogue has one output, not {}", program.outputs.size());
  if (static_cast<size_t>(program.input_count) > operands.size() + 1) {
    return error(ErrorCode::InvalidModel, "(E2) the epilogue reads {} operands, {} are given", program.input_count - 1,
                 operands.size());
  }
  for (const ScalarInstr& instr : program.instrs) {
    if (instr.fn != Fn::Input) continue;
    if (instr.input == 0) {
      if (instr.dtype != result.dtype)
        return error(ErrorCode::InvalidModel, "(E3) the epilogue takes {}, the sum is {}", to_string(instr.dtype),
                     to_string(result.dtype));
      continue;
    }
    const Type& operand = operands[static_cast<size_t>(instr.input - 1)];
    if (!operand.is_tensor() || operand.tensor.dtype != instr.dtype)
      return error(ErrorCode::InvalidModel, "(E3) epilogue operand {} has another type", instr.input);
    if (!operand.tensor.has_rank() || !result.has_rank()) continue;
    if (enlarges(operand.tensor.dims(), result.dims())) {
      return error(ErrorCode::InvalidModel, "(E4) epilogue operand {} does not broadcast to the result", instr.input);
    }
  }
  return at(program, program.outputs[0]).dtype;
}

Tensor apply_epilogue(const ScalarProgram& program, const ReferenceSums& sums, std::span<const Value> operands,
                      Threads& threads) {
  const std::vector<int64_t>& dims = sums.dims;
  const bool floating = is_float(sums.dtype);
  if (program.empty())
    return floating ? store_f64(sums.dtype, dims, sums.numbers) : store_i64(sums.dtype, dims, sums.integers);
  Tensor out = Tensor::uninitialized(at(program, program.outputs[0]).dtype, dims);
  std::vector<std::vector<int64_t>> strides(static_cast<size_t>(program.input_count));
  for (size_t k = 1; k < strides.size(); ++k) strides[k] = broadcast_strides(operands[k - 1].tensor().dims(), dims);
  // Packed types share bytes between elements: one thread then.
  const int64_t grain = is_sub_byte(out.dtype()) ? out.count() : 4096;
  parallel_for(threads, out.count(), grain, [&](int64_t begin, int64_t end, int) {
    std::vector<ScalarValue> values(program.instrs.size());
    std::vector<ScalarValue> inputs(static_cast<size_t>(program.input_count));
    for (int64_t i = begin; i < end; ++i) {
      const auto at_i = static_cast<size_t>(i);
      if (floating) {
        inputs[0].number = round_to(sums.dtype, sums.numbers[at_i]);
      } else {
        inputs[0].integer = wrap_to(sums.dtype, sums.integers[at_i]);
      }
      for (size_t k = 1; k < inputs.size(); ++k)
        inputs[k] = load_broadcast(operands[k - 1].tensor(), strides[k], dims, i);
      evaluate_scalar(program, inputs.data(), values.data());
      store_result(out, i, values[static_cast<size_t>(program.outputs[0])]);
    }
  });
  return out;
}

}  // namespace strop::ops
