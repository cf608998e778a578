#include <cmath>
#include <limits>

#include "ops/element_map.h"
#include "ops/reduce/reduce.h"

namespace strop::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Element indices, relative to a group's first element, of all coordinates along the axes that `chosen` marks.
std::vector<int64_t> offsets(const std::vector<int64_t>& dims, const std::vector<bool>& chosen) {
  const auto strides = strides_of(dims);
  std::vector<int64_t> result = {0};
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (!chosen[axis]) continue;
    std::vector<int64_t> longer;
    longer.reserve(result.size() * static_cast<size_t>(dims[axis]));
    for (const int64_t base : result) {
      for (int64_t i = 0; i < dims[axis]; ++i) longer.push_back(base + i * strides[axis]);
    }
    result = std::move(longer);
  }
  return result;
}

// The elements of one group.
template <class T>
struct Group {
  const T* first;
  std::span<const int64_t> offsets;

  template <class Body>
  void each(const Body& body) const {
    for (const int64_t offset : offsets) body(first[offset]);
  }
  template <class Value>
  T sum(const Value& value) const {
    T total = 0;
    each([&](T x) { total += value(x); });
    return total;
  }
};

// The largest (sign 1) or smallest (sign -1) number, NaN if there is one.
double extreme(const Group<double>& group, double sign) {
  double best = -sign * kInfinity;
  group.each([&](double x) {
    if (std::isnan(x) || sign * x > sign * best) best = std::isnan(best) ? best : x;
  });
  return best;
}

double log_sum_exp(const Group<double>& group) {
  const double most = extreme(group, 1);
  if (!std::isfinite(most)) return most;
  return std::log(group.sum([&](double x) { return std::exp(x - most); })) + most;
}

double reduce_numbers(ReduceKind kind, const Group<double>& group) {
  const auto itself = [](double x) { return x; };
  const auto square = [](double x) { return x * x; };
  switch (kind) {
    case ReduceKind::Sum: return group.sum(itself);
    case ReduceKind::Mean: return group.sum(itself) / static_cast<double>(group.offsets.size());
    case ReduceKind::Max: return extreme(group, 1);
    case ReduceKind::Min: return extreme(group, -1);
    case ReduceKind::L1: return group.sum([](double x) { return std::fabs(x); });
    case ReduceKind::L2: return std::sqrt(group.sum(square));
    case ReduceKind::LogSum: return std::log(group.sum(itself));
    case ReduceKind::LogSumExp: return log_sum_exp(group);
    case ReduceKind::SumSquare: return group.sum(square);
    case ReduceKind::Prod: break;
  }
  double product = 1;
  group.each([&](double x) { product *= x; });
  return product;
}

int64_t least_integer(DType dtype) {
  return is_signed_integer(dtype) ? -1 - (INT64_MAX >> (64 - bit_width(dtype))) : 0;
}
uint64_t greatest_integer(DType dtype) {
  if (dtype == DType::Bool) return 1;
  return UINT64_MAX >> (64 - bit_width(dtype) + (is_signed_integer(dtype) ? 1 : 0));
}

// Sums and products are those of the 64-bit residues, in unsigned arithmetic; T decides order and quotients.
template <class T>
uint64_t reduce_integers(ReduceKind kind, DType dtype, const Group<uint64_t>& group) {
  const auto count = static_cast<T>(group.offsets.size());
  const auto itself = [](uint64_t x) { return x; };
  switch (kind) {
    case ReduceKind::Sum: return group.sum(itself);
    case ReduceKind::Mean: return count == 0 ? 0 : static_cast<uint64_t>(static_cast<T>(group.sum(itself)) / count);
    case ReduceKind::L1:
      return group.sum([](uint64_t x) { return std::is_signed_v<T> && static_cast<T>(x) < 0 ? 0 - x : x; });
    case ReduceKind::SumSquare: return group.sum([](uint64_t x) { return x * x; });
    case ReduceKind::Prod: {
      uint64_t product = 1;
      group.each([&](uint64_t x) { product *= x; });
      return product;
    }
    case ReduceKind::Max: {
      T best = static_cast<T>(least_integer(dtype));
      group.each([&](uint64_t x) { best = std::max(best, static_cast<T>(x)); });
      return static_cast<uint64_t>(best);
    }
    case ReduceKind::Min: {
      T best = static_cast<T>(greatest_integer(dtype));
      group.each([&](uint64_t x) { best = std::min(best, static_cast<T>(x)); });
      return static_cast<uint64_t>(best);
    }
    case ReduceKind::L2:
    case ReduceKind::LogSum:
    case ReduceKind::LogSumExp: break;
  }
  STROP_UNREACHABLE("computed in doubles");
}

bool needs_doubles(ReduceKind kind, DType dtype) {
  return is_float(dtype) || kind == ReduceKind::L2 || kind == ReduceKind::LogSum || kind == ReduceKind::LogSumExp;
}

}  // namespace

ReferenceSums evaluate_reduction(ReduceKind kind, const Tensor& input, const std::vector<bool>& reduced,
                                 std::vector<int64_t> dims, Threads& threads) {
  const DType dtype = input.dtype();
  std::vector<bool> kept = reduced;
  kept.flip();
  const auto firsts = offsets(input.dims(), kept);
  const auto members = offsets(input.dims(), reduced);
  ReferenceSums sums{dtype, std::move(dims), {}, {}};
  const auto groups = static_cast<int64_t>(firsts.size());
  const int64_t grain = 16384 / (static_cast<int64_t>(members.size()) + 1) + 1;
  const auto at = [](auto& values, int64_t i) -> auto& { return values[static_cast<size_t>(i)]; };
  if (needs_doubles(kind, dtype)) {
    const auto values = load_f64(input);
    sums.numbers.resize(firsts.size());
    parallel_for(threads, groups, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        at(sums.numbers, i) = reduce_numbers(kind, {values.data() + at(firsts, i), members});
      }
    });
    if (!is_float(dtype)) sums.integers = load_i64(store_f64(dtype, sums.dims, sums.numbers));
    return sums;
  }
  const auto values = load_i64(input);
  sums.integers.resize(firsts.size());
  parallel_for(threads, groups, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const Group<uint64_t> group{reinterpret_cast<const uint64_t*>(values.data()) + at(firsts, i), members};
      at(sums.integers, i) = static_cast<int64_t>(dtype == DType::U64 ? reduce_integers<uint64_t>(kind, dtype, group)
                                                                      : reduce_integers<int64_t>(kind, dtype, group));
    }
  });
  return sums;
}

}  // namespace strop::ops
