#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "ops/einsum/einsum.h"
#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/late.h"

namespace strop::ops {
namespace {

Result<void> infer_einsum(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<EinsumAttrs>();
  if (ctx.inputs.empty()) return violates("(C2) einsum without operands");
  std::vector<TensorType> types;
  std::vector<int64_t> ranks;
  for (size_t i = 0; i < ctx.inputs.size(); ++i) {
    STROP_ASSIGN(types.emplace_back(), ctx.tensor(i));
    // (C3) one numeric dtype.
    const DType dtype = types.back().dtype;
    if (!(is_float(dtype) || is_integer(dtype)) || dtype != types.front().dtype)
      return violates("(C3) operand {} is {}", i, to_string(dtype));
    if (!types.back().has_rank()) return ctx.outputs[0] = Type::unranked(types.front().dtype), Result<void>();
    ranks.push_back(types.back().rank());
  }
  STROP_ASSIGN(const EinsumIndices indices, parse_einsum(attrs.equation, ranks));
  std::map<int, Dims> sizes;  // one-element vectors, which broadcast() takes
  for (size_t i = 0; i < types.size(); ++i) {
    for (size_t axis = 0; axis < indices.operands[i].size(); ++axis) {
      const Dims size = {types[i].dims()[axis]};
      const auto [known, is_new] = sizes.try_emplace(indices.operands[i][axis], size);
      if (is_new) continue;
      STROP_ASSIGN(known->second, broadcast(known->second, size));
    }
  }
  Dims dims;
  for (const int index : indices.result) dims.push_back(sizes.at(index).front());
  STROP_TRY(check_sizes(dims));
  ctx.outputs[0] = Type(types.front().dtype, std::move(dims));
  return {};
}

// The loops: the result's indices first, then those summed over; how each operand's element number depends on them.
struct EinsumLoops {
  std::vector<int64_t> result_sizes;
  std::vector<int64_t> summed_sizes;
  std::vector<std::vector<int64_t>> result_strides;  // per operand
  std::vector<std::vector<int64_t>> summed_strides;
};

Result<EinsumLoops> plan_einsum(const EinsumIndices& indices, std::span<const Value> inputs) {
  std::map<int, int64_t> sizes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t axis = 0; axis < indices.operands[i].size(); ++axis) {
      const int64_t size = inputs[i].tensor().dims()[axis];
      int64_t& known = sizes.try_emplace(indices.operands[i][axis], size).first->second;
      if (known == 1) known = size;
      if (size != known && size != 1) return bad_data("Einsum: one index has sizes {} and {}", known, size);
    }
  }
  std::vector<int> summed;
  for (const auto& [index, size] : sizes) {
    if (std::find(indices.result.begin(), indices.result.end(), index) == indices.result.end()) summed.push_back(index);
  }
  EinsumLoops loops;
  for (const int index : indices.result) loops.result_sizes.push_back(sizes.at(index));
  for (const int index : summed) loops.summed_sizes.push_back(sizes.at(index));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto strides = strides_of(inputs[i].tensor().dims());
    const auto strides_along = [&](const std::vector<int>& wanted) {
      std::vector<int64_t> along;
      for (const int index : wanted) {
        int64_t stride = 0;  // an index that occurs twice walks the diagonal
        for (size_t axis = 0; axis < strides.size(); ++axis) {
          if (indices.operands[i][axis] == index && inputs[i].tensor().dims()[axis] != 1) stride += strides[axis];
        }
        along.push_back(stride);
      }
      return along;
    };
    loops.result_strides.push_back(strides_along(indices.result));
    loops.summed_strides.push_back(strides_along(summed));
  }
  return loops;
}

// Each result element: the sum over the summed indices of the product of the operands' elements.
template <class T>
std::vector<T> sum_products(const EinsumLoops& loops, const std::vector<std::vector<T>>& values, Threads& threads) {
  const int64_t summed = element_count(loops.summed_sizes);
  const int64_t count = element_count(loops.result_sizes);
  // Element numbers of the summed indices, the same for every result element.
  std::vector<std::vector<int64_t>> offsets(values.size(), std::vector<int64_t>(static_cast<size_t>(summed)));
  for_each_element(loops.summed_sizes, [&](const std::vector<int64_t>& at, int64_t linear) {
    for (size_t i = 0; i < values.size(); ++i) {
      int64_t offset = 0;
      for (size_t k = 0; k < at.size(); ++k) offset += at[k] * loops.summed_strides[i][k];
      offsets[i][static_cast<size_t>(linear)] = offset;
    }
  });
  std::vector<T> results(static_cast<size_t>(count));
  parallel_for(threads, count, 64, [&](int64_t begin, int64_t end, int) {
    std::vector<const T*> base(values.size());
    for (int64_t r = begin; r < end; ++r) {
      for (size_t i = 0; i < values.size(); ++i) {
        base[i] = values[i].data();
        int64_t rest = r;
        for (size_t k = loops.result_sizes.size(); k-- > 0; rest /= loops.result_sizes[k]) {
          base[i] += rest % loops.result_sizes[k] * loops.result_strides[i][k];
        }
      }
      T sum = 0;
      for (size_t s = 0; s < static_cast<size_t>(summed); ++s) {
        T product = base[0][offsets[0][s]];
        for (size_t i = 1; i < values.size(); ++i) product *= base[i][offsets[i][s]];
        sum += product;
      }
      results[static_cast<size_t>(r)] = sum;
    }
  });
  return results;
}

