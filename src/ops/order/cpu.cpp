#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/late.h"
#include "ops/order/cpu_top_k.h"
#include "ops/order/order.h"
#include "tactics/copy_launch.h"

namespace strop::ops {
namespace {

using tactics::Launch;
using tactics::LaunchArgs;
using tactics::PrepareArgs;
using tactics::Problem;
using Prepared = Result<std::unique_ptr<Launch>>;

constexpr int64_t kGrainElements = 1 << 14;
constexpr int64_t kBlock = 64;  // neighbouring lines that are walked together, so that rows are read as they lie

// Operand 0 as [outer, length, inner] around an axis.
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;
};
Result<Lines> lines_along(const Problem& problem, int64_t axis) {
  const auto dims = problem.in_dims(0);
  STROP_ASSIGN(axis, normalize_axis(axis, problem.in(0).rank(), "axis"));
  return Lines{count_between(dims, 0, axis), dims[static_cast<size_t>(axis)],
               count_between(dims, axis + 1, problem.in(0).rank())};
}

// Calls body(o, first, count) for blocks of `count` neighbouring lines, in parallel.
template <class Body>
void for_each_block(Threads& threads, const Lines& lines, const Body& body) {
  const int64_t blocks = (lines.inner + kBlock - 1) / kBlock;
  const int64_t elements = std::max<int64_t>(lines.length * std::min(lines.inner, kBlock), 1);
  parallel_for(threads, lines.outer * blocks, kGrainElements / elements, [&](int64_t begin, int64_t end, int) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t first = index % blocks * kBlock;
      body(index / blocks, first, std::min(kBlock, lines.inner - first));
    }
  });
}

template <class T, bool IsMax>
bool is_better(T challenger, T champion) {
  if constexpr (std::is_floating_point_v<T>) {
    // The first NaN is the largest and the smallest element, as it is what Max and Min give.
    if (std::isnan(champion)) return false;
    if (std::isnan(challenger)) return true;
  }
  return IsMax ? challenger > champion : challenger < champion;
}

template <class T, bool IsMax>
class ArgLaunch final : public Launch {
 public:
  ArgLaunch(Lines lines, bool select_last) : lines_(lines), select_last_(select_last) {}

  Result<void> run(const LaunchArgs& args) const override {
    if (lines_.length == 0 && lines_.outer * lines_.inner > 0)
      return bad_data("{}: the axis is empty", IsMax ? "ArgMax" : "ArgMin");
    for_each_block(args.threads, lines_, [&](int64_t o, int64_t first, int64_t count) {
      const T* row = args.inputs[0].as<const T>() + o * lines_.length * lines_.inner + first;
      int64_t* result = args.outputs[0].as<int64_t>() + o * lines_.inner + first;
      std::array<T, kBlock> best;
      std::copy(row, row + count, best.begin());
      std::fill(result, result + count, 0);
      for (int64_t at = 1; at < lines_.length; ++at) {
        row += lines_.inner;
        for (int64_t i = 0; i < count; ++i) {
          T& champion = best[static_cast<size_t>(i)];
          // Not worse is enough for the last of equals.
          const bool wins =
              select_last_ ? !is_better<T, IsMax>(champion, row[i]) : is_better<T, IsMax>(row[i], champion);
          champion = wins ? row[i] : champion;
          result[i] = wins ? at : result[i];
        }
      }
    });
    return {};
  }

 private:
  Lines lines_;
  bool select_last_;
};

template <class T, bool IsSum>
class CumulativeLaunch final : public Launch {
 public:
  CumulativeLaunch(Lines lines, const CumulativeAttrs& attrs)
      : lines_(lines), exclusive_(attrs.exclusive), reverse_(attrs.reverse) {}

  Result<void> run(const LaunchArgs& args) const override {
    for_each_block(args.threads, lines_, [&](int64_t o, int64_t first, int64_t count) {
      const int64_t start = o * lines_.length * lines_.inner + first;
      std::array<Total, kBlock> totals;
      totals.fill(IsSum ? Total(0) : Total(1));
      for (int64_t step = 0; step < lines_.length; ++step) {
        const int64_t row = start + (reverse_ ? lines_.length - 1 - step : step) * lines_.inner;
        const T* from = args.inputs[0].as<const T>() + row;
        T* to = args.outputs[0].as<T>() + row;
        for (int64_t i = 0; i < count; ++i) {
          Total& total = totals[static_cast<size_t>(i)];
          const auto value = static_cast<Total>(from[i]);
          const Total next = IsSum ? total + value : total * value;
          to[i] = static_cast<T>(exclusive_ ? total : next);
          total = next;
        }
      }
    });
    return {};
  }

 private:
  // As the reference: double for floats, integers that wrap.
  using Total = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
  Lines lines_;
  bool exclusive_, reverse_;
};

// Calls make(T{}) for the dtypes that these are compiled for.
template <class Make>
std::unique_ptr<Launch> make_for_dtype(DType dtype, Make&& make) {
  switch (dtype) {
    case DType::F32: return make(float{});
    case DType::F64: return make(double{});
    case DType::I32: return make(int32_t{});
    case DType::I64: return make(int64_t{});
    default: break;
  }
  STROP_UNREACHABLE("elements of {}", to_string(dtype));
}

