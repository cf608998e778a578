#include "fuzz/plan_mutator.h"

#include <array>
#include <functional>
#include <random>
#include <string>

#include "ops/operator.h"

namespace strop::fuzz {
namespace {

using Random = std::mt19937;

size_t below(Random& random, size_t limit) { return limit == 0 ? 0 : random() % limit; }

/// Gathers a change for every field and list of a plan, so that each is as likely as any other.
class Mutator {
 public:
  explicit Mutator(Random& random) : random_(random) {}

  void gather(engine::DecodedPlan& decoded) {
    list(decoded.plan.devices);
    list(decoded.plan.blocks);
    list(decoded.plan.attrs);
    for (auto& block : decoded.plan.blocks) gather(block);
    for (auto& fields : decoded.plan.attrs) {
      list(fields);
      for (plan::AttrDesc& attr : fields) text(attr.name), text(attr.text);
    }
    for (plan::WeightDesc& weight : decoded.plan.weights) {
      text(weight.name);
      enumeration(weight.dtype, kDTypeCount);
      numbers(weight.dims);
      list(weight.origins);
    }
    for (engine::WeightPlace& place : decoded.places) wide(place.offset), wide(place.bytes);
    changes_.emplace_back([&] {  // both lists at once: they are parallel
      if (decoded.places.empty()) return;
      const size_t i = below(random_, decoded.places.size());
      decoded.plan.weights.push_back(decoded.plan.weights[i]);
      decoded.places.push_back(decoded.places[i]);
    });
  }

  void apply() {
    if (!changes_.empty()) changes_[below(random_, changes_.size())]();
  }

 private:
  void gather(plan::Block& block) {
    list(block.shapes.symbols);
    for (auto& symbol : block.shapes.symbols) text(symbol);
    list(block.shapes.instrs);
    for (auto& instr : block.shapes.instrs) {
      enumeration(instr.op, 8);
      wide(instr.value), narrow(instr.a), narrow(instr.b);
    }
    list(block.bindings);
    for (auto& binding : block.bindings) narrow(binding.symbol), narrow(binding.input), narrow(binding.axis);
    numbers(block.inherited);
    list(block.ranges);
    for (auto& range : block.ranges) wide(range.min), wide(range.max);
    gather(block.checks);
    gather(block.inputs);
    gather(block.outputs);
    list(block.values);
    for (auto& value : block.values) gather(value);
    list(block.steps);
    for (auto& step : block.steps) gather(step);
  }

  void gather(std::vector<plan::ShapeCheck>& checks) {
    list(checks);
    for (auto& check : checks) narrow(check.a), enumeration(check.relation, 4), narrow(check.b);
  }

  void gather(std::vector<plan::PortDesc>& ports) {
    list(ports);
    for (auto& port : ports) text(port.name), narrow(port.value), gather(port.type);
  }

  void gather(plan::TypeDesc& type) {
    enumeration(type.kind, 4);
    enumeration(type.dtype, kDTypeCount);
    changes_.emplace_back([&] {
      if (type.dims) {
        type.dims.reset();
      } else {
        type.dims.emplace();
      }
    });
    if (type.dims) numbers(*type.dims);
    narrow(type.layout.blocked_axis), narrow(type.layout.block), text(type.element);
  }

  void gather(plan::ValueDesc& value) {
    gather(value.type);
    enumeration(value.storage, 7);
    narrow(value.index), narrow(value.base), narrow(value.offset_elements), narrow(value.pitch), narrow(value.device);
  }

  void gather(plan::Step& step) {
    enumeration(step.kind, 5);
    changes_.emplace_back([&] {
      const auto operators = ops::builtin_operators().all();
      step.op = operators[below(random_, operators.size())]->name;
    });
    narrow(step.attrs);
    numbers(step.inputs);
    numbers(step.outputs);
    list(step.late);
    for (auto& late : step.late) text(late.field), narrow(late.operand);
    numbers(step.blocks);
    list(step.variants);
    for (auto& variant : step.variants) {
      gather(variant.when);
      text(variant.tactic), narrow(variant.tactic_version), text(variant.config), numbers(variant.packed);
    }
    narrow(step.device), narrow(step.stream), narrow(step.event);
  }

  template <class T>
  void narrow(T& number) {
    changes_.emplace_back([&] {
      constexpr std::array<int32_t, 8> kCorners = {-1, 0, 1, 2, -2, INT32_MAX, INT32_MIN, 64};
      switch (below(random_, 4)) {
        case 0: number = static_cast<T>(kCorners[below(random_, kCorners.size())]); break;
        case 1: number = static_cast<T>(static_cast<uint64_t>(number) + 1); break;
        case 2: number = static_cast<T>(static_cast<uint64_t>(number) - 1); break;
        default: number = static_cast<T>(below(random_, 24)); break;
      }
    });
  }

  template <class T>
  void wide(T& number) {
    changes_.emplace_back([&] {
      constexpr std::array<int64_t, 8> kCorners = {INT64_MAX, INT64_MIN,   int64_t{1} << 31, int64_t{1} << 40,
                                                   -1,        int64_t{-8}, int64_t{1} << 62, INT64_MAX - 63};
      number = static_cast<T>(kCorners[below(random_, kCorners.size())]);
    });
    narrow(number);
  }

  template <class E>
  void enumeration(E& value, size_t count) {
    changes_.emplace_back([&, count] { value = static_cast<E>(below(random_, count + 1)); });
  }

  void text(std::string& value) {
    changes_.emplace_back([&] {
      static constexpr std::string_view kPieces[] = {"", "0", "-", "9223372036854775807", "[", "]", "(", "{", ",", "n"};
      const std::string_view piece = kPieces[below(random_, std::size(kPieces))];
      const size_t at = below(random_, value.size() + 1);
      value.replace(at, below(random_, 3), piece);
    });
  }

  template <class T>
  void numbers(std::vector<T>& values) {
    list(values);
    for (T& value : values) wide(value);
  }

  // Takes an element out, repeats one, or changes two with each other.
  template <class T>
  void list(std::vector<T>& items) {
    changes_.emplace_back([&] {
      if (items.empty()) {
        items.emplace_back();
        return;
      }
      const size_t i = below(random_, items.size());
      switch (below(random_, 3)) {
        case 0: items.erase(items.begin() + static_cast<std::ptrdiff_t>(i)); break;
        case 1: items.push_back(T(items[i])); break;
        default: std::swap(items[i], items[below(random_, items.size())]); break;
      }
    });
  }

  Random& random_;
  std::vector<std::function<void()>> changes_;
};

}  // namespace

void mutate(engine::DecodedPlan& decoded, uint32_t seed) {
  Random random(seed);
  for (size_t count = 1 + below(random, 4); count > 0; --count) {
    Mutator mutator(random);  // anew each time: lists may have moved
    mutator.gather(decoded);
    mutator.apply();
  }
}

}  // namespace strop::fuzz
