#include "fuzz/engine_loading.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string>

#include "ops/operator.h"
#include "runtime/program.h"
#include "runtime/shape_plan.h"

namespace strop::fuzz {
namespace {

using plan::kNone;
using plan::kUnknown;

// Keeps the compiler from leaving a read out.
void use(uint64_t value) {
  static volatile uint64_t sink = 0;
  sink = sink + value;
}

void touch(const Tensor& weight) {
  if (weight.dtype() == DType::String) {
    for (const std::string& item : weight.strings()) use(item.size());
    return;
  }
  use(hash64({static_cast<const std::byte*>(weight.raw()), static_cast<size_t>(weight.bytes())}));
}

/// A stand-in for every tactic that the plan names in the way tactics are named.
class StandIns {
 public:
  explicit StandIns(const plan::Plan& plan) {
    for (const plan::Block& block : plan.blocks) {
      for (const plan::Step& step : block.steps) {
        for (const plan::Variant& variant : step.variants) add(variant);
      }
    }
  }
  const tactics::TacticList& list() const { return list_; }

 private:
  void add(const plan::Variant& variant) {
    const std::string_view name = variant.tactic;
    const size_t end = name.find(".cpu.");
    if (end == std::string_view::npos || list_.find(name) != nullptr) return;
    tactics_.push_back({.name = name,
                        .version = variant.tactic_version,
                        .op = name.substr(0, end),
                        .why_not = [](const tactics::Problem&) { return std::optional<std::string>(); },
                        .prepare = [](const tactics::PrepareArgs& args) -> Result<std::unique_ptr<tactics::Launch>> {
                          return tactics::make_reference_launch(args.problem);
                        }});
    const tactics::Tactic* added = &tactics_.back();
    list_.add({&added, 1});
  }

  std::deque<tactics::Tactic> tactics_;  // the list points into it
  tactics::TacticList list_;
};

/// Values for a block's symbols: what it inherits, and the profile's smallest or (not too) large sizes.
std::vector<int64_t> profile_symbols(const plan::Block& block, const std::vector<int64_t>& outer, bool large) {
  std::vector<int64_t> symbols;
  for (size_t i = 0; i < block.ranges.size(); ++i) {
    const int64_t min = std::max<int64_t>(block.ranges[i].min, 0);
    const int64_t max = std::max(std::min(block.ranges[i].max, min > INT64_MAX - 9 ? min : min + 9), min);
    const int32_t inherited = block.inherited[i];
    symbols.push_back(inherited == kNone ? (large ? max : min) : outer[static_cast<size_t>(inherited)]);
  }
  return symbols;
}

/// A caller's input for a port; a dimension that no sane caller has (negative, or beyond 2^40) gives no type.
std::optional<Type> input_type(const plan::PortDesc& port, const std::vector<int64_t>& registers) {
  if (port.type.kind == TypeKind::Sequence) return Type::sequence(Type::unranked(DType::F32));
  if (port.type.kind != TypeKind::Tensor) return Type();
  Dims dims;
  if (port.type.dims) {
    for (const plan::Reg reg : *port.type.dims) {
      const int64_t size = registers[static_cast<size_t>(reg)];
      if (size != kUnknown && (size < 0 || size > int64_t{1} << 40)) return std::nullopt;
      dims.push_back(size == kUnknown ? 3 : size);
    }
  }
  return Type(port.type.dtype, std::move(dims));
}

void plan_blocks(const runtime::Program& program, bool large) {
  const auto& blocks = program.plan->blocks;
  std::map<int32_t, std::vector<int64_t>> outer_symbols = {{0, {}}};  // of blocks whose enclosing block is planned
  for (size_t i = 0; i < blocks.size(); ++i) {
    const plan::Block& block = blocks[i];
    const auto outer = outer_symbols.find(static_cast<int32_t>(i));
    if (outer == outer_symbols.end()) continue;
    std::vector<int64_t> registers(block.shapes.instrs.size(), kUnknown);
    const bool inherits_from_nothing =
        i == 0 && std::ranges::any_of(block.inherited, [](int32_t symbol) { return symbol != kNone; });
    STROP_CHECK(!inherits_from_nothing, "the main block inherits symbols");
    const std::vector<int64_t> symbols = profile_symbols(block, outer->second, large);
    if (!block.shapes.evaluate(symbols, registers).ok()) continue;
    std::vector<Type> inputs;
    for (const plan::PortDesc& port : block.inputs) {
      const auto type = input_type(port, registers);
      if (!type) return;
      inputs.push_back(*type);
    }
    const auto planned = runtime::make_shape_plan({program, i, inputs, outer->second, 2});
    if (!planned.ok()) continue;
    use(static_cast<uint64_t>((*planned)->arena.bytes));
    for (const plan::Step& step : block.steps) {
      for (const int32_t region : step.blocks) outer_symbols[region] = (*planned)->symbols;
    }
  }
}

}  // namespace

void load_and_plan(const engine::ReadEngine& read) {
  for (const Tensor& weight : read.image.weights) touch(weight);
  const StandIns tactics(*read.image.plan);
  const auto program =
      runtime::make_program(read.image.plan, read.image.weights, ops::builtin_operators(), tactics.list());
  if (!program.ok()) return;
  for (const bool large : {false, true}) plan_blocks(**program, large);
}

}  // namespace strop::fuzz