Result<void> evaluate_einsum(EvalContext& ctx) {
  std::vector<int64_t> ranks;
  for (const Value& value : ctx.inputs) ranks.push_back(value.tensor().rank());
  STROP_ASSIGN(const EinsumIndices indices, parse_einsum(ctx.attrs.as<EinsumAttrs>().equation, ranks));
  STROP_ASSIGN(const EinsumLoops loops, plan_einsum(indices, ctx.inputs));
  const DType dtype = ctx.in(0).dtype();
  if (is_float(dtype)) {
    std::vector<std::vector<double>> values;
    for (const Value& value : ctx.inputs) values.push_back(load_f64(value.tensor()));
    ctx.outputs[0] = store_f64(dtype, loops.result_sizes, sum_products(loops, values, ctx.threads));
    return {};
  }
  // Unsigned, so that overflow wraps.
  std::vector<std::vector<uint64_t>> values;
  for (const Value& value : ctx.inputs) {
    const auto loaded = load_i64(value.tensor());
    values.emplace_back(loaded.begin(), loaded.end());
  }
  const auto sums = sum_products(loops, values, ctx.threads);
  ctx.outputs[0] = store_i64(dtype, loops.result_sizes, std::vector<int64_t>(sums.begin(), sums.end()));
  return {};
}

std::vector<WorkedCase> einsum_cases() {
  const auto f32 = [](Dims dims) { return Type(DType::F32, std::move(dims)); };
  return {
      {"three_operands_f32", EinsumAttrs{"ij,jk,kl->il"}, {f32({3, 4}), f32({4, 5}), f32({5, 2})}},
      {"diagonal_f32", EinsumAttrs{"...ii->...i"}, {f32({3, 5, 5})}},
      {"broadcast_ellipsis_f32", EinsumAttrs{"...ij,...jk"}, {f32({2, 1, 3, 4}), f32({5, 4, 2})}},
      {"outer_i32", EinsumAttrs{"i,j->ji"}, {Type(DType::I32, {3}), Type(DType::I32, {4})}},
  };
}

Result<void> infer_det(InferContext& ctx) {
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  // (C1) square matrices of a floating type.
  if (!is_float(x.dtype)) return violates("(C1) {} has no determinant", to_string(x));
  if (!x.has_rank()) return ctx.outputs[0] = Type::unranked(x.dtype), Result<void>();
  if (x.rank() < 2) return violates("(C1) {} is no matrix", to_string(x));
  const Dim& rows = x.dim(x.rank() - 2);
  const Dim& columns = x.dim(x.rank() - 1);
  if (rows.is_constant() && columns.is_constant() && !(rows == columns))
    return violates("(C1) {} is not square", to_string(x));
  ctx.outputs[0] = Type(x.dtype, Dims(x.dims().begin(), x.dims().end() - 2));
  return {};
}

// Gaussian elimination with partial pivoting, in place.
double determinant(double* matrix, int64_t n) {
  double result = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (std::abs(matrix[i * n + k]) > std::abs(matrix[pivot * n + k])) pivot = i;
    }
    if (matrix[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      std::swap_ranges(matrix + k * n, matrix + (k + 1) * n, matrix + pivot * n);
      result = -result;
    }
    result *= matrix[k * n + k];
    for (int64_t i = k + 1; i < n; ++i) {
      const double factor = matrix[i * n + k] / matrix[k * n + k];
      for (int64_t j = k; j < n; ++j) matrix[i * n + j] -= factor * matrix[k * n + j];
    }
  }
  return result;
}

Result<void> evaluate_det(EvalContext& ctx) {
  const Tensor& x = ctx.in(0);
  const int64_t n = x.dim(x.rank() - 1);
  if (x.dim(x.rank() - 2) != n) return bad_data("Det: {} is not square", to_string(x.type()));
  const std::vector<int64_t> dims(x.dims().begin(), x.dims().end() - 2);
  std::vector<double> values = load_f64(x);
  std::vector<double> results(static_cast<size_t>(element_count(dims)));
  ctx.threads.run(std::ssize(results),
                  [&](int64_t i, int) { results[static_cast<size_t>(i)] = determinant(values.data() + i * n * n, n); });
  ctx.outputs[0] = store_f64(x.dtype(), dims, results);
  return {};
}

std::vector<WorkedCase> det_cases() {
  return {{"batch_f32", NoAttrs{}, {Type(DType::F32, {3, 2, 4, 4})}},
          {"one_f32", NoAttrs{}, {Type(DType::F32, {3, 3})}}};
}

}  // namespace

const Operator kEinsum = {
    .name = "Einsum",
    .make_attrs = [] { return Attrs(EinsumAttrs{}); },
    .infer = infer_einsum,
    .evaluate = evaluate_einsum,
    .cases = einsum_cases,
};

const Operator kDet = {
    .name = "Det",
    .infer = infer_det,
    .evaluate = evaluate_det,
    .cases = det_cases,
};

std::span<const Operator* const> einsum_operators() {
  static constexpr std::array kOperators = {&kEinsum, &kDet};
  return kOperators;
}

}  // namespace strop::ops
