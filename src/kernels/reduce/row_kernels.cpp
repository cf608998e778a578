#include "kernels/reduce/row_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/row_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/conv/vector_inl.h"
#include "kernels/pointwise/vector_math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace strop::kernels {
namespace HWY_NAMESPACE {

constexpr int64_t kSection = 4096;  // elements that are joined in fp32 before they go to double
constexpr float kInfinity = std::numeric_limits<float>::infinity();

HWY_INLINE V min_or_nan(V acc, V x) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  return hn::IfThenElse(hn::Or(hn::Lt(x, acc), hn::IsNaN(x)), x, acc);
#else
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Min(x, acc));  // Min returns acc if acc is NaN
#endif
}

// Operations: a start, what becomes of an element, and how results are joined, in vectors and of the sections in
// double.
struct Added {
  static constexpr float kStart = 0;
  static HWY_INLINE V join(V a, V b) { return hn::Add(a, b); }
  static HWY_INLINE double join(double a, double b) { return a + b; }
};
struct SumOp : Added {
  static HWY_INLINE V map(V x, V) { return x; }
};
struct SumAbsOp : Added {
  static HWY_INLINE V map(V x, V) { return hn::Abs(x); }
};
struct SumSquareOp : Added {
  static HWY_INLINE V map(V x, V shift) {
    const V distance = hn::Sub(x, shift);
    return hn::Mul(distance, distance);
  }
};
struct SumExpOp : Added {
  static HWY_INLINE V map(V x, V shift) { return exp_nonpositive(hn::Sub(x, shift)); }
};
struct ProductOp {
  static constexpr float kStart = 1;
  static HWY_INLINE V map(V x, V) { return x; }
  static HWY_INLINE V join(V a, V b) { return hn::Mul(a, b); }
  static HWY_INLINE double join(double a, double b) { return a * b; }
};
struct MaxOp {
  static constexpr float kStart = -kInfinity;
  static HWY_INLINE V map(V x, V) { return x; }
  static HWY_INLINE V join(V a, V b) { return max_or_nan(a, b); }
  static HWY_INLINE double join(double a, double b) { return a > b || a != a ? a : b; }
};
struct MinOp {
  static constexpr float kStart = kInfinity;
  static HWY_INLINE V map(V x, V) { return x; }
  static HWY_INLINE V join(V a, V b) { return min_or_nan(a, b); }
  static HWY_INLINE double join(double a, double b) { return a < b || a != a ? a : b; }
};

/// Calls visit(Op()) with the operation's struct.
template <class Visit>
HWY_INLINE auto with_op(RowOp op, const Visit& visit) {
  switch (op) {
    case RowOp::Sum: return visit(SumOp());
    case RowOp::SumAbs: return visit(SumAbsOp());
    case RowOp::SumSquare: return visit(SumSquareOp());
    case RowOp::SumExp: return visit(SumExpOp());
    case RowOp::Product: return visit(ProductOp());
    case RowOp::Max: return visit(MaxOp());
    case RowOp::Min: break;
  }
  return visit(MinOp());
}

/// The first `count` lanes of x, `start` beyond.
HWY_INLINE V first_lanes(V x, int64_t count, V start) {
  return hn::IfThenElse(hn::FirstN(kD, static_cast<size_t>(count)), x, start);
}

/// Joins at most kSection elements in four chains.
template <class Op>
HWY_INLINE V reduce_section(const float* x, int64_t n, V shift) {
  const V start = splat(Op::kStart);
  V a = start, b = start, c = start, d = start;
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    a = Op::join(a, Op::map(hn::LoadU(kD, x + i), shift));
    b = Op::join(b, Op::map(hn::LoadU(kD, x + i + kLanes), shift));
    c = Op::join(c, Op::map(hn::LoadU(kD, x + i + 2 * kLanes), shift));
    d = Op::join(d, Op::map(hn::LoadU(kD, x + i + 3 * kLanes), shift));
  }
  for (; i + kLanes <= n; i += kLanes) a = Op::join(a, Op::map(hn::LoadU(kD, x + i), shift));
  if (i < n) b = Op::join(b, first_lanes(Op::map(load_part(x + i, n - i), shift), n - i, start));
  return Op::join(Op::join(a, b), Op::join(c, d));
}

