#include <algorithm>
#include <array>
#include <cmath>

#include "ops/families.h"
#include "ops/matmul/matmul.h"
#include "ops/reference_gemm.h"

namespace strop::ops {
namespace {

Result<void> infer_matmul(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<MatMulAttrs>();
  STROP_ASSIGN(const TensorType a, ctx.tensor(0));
  STROP_ASSIGN(const TensorType b, ctx.tensor(1));
  // (C1) one numeric type.
  if (a.dtype != b.dtype || !(is_float(a.dtype) || is_integer(a.dtype))) {
    return error(ErrorCode::InvalidModel, "(C1) cannot multiply {} with {}", to_string(a.dtype), to_string(b.dtype));
  }
  TensorType result{a.dtype, std::nullopt, {}};
  if (a.has_rank() && b.has_rank()) {
    STROP_ASSIGN(result.shape, matmul_dims(attrs, a.dims(), b.dims()));
  }
  STROP_ASSIGN(
      const DType dtype,
      infer_epilogue(attrs.epilogue, result, ctx.inputs.subspan(std::min(kMatMulEpilogueInput, ctx.inputs.size()))));
  ctx.outputs[0] = TensorType{dtype, result.shape, {}};
  return {};
}

// [rows, columns] of one matrix, transposed if asked for.
template <class T>
std::vector<T> matrix(const std::vector<T>& all, int64_t offset, int64_t rows, int64_t columns, bool transposed) {
  const auto begin = all.begin() + offset;
  if (!transposed) return {begin, begin + rows * columns};
  std::vector<T> out(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) out[static_cast<size_t>(i * columns + j)] = begin[j * rows + i];
  }
  return out;
}

struct Sizes {
  std::vector<int64_t> dims;  // of the result
  int64_t m, n, k;
};

template <class T>
std::vector<T> multiply(const MatMulAttrs& attrs, const Sizes& sizes, const std::pair<const Tensor&, std::vector<T>>& a,
                        const std::pair<const Tensor&, std::vector<T>>& b, Threads& threads) {
  const auto [dims, m, n, k] = sizes;
  const int64_t count = element_count(dims);
  std::vector<T> sums(static_cast<size_t>(count), T(0));
  const int64_t batches = m * n == 0 ? 0 : count / (m * n);
  int64_t cached_b = -1;
  std::vector<T> right;
  for (int64_t item = 0; item < batches; ++item) {
    const std::vector<T> left =
        matrix(a.second, operand_matrix(item, dims, a.first.dims()) * m * k, m, k, attrs.trans_a);
    const int64_t b_item = operand_matrix(item, dims, b.first.dims());
    if (b_item != cached_b) right = matrix(b.second, b_item * k * n, k, n, attrs.trans_b);
    cached_b = b_item;
    reference_gemm(m, n, k, left.data(), right.data(), sums.data() + item * m * n, threads);
  }
  return sums;
}

// Integer products are exact in doubles while every partial sum stays below 2^53.
bool exact_in_double(const std::vector<double>& a, const std::vector<double>& b, int64_t k) {
  const auto largest = [](const std::vector<double>& values) {
    double most = 0;
    for (const double value : values) most = std::max(most, std::abs(value));
    return most;
  };
  return largest(a) * largest(b) * static_cast<double>(k) < 9007199254740992.0;
}

Result<void> evaluate_matmul(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<MatMulAttrs>();
  const Tensor& a = ctx.in(0);
  const Tensor& b = ctx.in(1);
  STROP_ASSIGN(const Dims symbolic, matmul_dims(attrs, to_dims(a.dims()), to_dims(b.dims())));
  Sizes sizes{*as_constants(symbolic), 0, 0, a.dim(attrs.trans_a ? a.rank() - 2 : a.rank() - 1)};
  sizes.m = sizes.dims[sizes.dims.size() - 2];
  sizes.n = sizes.dims[sizes.dims.size() - 1];
  ReferenceSums sums{a.dtype(), sizes.dims, {}, {}};
  std::vector<double> left = load_f64(a);
  std::vector<double> right = load_f64(b);
  if (is_float(a.dtype())) {
    sums.numbers = multiply<double>(attrs, sizes, {a, std::move(left)}, {b, std::move(right)}, ctx.threads);
  } else if (exact_in_double(left, right, sizes.k)) {
    const std::vector<double> exact =
        multiply<double>(attrs, sizes, {a, std::move(left)}, {b, std::move(right)}, ctx.threads);
    sums.integers.assign(exact.begin(), exact.end());
  } else {
    sums.integers = multiply<int64_t>(attrs, sizes, {a, load_i64(a)}, {b, load_i64(b)}, ctx.threads);
  }
  const auto operands = ctx.inputs.subspan(std::min(kMatMulEpilogueInput, ctx.inputs.size()));
  ctx.outputs[0] = apply_epilogue(attrs.epilogue, sums, operands, ctx.threads);
  return {};
}

ScalarProgram bias_relu() {
  ScalarProgram program;
  const int32_t sum = program.add_input(0, DType::F32);
  const int32_t bias = program.add_input(1, DType::F32);
  program.outputs = {program.add(Fn::Relu, {program.add(Fn::Add, {sum, bias})})};
  return program;
}

ScalarProgram residual_gelu() {
  ScalarProgram program;
  const int32_t sum = program.add_input(0, DType::F32);
  const int32_t bias = program.add_input(1, DType::F32);
  const int32_t residual = program.add_input(2, DType::F32);
  program.outputs = {program.add(Fn::Add, {program.add(Fn::Gelu, {program.add(Fn::Add, {sum, bias})}), residual})};
  return program;
}

Type f32(const std::vector<int64_t>& dims) { return Type(DType::F32, to_dims(dims)); }

std::vector<WorkedCase> matmul_cases() {
  return {
      {"square", MatMulAttrs{}, {f32({33, 47}), f32({47, 29})}},
      {"row_vector", MatMulAttrs{}, {f32({1, 300}), f32({300, 70})}},
      {"column_vector", MatMulAttrs{}, {f32({70, 300}), f32({300, 1})}},
      {"transposed", MatMulAttrs{true, true, {}}, {f32({40, 19}), f32({23, 40})}},
      {"batched", MatMulAttrs{}, {f32({2, 3, 17, 24}), f32({2, 3, 24, 9})}},
      {"batch_broadcast", MatMulAttrs{}, {f32({2, 1, 17, 24}), f32({3, 24, 9})}},
      {"batch_shared_b", MatMulAttrs{}, {f32({4, 16, 32}), f32({32, 48})}},
      {"bias_relu", MatMulAttrs{false, false, bias_relu()}, {f32({4, 16, 32}), f32({32, 48}), f32({48})}},
      {"bias_gelu_residual",
       MatMulAttrs{false, false, residual_gelu()},
       {f32({16, 32}), f32({32, 48}), f32({48}), f32({16, 48})}},
      {"empty_sum", MatMulAttrs{}, {f32({3, 0}), f32({0, 4})}},
      {"no_rows", MatMulAttrs{}, {f32({0, 5}), f32({5, 4})}},
      {"f64", MatMulAttrs{}, {Type(DType::F64, {6, 7}), Type(DType::F64, {7, 5})}},
      {"f16", MatMulAttrs{}, {Type(DType::F16, {6, 7}), Type(DType::F16, {7, 5})}},
      {"i32", MatMulAttrs{}, {Type(DType::I32, {6, 7}), Type(DType::I32, {7, 5})}},
      {"i32_wide", MatMulAttrs{}, {Type(DType::I32, {37, 64}), Type(DType::I32, {64, 50})}},
      {"i32_transposed", MatMulAttrs{true, true, {}}, {Type(DType::I32, {31, 9}), Type(DType::I32, {18, 31})}},
      {"i32_batched", MatMulAttrs{}, {Type(DType::I32, {2, 1, 7, 24}), Type(DType::I32, {3, 24, 9})}},
      {"i32_large_values",
       MatMulAttrs{},
       {Type(DType::I32, {3, 5}), Type(DType::I32, {5, 4})},
       1,
       {{0,
         store_i64(DType::I32, {3, 5},
                   std::vector<int64_t>{1, 2000000000, 3, -70000, 5, 6, 7, 8, 9, 10, -2147483648, 12, 13, 14, 15})}}},
  };
}

}  // namespace

