#include <algorithm>
#include <array>

#include "kernels/copy/element_types.h"
#include "kernels/copy/gather.h"
#include "ops/element_map.h"
#include "ops/families.h"
#include "ops/index_data.h"
#include "ops/scatter/scatter.h"
#include "tactics/copy_launch.h"

namespace strop::ops {
namespace {

using kernels::Indices;
using tactics::Launch;
using tactics::LaunchArgs;
using tactics::PrepareArgs;
using tactics::Problem;
using Prepared = Result<std::unique_ptr<Launch>>;

// The dtypes that reductions are compiled for.
template <class Body>
void with_number_type(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::F32: return body(float{});
    case DType::F64: return body(double{});
    case DType::I32: return body(int32_t{});
    case DType::I64: return body(int64_t{});
    default: break;
  }
  STROP_UNREACHABLE("reductions of {}", to_string(dtype));
}

// Signed sums and products wrap, as the reference's do: they are computed unsigned.
template <class T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  else
    return a + b;
}
template <class T>
T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) * static_cast<std::make_unsigned_t<T>>(b));
  else
    return a * b;
}

// Calls body(update) with the reduction of `T` as a function (T& at, T value).
template <class T, class Body>
void with_update(ScatterReduction reduction, Body&& body) {
  switch (reduction) {
    case ScatterReduction::None: return body([](T& at, T value) { at = value; });
    case ScatterReduction::Add: return body([](T& at, T value) { at = add(at, value); });
    case ScatterReduction::Mul: return body([](T& at, T value) { at = multiply(at, value); });
    case ScatterReduction::Max: return body([](T& at, T value) { at = at < value ? value : at; });
    case ScatterReduction::Min: return body([](T& at, T value) { at = value < at ? value : at; });
  }
}

// What all have in common: the data copied to the result (unless they are one buffer), then updates in order.
class ScatterLaunch : public Launch {
 public:
  explicit ScatterLaunch(const Problem& problem)
      : copy_(kernels::dense_axes(problem.in_dims(0)), tactics::element_bytes(problem.in(0))) {}
  Result<void> run(const LaunchArgs& args) const final {
    if (args.outputs[0].data != args.inputs[0].data) copy_.run(args.inputs[0].data, args.outputs[0].data, args.threads);
    return update(args);
  }

 private:
  virtual Result<void> update(const LaunchArgs& args) const = 0;
  kernels::StridedCopy copy_;
};

class ElementsLaunch final : public ScatterLaunch {
 public:
  ElementsLaunch(const Problem& problem, int64_t axis)
      : ScatterLaunch(problem),
        dtype_(problem.in(0).dtype),
        wide_(problem.in(1).dtype == DType::I64),
        reduction_(problem.attrs.as<ScatterElementsAttrs>().reduction),
        axis_(static_cast<size_t>(axis)),
        size_(problem.in_dims(0)[axis_]),
        dims_(problem.in_dims(1)),
        strides_(strides_of(problem.in_dims(0))) {}

 private:
  Result<void> update(const LaunchArgs& args) const override {
    const Indices indices{args.inputs[1].data, wide_};
    if (const auto bad = kernels::check_indices(indices, element_count(dims_), size_)) {
      return index_error("ScatterElements", bad->index, bad->size);
    }
    if (reduction_ == ScatterReduction::None) {
      kernels::with_element_type(byte_size(dtype_, 1), [&]<class T>(T) {
        each(indices, args.inputs[2].as<const T>(), args.outputs[0].as<T>(), [](T& at, const T& value) { at = value; });
      });
      return {};
    }
    with_number_type(dtype_, [&]<class T>(T) {
      with_update<T>(reduction_, [&](auto combine) {
        each(indices, args.inputs[2].as<const T>(), args.outputs[0].as<T>(), combine);
      });
    });
    return {};
  }

  template <class T, class Combine>
  void each(const Indices& indices, const T* updates, T* data, Combine combine) const {
    const size_t last = dims_.size() - 1;
    const int64_t length = dims_[last];
    const int64_t last_stride = axis_ == last ? 0 : strides_[last];
    const int64_t rows = length == 0 ? 0 : element_count(dims_) / length;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t base = 0;
      int64_t rest = row;
      for (size_t i = last; i-- > 0;) {
        if (i != axis_) base += rest % dims_[i] * strides_[i];
        rest /= dims_[i];
      }
      for (int64_t j = 0; j < length; ++j) {
        const int64_t index = indices.at(row * length + j);
        combine(data[base + (index + (index < 0 ? size_ : 0)) * strides_[axis_] + j * last_stride],
                updates[row * length + j]);
      }
    }
  }

  DType dtype_;
  bool wide_;
  ScatterReduction reduction_;
  size_t axis_;
  int64_t size_;
  std::vector<int64_t> dims_;
  std::vector<int64_t> strides_;
};