std::optional<std::string> why_not_number(const Problem& problem) {
  const TensorType& input = problem.in(0);
  if (!input.has_rank()) return "unknown rank";
  for (const DType each : {DType::F32, DType::F64, DType::I32, DType::I64}) {
    if (input.dtype == each) return std::nullopt;
  }
  return fmt::format("elements of {}", to_string(input.dtype));
}

template <bool IsMax>
Prepared prepare_arg(const PrepareArgs& args) {
  const auto& attrs = args.problem.attrs.as<ArgAttrs>();
  STROP_ASSIGN(const Lines lines, lines_along(args.problem, attrs.axis));
  return make_for_dtype(args.problem.in(0).dtype, [&]<class T>(T) -> std::unique_ptr<Launch> {
    return std::make_unique<ArgLaunch<T, IsMax>>(lines, attrs.select_last);
  });
}

template <bool IsSum>
Prepared prepare_cumulative(const PrepareArgs& args) {
  const auto& attrs = args.problem.attrs.as<CumulativeAttrs>();
  STROP_ASSIGN(const Lines lines, lines_along(args.problem, attrs.axis));
  return make_for_dtype(args.problem.in(0).dtype, [&]<class T>(T) -> std::unique_ptr<Launch> {
    return std::make_unique<CumulativeLaunch<T, IsSum>>(lines, attrs);
  });
}

// Each row: a part that is kept and a part that is zero.
class TriluLaunch final : public Launch {
 public:
  TriluLaunch(const Problem& problem, int64_t k)
      : upper_(problem.attrs.as<TriluAttrs>().upper), bytes_(tactics::element_bytes(problem.in(0))) {
    const auto dims = problem.in_dims(0);
    rows_ = dims[dims.size() - 2];
    columns_ = dims.back();
    total_rows_ = count_between(dims, 0, static_cast<int64_t>(dims.size()) - 1);
    k_ = std::clamp(k, -rows_ - 1, columns_ + 1);
  }

  Result<void> run(const LaunchArgs& args) const override {
    const int64_t grain = kGrainElements / std::max<int64_t>(columns_, 1);
    parallel_for(args.threads, total_rows_, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        const char* from = args.inputs[0].as<const char>() + row * columns_ * bytes_;
        char* to = args.outputs[0].as<char>() + row * columns_ * bytes_;
        // Upper keeps columns from the diagonal on, lower those up to it.
        const int64_t edge = std::clamp<int64_t>(row % rows_ + k_ + (upper_ ? 0 : 1), 0, columns_) * bytes_;
        const int64_t width = columns_ * bytes_;
        if (upper_)
          std::memset(to, 0, static_cast<size_t>(edge));
        else
          std::memset(to + edge, 0, static_cast<size_t>(width - edge));
        const int64_t kept = upper_ ? edge : 0;
        if (from != to) std::memcpy(to + kept, from + kept, static_cast<size_t>(upper_ ? width - edge : edge));
      }
    });
    return {};
  }

 private:
  bool upper_;
  int64_t bytes_;
  int64_t rows_ = 0, columns_ = 0, total_rows_ = 0, k_ = 0;
};

Prepared prepare_trilu(const PrepareArgs& args) {
  return std::unique_ptr<Launch>(
      std::make_unique<TriluLaunch>(args.problem, bound({args.problem.attrs.as<TriluAttrs>().k})[0]));
}

constexpr tactics::Tactic tactic_of(std::string_view name, std::string_view op,
                                    Prepared (*prepare)(const PrepareArgs&)) {
  return {.name = name, .numerics = tactics::Numerics::Exact, .op = op, .why_not = why_not_number, .prepare = prepare};
}
constexpr tactics::Tactic kArgMaxLines = tactic_of("ArgMax.cpu.lines", "ArgMax", prepare_arg<true>);
constexpr tactics::Tactic kArgMinLines = tactic_of("ArgMin.cpu.lines", "ArgMin", prepare_arg<false>);
constexpr tactics::Tactic kCumSumLines = tactic_of("CumSum.cpu.lines", "CumSum", prepare_cumulative<true>);
constexpr tactics::Tactic kCumProdLines = tactic_of("CumProd.cpu.lines", "CumProd", prepare_cumulative<false>);
constexpr tactics::Tactic kTriluRows = {
    .name = "Trilu.cpu.rows",
    .numerics = tactics::Numerics::Exact,
    .op = "Trilu",
    .why_not = tactics::why_not_bytes,
    .prepare = prepare_trilu,
    .in_place_inputs = 1,
};

}  // namespace

std::span<const tactics::Tactic* const> order_cpu_tactics() {
  static constexpr std::array kTactics = {&kTopKSelect,  &kArgMaxLines,  &kArgMinLines,
                                          &kCumSumLines, &kCumProdLines, &kTriluRows};
  return kTactics;
}

}  // namespace strop::ops