template <class Op>
HWY_INLINE double reduce_row(const float* x, int64_t n, float shift) {
  double total = static_cast<double>(Op::kStart);
  for (int64_t i = 0; i < n; i += kSection) {
    float lanes[kLanes];
    hn::StoreU(reduce_section<Op>(x + i, std::min(kSection, n - i), splat(shift)), kD, lanes);
    for (const float lane : lanes) total = Op::join(total, static_cast<double>(lane));
  }
  return total;
}

double reduce(RowOp op, const float* x, int64_t n, float shift) {
  return with_op(op, [&](auto o) HWY_ATTR { return reduce_row<decltype(o)>(x, n, shift); });
}

void accumulate(RowOp op, const float* x, int64_t n, const float* shift, float* acc) {
  with_op(op, [&](auto o) HWY_ATTR {
    using Op = decltype(o);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      const V by = shift == nullptr ? hn::Zero(kD) : hn::LoadU(kD, shift + i);
      hn::StoreU(Op::join(hn::LoadU(kD, acc + i), Op::map(hn::LoadU(kD, x + i), by)), kD, acc + i);
    }
    if (i < n) {
      const V by = shift == nullptr ? hn::Zero(kD) : load_part(shift + i, n - i);
      store_part(Op::join(load_part(acc + i, n - i), Op::map(load_part(x + i, n - i), by)), acc + i, n - i);
    }
    return 0;
  });
}

/// y[i] = map(x[i], at) over a row; at(p) is the vector of p's elements beside those of x.
template <class Map>
HWY_INLINE void map_row(const float* x, int64_t n, float* y, const Map& map) {
  int64_t i = 0;
  const auto whole = [&](const float* from) HWY_ATTR { return hn::LoadU(kD, from + i); };
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(map(whole(x), whole), kD, y + i);
  if (i == n) return;
  const auto rest = [&](const float* from) HWY_ATTR { return load_part(from + i, n - i); };
  store_part(map(rest(x), rest), y + i, n - i);
}

void softmax(const float* x, int64_t n, float* y) {
  const V most = splat(static_cast<float>(reduce_row<MaxOp>(x, n, 0)));
  double total = 0;
  for (int64_t first = 0; first < n; first += kSection) {
    const int64_t end = std::min(n, first + kSection);
    V sum = hn::Zero(kD);
    int64_t i = first;
    for (; i + kLanes <= end; i += kLanes) {
      const V e = exp_nonpositive(hn::Sub(hn::LoadU(kD, x + i), most));
      hn::StoreU(e, kD, y + i);
      sum = hn::Add(sum, e);
    }
    if (i < end) {
      const V e = first_lanes(exp_nonpositive(hn::Sub(load_part(x + i, end - i), most)), end - i, hn::Zero(kD));
      store_part(e, y + i, end - i);
      sum = hn::Add(sum, e);
    }
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(kD, sum)));
  }
  const V factor = splat(static_cast<float>(1 / total));
  map_row(y, n, y, [&](V e, const auto&) HWY_ATTR { return hn::Mul(e, factor); });
}

void log_softmax(const float* x, int64_t n, float* y) {
  const auto most = static_cast<float>(reduce_row<MaxOp>(x, n, 0));
  const V log_sum = splat(static_cast<float>(std::log(reduce_row<SumExpOp>(x, n, most))));
  map_row(x, n, y, [&](V v, const auto&) HWY_ATTR { return hn::Sub(hn::Sub(v, splat(most)), log_sum); });
}

/// Softmax down one vector of columns, `lanes` of them in use (all if kWhole).
template <bool kLog, bool kWhole>
HWY_INLINE void softmax_down(const ColumnBlock& block, int64_t column, int64_t lanes) {
  if constexpr (kWhole) lanes = kLanes;
  const float* x = block.x + column;
  float* y = block.y + column;
  V most = splat(-kInfinity);
  for (int64_t r = 0; r < block.rows; ++r) most = max_or_nan(most, load_part(x + r * block.stride, lanes));
  V sum = hn::Zero(kD);
  for (int64_t r = 0; r < block.rows; ++r) {
    const V e = exp_nonpositive(hn::Sub(load_part(x + r * block.stride, lanes), most));
    if constexpr (!kLog) store_part(e, y + r * block.stride, lanes);
    sum = hn::Add(sum, e);
  }
  const V last = kLog ? log_vector(sum) : hn::Div(splat(1.0f), sum);
  for (int64_t r = 0; r < block.rows; ++r) {
    float* to = y + r * block.stride;
    if constexpr (kLog) {
      store_part(hn::Sub(hn::Sub(load_part(x + r * block.stride, lanes), most), last), to, lanes);
    } else {
      store_part(hn::Mul(load_part(to, lanes), last), to, lanes);
    }
  }
}