Prepared prepare_elements(const PrepareArgs& args) {
  const Problem& problem = args.problem;
  STROP_ASSIGN(const int64_t axis,
               normalize_axis(problem.attrs.as<ScatterElementsAttrs>().axis, problem.in(0).rank(), "axis"));
  const auto data = problem.in_dims(0);
  const auto indices = problem.in_dims(1);
  if (indices != problem.in_dims(2)) return bad_data("ScatterElements: indices and updates differ in shape");
  for (size_t i = 0; i < data.size(); ++i) {
    if (static_cast<int64_t>(i) != axis && indices[i] > data[i]) {
      return bad_data("ScatterElements: indices are larger than the data in axis {}", i);
    }
  }
  return std::unique_ptr<Launch>(std::make_unique<ElementsLaunch>(problem, axis));
}

class SlicesLaunch final : public ScatterLaunch {
 public:
  explicit SlicesLaunch(const Problem& problem)
      : ScatterLaunch(problem),
        dtype_(problem.in(0).dtype),
        wide_(problem.in(1).dtype == DType::I64),
        reduction_(problem.attrs.as<ScatterNDAttrs>().reduction) {
    const auto data = problem.in_dims(0);
    const auto indices = problem.in_dims(1);
    const int64_t length = indices.back();
    const int64_t bytes = tactics::element_bytes(problem.in(0));
    const auto strides = strides_of(data);
    tuples_.count = count_between(indices, 0, problem.in(1).rank() - 1);
    tuples_.tuples_per_batch = std::max<int64_t>(tuples_.count, 1);
    for (int64_t k = 0; k < length; ++k) {
      tuples_.sizes.push_back(data[static_cast<size_t>(k)]);
      tuples_.strides.push_back(strides[static_cast<size_t>(k)] * bytes);
    }
    slice_ = count_between(data, length, problem.in(0).rank());
  }
  int64_t updates() const { return tuples_.count * slice_; }

 private:
  Result<void> update(const LaunchArgs& args) const override {
    const Indices indices{args.inputs[1].data, wide_};
    if (reduction_ == ScatterReduction::None) {
      return as_result(
          scatter_tuples(tuples_, byte_size(dtype_, slice_), args.inputs[2].data, indices, args.outputs[0].data));
    }
    if (const auto bad = tuples_.check(indices)) return as_result(bad);
    with_number_type(dtype_, [&]<class T>(T) {
      with_update<T>(reduction_, [&](auto combine) {
        for (int64_t t = 0; t < tuples_.count; ++t) {
          T* at = args.outputs[0].as<T>() + tuples_.offset(indices, t) / static_cast<int64_t>(sizeof(T));
          const T* from = args.inputs[2].as<const T>() + t * slice_;
          for (int64_t i = 0; i < slice_; ++i) combine(at[i], from[i]);
        }
      });
    });
    return {};
  }

  static Result<void> as_result(const std::optional<kernels::BadIndex>& bad) {
    return bad ? Result<void>(index_error("ScatterND", bad->index, bad->size)) : Result<void>();
  }

  DType dtype_;
  bool wide_;
  ScatterReduction reduction_;
  kernels::IndexTuples tuples_;
  int64_t slice_ = 0;
};

Prepared prepare_slices(const PrepareArgs& args) {
  auto launch = std::make_unique<SlicesLaunch>(args.problem);
  if (element_count(args.problem.in_dims(2)) != launch->updates()) {
    return bad_data("ScatterND: {} updates where {} are indexed", element_count(args.problem.in_dims(2)),
                    launch->updates());
  }
  return std::unique_ptr<Launch>(std::move(launch));
}

class CacheLaunch final : public ScatterLaunch {
 public:
  CacheLaunch(const Problem& problem, int64_t axis)
      : ScatterLaunch(problem),
        circular_(problem.attrs.as<TensorScatterAttrs>().circular),
        has_positions_(problem.has_input(2)),
        batch_(problem.in_dims(0)[0]),
        outer_(count_between(problem.in_dims(0), 1, axis)),
        length_(problem.in_dims(0)[static_cast<size_t>(axis)]),
        update_(problem.in_dims(1)[static_cast<size_t>(axis)]),
        row_bytes_(count_between(problem.in_dims(0), axis + 1, problem.in(0).rank()) *
                   tactics::element_bytes(problem.in(0))) {}