int64_t operand_matrix(int64_t item, const std::vector<int64_t>& result, const std::vector<int64_t>& operand) {
  int64_t index = 0;
  int64_t step = 1;
  for (size_t i = 2; i < operand.size(); ++i) {
    const int64_t size = result[result.size() - 1 - i];
    const int64_t own = operand[operand.size() - 1 - i];
    if (own != 1) index += item % size * step;
    item /= size;
    step *= own;
  }
  return index;
}

Result<Dims> matmul_dims(const MatMulAttrs& attrs, const Dims& a, const Dims& b) {
  if (a.size() < 2 || b.size() < 2)
    return error(ErrorCode::InvalidModel, "(C2) matrices have rank 2 or more, not {} and {}", a.size(), b.size());
  const Dim& m = a[a.size() - (attrs.trans_a ? 1 : 2)];
  const Dim& k = a[a.size() - (attrs.trans_a ? 2 : 1)];
  const Dim& k_of_b = b[b.size() - (attrs.trans_b ? 1 : 2)];
  const Dim& n = b[b.size() - (attrs.trans_b ? 2 : 1)];
  const auto k_value = k.as_constant();
  const auto k_of_b_value = k_of_b.as_constant();
  if (k_value && k_of_b_value && *k_value != *k_of_b_value) {
    return error(ErrorCode::InvalidModel, "(C2) the inner dimensions of {} and {} differ", to_string(a), to_string(b));
  }
  STROP_ASSIGN(Dims result, broadcast(Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2)));
  result.push_back(m);
  result.push_back(n);
  return result;
}

const Operator kMatMul{
    .name = "MatMul",
    .make_attrs = [] { return Attrs(MatMulAttrs{}); },
    .infer = infer_matmul,
    .evaluate = evaluate_matmul,
    .cases = matmul_cases,
};

std::span<const Operator* const> matmul_operators() {
  static constexpr std::array<const Operator*, 1> kOperators = {&kMatMul};
  return kOperators;
}

}  // namespace strop::ops