template <bool kLog>
void softmax_columns(const ColumnBlock& block) {
  int64_t c = 0;
  for (; c + kLanes <= block.columns; c += kLanes) softmax_down<kLog, true>(block, c, kLanes);
  if (c < block.columns) softmax_down<kLog, false>(block, c, block.columns - c);
}

void normalize(const NormRow& row) {
  const V mean = splat(row.mean);
  const V inverse = splat(row.inverse);
  const V offset = splat(row.offset);
  const auto centred = [&](V x) HWY_ATTR { return hn::MulAdd(hn::Sub(x, mean), inverse, offset); };
  const auto each = [&](const auto& map) HWY_ATTR { map_row(row.x, row.n, row.y, map); };
  if (row.scale != nullptr && row.bias != nullptr) {
    each([&](V x, const auto& at) HWY_ATTR { return hn::MulAdd(centred(x), at(row.scale), at(row.bias)); });
  } else if (row.scale != nullptr) {
    each([&](V x, const auto& at) HWY_ATTR { return hn::Mul(centred(x), at(row.scale)); });
  } else if (row.bias != nullptr) {
    each([&](V x, const auto& at) HWY_ATTR { return hn::Add(centred(x), at(row.bias)); });
  } else {
    each([&](V x, const auto&) HWY_ATTR { return centred(x); });
  }
}

void center_row(const CenterRow& row) {
  const V mean = splat(row.mean), factor = splat(row.factor), shift = splat(row.shift);
  map_row(row.x, row.n, row.y, [&](V x, const auto&) HWY_ATTR { return hn::MulAdd(hn::Sub(x, mean), factor, shift); });
}

/// The moments of a section of at most kSection elements, in two chains.
HWY_INLINE void add_section_moments(const float* x, int64_t n, V shift, Moments& total) {
  V sum0 = hn::Zero(kD), sum1 = sum0, squares0 = sum0, squares1 = sum0;
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const V a = hn::Sub(hn::LoadU(kD, x + i), shift);
    const V b = hn::Sub(hn::LoadU(kD, x + i + kLanes), shift);
    sum0 = hn::Add(sum0, a);
    sum1 = hn::Add(sum1, b);
    squares0 = hn::MulAdd(a, a, squares0);
    squares1 = hn::MulAdd(b, b, squares1);
  }
  for (; i < n; i += kLanes) {
    const int64_t count = std::min<int64_t>(kLanes, n - i);
    const V part = count == kLanes ? hn::LoadU(kD, x + i) : load_part(x + i, count);
    const V a = first_lanes(hn::Sub(part, shift), count, hn::Zero(kD));
    sum0 = hn::Add(sum0, a);
    squares0 = hn::MulAdd(a, a, squares0);
  }
  float sums[kLanes], squares[kLanes];
  hn::StoreU(hn::Add(sum0, sum1), kD, sums);
  hn::StoreU(hn::Add(squares0, squares1), kD, squares);
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    total.sum += static_cast<double>(sums[lane]);
    total.squares += static_cast<double>(squares[lane]);
  }
}

Moments moments(const float* x, int64_t n, float shift) {
  Moments total;
  for (int64_t i = 0; i < n; i += kSection) add_section_moments(x + i, std::min(kSection, n - i), splat(shift), total);
  return total;
}

/// Vectors of columns that a pass over the rows keeps in registers.
constexpr int64_t kColumnVectors = 4;

