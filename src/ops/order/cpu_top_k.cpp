#include "ops/order/cpu_top_k.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "ops/element_map.h"
#include "ops/order/order.h"

namespace strop::ops {
namespace {

using tactics::LaunchArgs;
using tactics::Problem;

// An element as an integer of the same order: NaNs above all, -0 as 0.
int32_t order_key(float value) {
  if (value != value) return INT32_MAX;
  const auto bits = std::bit_cast<int32_t>(value + 0.0f);
  return bits < 0 ? bits ^ INT32_MAX : bits;
}
int64_t order_key(double value) {
  if (value != value) return INT64_MAX;
  const auto bits = std::bit_cast<int64_t>(value + 0.0);
  return bits < 0 ? bits ^ INT64_MAX : bits;
}
int32_t order_key(int32_t value) { return value; }
int64_t order_key(int64_t value) { return value; }

// What is sorted, ascending: the best elements first, of equal ones the lower position. A 32-bit key and a position fit
// one integer.
uint64_t sort_key(int32_t key, int64_t position, bool largest) {
  const auto rising = static_cast<uint32_t>(key) ^ 0x80000000u;
  return uint64_t{largest ? ~rising : rising} << 32 | static_cast<uint64_t>(position);
}
int64_t position_of(uint64_t key) { return static_cast<int64_t>(key & 0xFFFFFFFFu); }

struct WideKey {
  int64_t key;
  int64_t position;
  friend bool operator<(const WideKey& a, const WideKey& b) {
    return a.key != b.key ? a.key < b.key : a.position < b.position;
  }
};
WideKey sort_key(int64_t key, int64_t position, bool largest) { return {largest ? ~key : key, position}; }
int64_t position_of(const WideKey& key) { return key.position; }

template <class T>
class TopKLaunch final : public tactics::Launch {
 public:
  TopKLaunch(const Problem& problem, int64_t axis, int threads)
      : largest_(problem.attrs.as<TopKAttrs>().largest),
        outer_(count_between(problem.in_dims(0), 0, axis)),
        length_(problem.in_dims(0)[static_cast<size_t>(axis)]),
        inner_(count_between(problem.in_dims(0), axis + 1, problem.in(0).rank())),
        k_(problem.out_dims()[static_cast<size_t>(axis)]),
        threads_(threads) {}

  int64_t workspace_bytes() const override { return threads_ * line_bytes(); }

  Result<void> run(const LaunchArgs& args) const override {
    const auto* data = args.inputs[0].as<const T>();
    auto* values = args.outputs[0].as<T>();
    int64_t* positions = args.outputs.size() > 1 ? args.outputs[1].as<int64_t>() : nullptr;
    parallel_for(args.threads, outer_ * inner_, 4096 / std::max<int64_t>(length_, 1),
                 [&](int64_t begin, int64_t end, int worker) {
                   auto* keys = reinterpret_cast<Key*>(static_cast<char*>(args.workspace) + worker * line_bytes());
                   for (int64_t line = begin; line < end; ++line) {
                     const int64_t o = line / inner_;
                     const int64_t i = line % inner_;
                     const T* from = data + o * length_ * inner_ + i;
                     best_first(from, keys);
                     for (int64_t at = 0; at < k_; ++at) {
                       const int64_t position = position_of(keys[at]);
                       const int64_t target = (o * k_ + at) * inner_ + i;
                       if (values != nullptr) values[target] = from[position * inner_];
                       if (positions != nullptr) positions[target] = position;
                     }
                   }
                 });
    return {};
  }

 private:
  using Key = decltype(sort_key(order_key(T{}), 0, true));

  int64_t line_bytes() const { return (length_ * static_cast<int64_t>(sizeof(Key)) + 63) / 64 * 64; }

  void best_first(const T* from, Key* keys) const {
    for (int64_t at = 0; at < length_; ++at) keys[at] = sort_key(order_key(from[at * inner_]), at, largest_);
    // Choosing costs one pass, sorting only what was chosen.
    if (k_ < length_) std::nth_element(keys, keys + k_, keys + length_);
    std::sort(keys, keys + k_);
  }

  bool largest_;
  int64_t outer_, length_, inner_, k_;
  int64_t threads_;
};

std::optional<std::string> why_not(const Problem& problem) {
  const TensorType& input = problem.in(0);
  if (!input.has_rank()) return "unknown rank";
  switch (input.dtype) {
    case DType::F32:
    case DType::F64:
    case DType::I32:
    case DType::I64: return std::nullopt;
    default: return fmt::format("elements of {}", to_string(input.dtype));
  }
}

Result<std::unique_ptr<tactics::Launch>> prepare(const tactics::PrepareArgs& args) {
  const Problem& problem = args.problem;
  STROP_ASSIGN(const int64_t axis, normalize_axis(problem.attrs.as<TopKAttrs>().axis, problem.in(0).rank(), "axis"));
  if (problem.in_dims(0)[static_cast<size_t>(axis)] > INT32_MAX)
    return error(ErrorCode::Unsupported, "TopK along more than 2^31 elements");
  const auto make = [&]<class T>(T) {
    return std::unique_ptr<tactics::Launch>(std::make_unique<TopKLaunch<T>>(problem, axis, args.threads));
  };
  switch (problem.in(0).dtype) {
    case DType::F32: return make(float{});
    case DType::F64: return make(double{});
    case DType::I32: return make(int32_t{});
    case DType::I64: return make(int64_t{});
    default: break;
  }
  STROP_UNREACHABLE("TopK of {}", to_string(problem.in(0).dtype));
}

}  // namespace

constinit const tactics::Tactic kTopKSelect = {
    .name = "TopK.cpu.select",
    .numerics = tactics::Numerics::Exact,
    .op = "TopK",
    .why_not = why_not,
    .prepare = prepare,
};

}  // namespace strop::ops
