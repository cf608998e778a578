// Method: list scheduling of offline dynamic storage allocation ("greedy by size" and relatives, as compared by
// Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020), then swapping what sticks out
// to the front.
#include "plan/arena.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace strop::plan {
namespace {

struct Placed {
  int64_t begin;
  int64_t end;
};

int64_t aligned(int64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

// Places in the given order, each at the lowest gap that is free during its life (or the tightest, if best_fit).
int64_t place(const std::vector<Lifetime>& items, const std::vector<int32_t>& order, bool best_fit,
              std::vector<int64_t>& offsets) {
  std::vector<int32_t> done;
  std::vector<Placed> busy;
  int64_t top = 0;
  for (const int32_t index : order) {
    const Lifetime& item = items[static_cast<size_t>(index)];
    const int64_t need = aligned(item.bytes);
    busy.clear();
    for (const int32_t other : done) {
      const Lifetime& placed = items[static_cast<size_t>(other)];
      if (placed.first <= item.last && item.first <= placed.last && placed.bytes > 0) {
        busy.push_back(
            {offsets[static_cast<size_t>(other)], offsets[static_cast<size_t>(other)] + aligned(placed.bytes)});
      }
    }
    std::sort(busy.begin(), busy.end(), [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
    int64_t at = 0;
    int64_t best = -1;
    int64_t best_gap = INT64_MAX;
    for (const Placed& block : busy) {
      const int64_t gap = block.begin - at;
      if (gap >= need && gap < best_gap) {
        best = at;
        best_gap = gap;
        if (!best_fit) break;
      }
      at = std::max(at, block.end);
    }
    offsets[static_cast<size_t>(index)] = best >= 0 ? best : at;
    top = std::max(top, offsets[static_cast<size_t>(index)] + need);
    done.push_back(index);
  }
  return top;
}

int64_t lower_bound(const std::vector<Lifetime>& items) {
  int32_t steps = 0;
  for (const Lifetime& item : items) steps = std::max(steps, item.last + 1);
  std::vector<int64_t> change(static_cast<size_t>(steps) + 1, 0);
  for (const Lifetime& item : items) {
    change[static_cast<size_t>(item.first)] += aligned(item.bytes);
    change[static_cast<size_t>(item.last) + 1] -= aligned(item.bytes);
  }
  int64_t live = 0;
  int64_t most = 0;
  for (const int64_t delta : change) most = std::max(most, live += delta);
  return most;
}

template <class Key>
std::vector<int32_t> ordered_by(const std::vector<Lifetime>& items, Key key) {
  std::vector<int32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return key(items[static_cast<size_t>(a)]) > key(items[static_cast<size_t>(b)]);
  });
  return order;
}

}  // namespace

ArenaPlan pack_arena(const std::vector<Lifetime>& lifetimes) {
  ArenaPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  plan.lower_bound_bytes = lower_bound(lifetimes);
  for (const Lifetime& item : lifetimes) plan.total_bytes += aligned(item.bytes);
  if (lifetimes.empty()) return plan;

  using Key = std::pair<int64_t, int64_t>;
  const auto length = [](const Lifetime& item) { return int64_t{item.last} - item.first + 1; };
  std::vector<std::vector<int32_t>> orders = {
      ordered_by(lifetimes,
                 [](const Lifetime& item) {
                   return Key{item.bytes, -item.first};
                 }),
      ordered_by(lifetimes,
                 [&](const Lifetime& item) {
                   return Key{length(item), item.bytes};
                 }),
      ordered_by(lifetimes,
                 [&](const Lifetime& item) {
                   return Key{item.bytes * length(item), item.bytes};
                 }),
      ordered_by(lifetimes,
                 [](const Lifetime& item) {
                   return Key{-item.first, item.bytes};
                 }),
      ordered_by(lifetimes,
                 [](const Lifetime& item) {
                   return Key{item.last, item.bytes};
                 }),
  };
  std::vector<int64_t> offsets(lifetimes.size(), 0);
  std::vector<int32_t> best_order;
  plan.bytes = INT64_MAX;
  const auto attempt = [&](const std::vector<int32_t>& order) {
    bool better = false;
    for (const bool best_fit : {false, true}) {
      const int64_t bytes = place(lifetimes, order, best_fit, offsets);
      if (bytes >= plan.bytes) continue;
      plan.bytes = bytes;
      plan.offsets = offsets;
      best_order = order;
      better = true;
    }
    return better;
  };
  for (const auto& order : orders) attempt(order);

  // Local search: whatever ends at the top of the arena is moved forward in the order.
  const int rounds = lifetimes.size() > 2000 ? 4 : 64;
  for (int round = 0; round < rounds && plan.bytes > plan.lower_bound_bytes; ++round) {
    bool better = false;
    for (size_t i = 0; i < best_order.size() && !better; ++i) {
      const int32_t index = best_order[i];
      if (plan.offsets[static_cast<size_t>(index)] + aligned(lifetimes[static_cast<size_t>(index)].bytes) != plan.bytes)
        continue;
      for (const size_t target : {size_t{0}, i / 2, i / 4 * 3}) {
        if (target >= i) continue;
        std::vector<int32_t> order = best_order;
        std::rotate(order.begin() + static_cast<int64_t>(target), order.begin() + static_cast<int64_t>(i),
                    order.begin() + static_cast<int64_t>(i) + 1);
        if ((better = attempt(order))) break;
      }
    }
    if (!better) break;
  }
  // Then random exchanges, with a seed of its own so that the plan is always the same; bounded by the work that one
  // attempt is.
  std::mt19937 random(1);
  const int64_t attempt_cost = static_cast<int64_t>(lifetimes.size()) * static_cast<int64_t>(lifetimes.size());
  for (int64_t budget = 20'000'000; budget > 0 && plan.bytes > plan.lower_bound_bytes && lifetimes.size() > 1;
       budget -= attempt_cost) {
    std::vector<int32_t> order = best_order;
    for (int exchange = 0; exchange < 2; ++exchange) {
      std::swap(order[random() % order.size()], order[random() % order.size()]);
    }
    attempt(order);
  }
  return plan;
}

}  // namespace strop::plan