/// `lanes` columns are in use, all of kVectors vectors if kWhole.
template <int64_t kVectors, bool kWhole, bool kSquares>
HWY_INLINE void moments_down(const ColumnMoments& block, int64_t column, int64_t lanes) {
  const auto load = [&](const float* from) HWY_ATTR {
    if constexpr (kWhole) return hn::LoadU(kD, from);
    return load_part(from, lanes);
  };
  V shifts[kVectors], sums[kVectors], squares[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) {
    shifts[v] = block.shift == nullptr ? hn::Zero(kD) : load(block.shift + column + v * kLanes);
    sums[v] = squares[v] = hn::Zero(kD);
  }
  const float* x = block.x + column;
  for (int64_t row = 0; row < block.rows; ++row, x += block.columns) {
    for (int64_t v = 0; v < kVectors; ++v) {
      const V distance = hn::Sub(load(x + v * kLanes), shifts[v]);
      sums[v] = hn::Add(sums[v], distance);
      if constexpr (kSquares) squares[v] = hn::MulAdd(distance, distance, squares[v]);
    }
  }
  const auto add = [&](V from, double* to) HWY_ATTR {
    float values[kLanes];
    hn::StoreU(from, kD, values);
    const int64_t count = kWhole ? kLanes : lanes;
    for (int64_t lane = 0; lane < count; ++lane) to[lane] += static_cast<double>(values[lane]);
  };
  for (int64_t v = 0; v < kVectors; ++v) {
    add(sums[v], block.sums + column + v * kLanes);
    if constexpr (kSquares) add(squares[v], block.squares + column + v * kLanes);
  }
}

template <bool kSquares>
HWY_INLINE void all_moments_down(const ColumnMoments& block) {
  int64_t c = 0;
  for (; c + kColumnVectors * kLanes <= block.columns; c += kColumnVectors * kLanes)
    moments_down<kColumnVectors, true, kSquares>(block, c, 0);
  for (; c + kLanes <= block.columns; c += kLanes) moments_down<1, true, kSquares>(block, c, 0);
  if (c < block.columns) moments_down<1, false, kSquares>(block, c, block.columns - c);
}

void column_moments(const ColumnMoments& block) {
  if (block.squares == nullptr) {
    all_moments_down<false>(block);
  } else {
    all_moments_down<true>(block);
  }
}

/// One vector of columns, `lanes` of them in use (all if kWhole).
template <bool kWhole>
HWY_INLINE void center_down(const CenterBlock& block, int64_t column, int64_t lanes) {
  const auto load = [&](const float* from) HWY_ATTR {
    if constexpr (kWhole) return hn::LoadU(kD, from);
    return load_part(from, lanes);
  };
  const V mean = load(block.mean + column);
  const V factor = load(block.factor + column);
  const V shift = load(block.shift + column);
  for (int64_t at = column; at < block.rows * block.columns; at += block.columns) {
    const V y = hn::MulAdd(hn::Sub(load(block.x + at), mean), factor, shift);
    if constexpr (kWhole) {
      hn::StoreU(y, kD, block.y + at);
    } else {
      store_part(y, block.y + at, lanes);
    }
  }
}

void center_columns(const CenterBlock& block) {
  int64_t c = 0;
  for (; c + kLanes <= block.columns; c += kLanes) center_down<true>(block, c, kLanes);
  if (c < block.columns) center_down<false>(block, c, block.columns - c);
}

void divide_by_power(const PowerRow& row) {
  map_row(row.x, row.n, row.y, [&](V x, const auto& at) HWY_ATTR {
    const V base = hn::MulAdd(at(row.sums), splat(row.alpha), splat(row.bias));
    return hn::Mul(x, exp_vector(hn::Mul(log_vector(base), splat(-row.beta))));
  });
}

constexpr RowKernels kKernels{
    reduce,  accumulate,     softmax,   log_softmax, softmax_columns<false>, softmax_columns<true>,
    moments, column_moments, normalize, center_row,  center_columns,         divide_by_power};

}  // namespace HWY_NAMESPACE
}  // namespace strop::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strop::kernels {

double join(RowOp op, double a, double b) {
  switch (op) {
    case RowOp::Product: return a * b;
    case RowOp::Max: return std::isnan(a) || a > b ? a : b;
    case RowOp::Min: return std::isnan(a) || a < b ? a : b;
    default: return a + b;
  }
}

double identity(RowOp op) {
  switch (op) {
    case RowOp::Product: return 1;
    case RowOp::Max: return -std::numeric_limits<double>::infinity();
    case RowOp::Min: return std::numeric_limits<double>::infinity();
    default: return 0;
  }
}

const RowKernels& row_kernels(CpuTarget target) {
  switch (target) {
#if HWY_TARGETS & HWY_AVX3
    case CpuTarget::Avx512: return N_AVX3::kKernels;
#endif
#if HWY_TARGETS & HWY_AVX2
    case CpuTarget::Avx2: return N_AVX2::kKernels;
#endif
    default: return HWY_STATIC_DISPATCH(kKernels);
  }
}

}  // namespace strop::kernels
#endif  // HWY_ONCE