 private:
  Result<void> update(const LaunchArgs& args) const override {
    const int64_t room = circular_ ? length_ - 1 : length_ - update_;
    for (int64_t b = 0; b < batch_; ++b) {
      const int64_t position = has_positions_ ? args.inputs[2].as<const int64_t>()[b] : 0;
      if (position < 0 || position > room || update_ > length_) {
        return bad_data("TensorScatter: {} elements at position {} of {}", update_, position, length_);
      }
      const int64_t before_end = std::min(update_, length_ - position);
      for (int64_t o = b * outer_; o < (b + 1) * outer_; ++o) {
        const char* from = args.inputs[1].as<const char>() + o * update_ * row_bytes_;
        char* to = args.outputs[0].as<char>() + o * length_ * row_bytes_;
        std::memcpy(to + position * row_bytes_, from, static_cast<size_t>(before_end * row_bytes_));
        std::memcpy(to, from + before_end * row_bytes_, static_cast<size_t>((update_ - before_end) * row_bytes_));
      }
    }
    return {};
  }

  bool circular_;
  bool has_positions_;
  int64_t batch_, outer_, length_, update_, row_bytes_;
};

Prepared prepare_cache(const PrepareArgs& args) {
  const Problem& problem = args.problem;
  STROP_ASSIGN(const int64_t axis,
               normalize_axis(problem.attrs.as<TensorScatterAttrs>().axis, problem.in(0).rank(), "axis"));
  auto expected = problem.in_dims(0);
  expected[static_cast<size_t>(axis)] = problem.in_dims(1)[static_cast<size_t>(axis)];
  if (problem.in_dims(1) != expected) return bad_data("TensorScatter: the update's shape does not fit the cache's");
  return std::unique_ptr<Launch>(std::make_unique<CacheLaunch>(problem, axis));
}

std::optional<std::string> why_not_number(DType dtype) {
  for (const DType each : {DType::F32, DType::F64, DType::I32, DType::I64}) {
    if (dtype == each) return std::nullopt;
  }
  return fmt::format("reductions of {}", to_string(dtype));
}

ScatterReduction reduction_of(const Problem& problem) {
  return problem.op->name == "ScatterND" ? problem.attrs.as<ScatterNDAttrs>().reduction
                                         : problem.attrs.as<ScatterElementsAttrs>().reduction;
}

std::optional<std::string> why_not_write(const Problem& problem) {
  if (reduction_of(problem) != ScatterReduction::None) return "a reduction";
  return tactics::why_not_bytes(problem);
}

std::optional<std::string> why_not_reduce(const Problem& problem) {
  if (reduction_of(problem) == ScatterReduction::None) return "no reduction";
  if (auto reason = why_not_number(problem.in(0).dtype)) return reason;
  return tactics::why_not_bytes(problem);
}

constexpr tactics::Tactic tactic_of(std::string_view name, std::string_view op, tactics::Numerics numerics,
                                    std::optional<std::string> (*why_not)(const Problem&),
                                    Prepared (*prepare)(const PrepareArgs&)) {
  return {.name = name, .numerics = numerics, .op = op, .why_not = why_not, .prepare = prepare, .in_place_inputs = 1};
}
using enum tactics::Numerics;
constexpr auto kElementsWrite =
    tactic_of("ScatterElements.cpu.write", "ScatterElements", Exact, why_not_write, prepare_elements);
constexpr auto kElementsReduce =
    tactic_of("ScatterElements.cpu.reduce", "ScatterElements", Reassociated, why_not_reduce, prepare_elements);
constexpr auto kSlicesWrite = tactic_of("ScatterND.cpu.write", "ScatterND", Exact, why_not_write, prepare_slices);
constexpr auto kSlicesReduce =
    tactic_of("ScatterND.cpu.reduce", "ScatterND", Reassociated, why_not_reduce, prepare_slices);
constexpr auto kCacheWrite =
    tactic_of("TensorScatter.cpu.write", "TensorScatter", Exact, tactics::why_not_bytes, prepare_cache);

}  // namespace

std::span<const tactics::Tactic* const> scatter_cpu_tactics() {
  static constexpr std::array kTactics = {&kElementsWrite, &kElementsReduce, &kSlicesWrite, &kSlicesReduce,
                                          &kCacheWrite};
  return kTactics;
}

}  // namespace strop::ops
