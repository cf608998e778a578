/// Computes now what does not depend on the inputs: nodes whose operands are all constant, values whose contents
/// inference knows, late fields whose operands are known, and branches whose condition is constant.
#include "base/memory.h"
#include "ir/constant_text.h"
#include "ir/infer.h"
#include "ops/control/control.h"
#include "ops/shape/shape.h"
#include "passes/inline_region.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace strop::passes {

namespace {

constexpr Knob<bool> kEnabled{{.name = "passes.fold_constants", .help = "compute what does not depend on the inputs"}};
constexpr std::string_view kGrowthValues[] = {"1", "8", "64"};
constexpr Knob<int64_t> kGrowth{
    {.name = "passes.fold_growth",
     .help = "a folded result may be this many times as large as the constants it comes from",
     .default_value = "8",
     .values = kGrowthValues,
     .min = 0,
     .max = 1 << 20}};
constexpr const KnobInfo* kKnobs[] = {&kGrowth.info};

/// Results up to this size may always be folded.
constexpr int64_t kSmallBytes = 4096;
/// What a loop may do while it is folded: rounds, and bytes beside those in use. One that wants more runs later, under
/// the limits of runs.
constexpr int64_t kMaxRegionCalls = 10000;
constexpr int64_t kRegionBytes = int64_t{256} << 20;
/// A recipe is for people and for refit; one that is longer than this is good for neither.
constexpr size_t kMaxRecipe = 2000;

int64_t size_of(const Tensor& tensor) {
  if (tensor.dtype() != DType::String) return tensor.bytes();
  int64_t bytes = 0;
  for (const std::string& text : tensor.strings()) bytes += static_cast<int64_t>(text.size());
  return bytes;
}

bool is_pure(const ir::Node& node) {
  if (!node.op->is_deterministic) return false;
  for (const auto& region : node.regions) {
    for (const ir::NodeId id : region->order()) {
      if (!is_pure(region->node(id))) return false;
    }
  }
  return true;
}

/// "Transpose{perm=[1, 0]}(\"fc.weight\")": how a constant was made from initializers.
std::string recipe_of(const ir::Graph& graph, const ir::Node& node) {
  std::string text = fmt::format("{}{{{}}}(", node.op->name, node.attrs.to_string());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (i > 0) text += ", ";
    if (node.inputs[i] == ir::kNone) {
      text += "_";
      continue;
    }
    const ir::Constant& constant = *graph.value(node.inputs[i]).constant;
    if (!constant.recipe.empty()) {
      text += constant.recipe;
    } else if (!constant.origins.empty()) {
      text += fmt::format("\"{}\"", constant.origins[0]);
    } else {
      const bool small = constant.tensor.count() <= 16;
      text += to_string(constant.tensor.type()) +
              (small ? ir::elements_text(constant.tensor) : " " + ir::constant_digest(constant.tensor));
    }
  }
  return text + ")";
}

class Folder {
 public:
  Folder(ir::Graph& graph, const PassContext& ctx) : graph_(graph), ctx_(ctx) {}

  Result<bool> run() {
    const std::vector<ir::NodeId> order = graph_.order();
    for (const ir::NodeId id : order) {
      STROP_TRY(fill_late(id));
      STROP_ASSIGN(const bool inlined, inline_branch(id));
      if (inlined) continue;
      STROP_ASSIGN(const bool folded, fold(id));
      if (!folded) STROP_TRY(use_known_contents(id));
    }
    return changed_;
  }

 private:
  bool all_constant(const ir::Node& node) const {
    for (const ir::ValueId input : node.inputs) {
      if (input != ir::kNone && !graph_.is_constant(input)) return false;
    }
    return true;
  }

  /// Late fields that are known now become attributes, and their operands go. Symbols known only when the data are stay
  /// operands: nothing else would say that the node must wait for them.
  Result<void> fill_late(ir::NodeId id) {
    ir::Node& node = graph_.node(id);
    if (node.late.empty()) return {};
    auto resolved = ir::resolve_late(graph_, node);
    if (!resolved.ok()) return in_context(resolved.error(), ir::describe(graph_, id));
    if (resolved->late.size() == node.late.size()) return {};
    for (const std::string& symbol : resolved->attrs.symbols()) {
      if (symbol.starts_with('?')) return {};
    }
    std::vector<ir::ValueId> operands(
        node.inputs.begin(),
        node.inputs.begin() + static_cast<std::ptrdiff_t>(ops::own_operands(node.inputs.size(), node.late)));
    for (ops::LateField& late : resolved->late) {
      operands.push_back(node.inputs[static_cast<size_t>(late.operand)]);
      late.operand = static_cast<int32_t>(operands.size()) - 1;
    }
    node.attrs = std::move(resolved->attrs);
    node.late = std::move(resolved->late);
    node.inputs = std::move(operands);
    changed_ = true;
    STROP_TRY(graph_.reinfer(id));
    return {};
  }

  /// `If` with a constant condition is the branch it takes.
  Result<bool> inline_branch(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    if (node.op != &ops::kIf || !graph_.is_constant(node.inputs[0])) return false;
    const bool condition = load_i64(*graph_.constant_tensor(node.inputs[0]))[0] != 0;
    const std::vector<ir::ValueId> captures(node.inputs.begin() + 1, node.inputs.end());
    const auto branch = node.regions[condition ? 0 : 1];
    STROP_ASSIGN(const auto results, inline_region(graph_, *branch, captures, node.sources));
    replace_node(graph_, id, results);
    graph_.sort();
    return changed_ = true;
  }

  Result<bool> fold(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    if (!is_pure(node) || !all_constant(node) || !node.attrs.symbols().empty() || !fits(node)) return false;
    std::vector<Value> operands(node.inputs.size());
    for (size_t i = 0; i < operands.size(); ++i) {
      if (node.inputs[i] != ir::kNone) operands[i] = *graph_.constant_tensor(node.inputs[i]);
    }
    const bool has_regions = !node.regions.empty();
    const MemoryLimit memory(has_regions ? resident_bytes() + kRegionBytes : 0);
    int64_t calls = 0;
    const auto call_region = [&](size_t region, std::vector<Value> parameters) -> Result<std::vector<Value>> {
      if (++calls > kMaxRegionCalls) return error(ErrorCode::Unsupported, "too many rounds to fold");
      return ir::interpret(*node.regions[region], std::move(parameters), ctx_.threads, {{}, &memory});
    };
    const ops::EvalContext::RegionCall regions(call_region);
    auto results = ops::evaluate({*node.op, node.attrs, node.late, operands, node.outputs.size(), ctx_.threads,
                                  has_regions ? &regions : nullptr, has_regions ? &memory : nullptr});
    // What cannot be computed fails where it would have failed without folding: when it runs, if it runs.
    if (!results.ok()) return false;
    int64_t after = 0;
    for (const Value& result : *results) {
      if (!result.is_tensor()) return false;
      after += size_of(result.tensor());
    }
    if (!may_grow_to(node, after)) return false;
    replace(id, *results);
    return true;
  }

  /// The results are not too large beside the operands, as far as the types tell.
  bool fits(const ir::Node& node) const {
    int64_t after = 0;
    for (const ir::ValueId output : node.outputs) {
      const Type& type = graph_.value(output).type;
      if (!type.is_tensor()) return false;
      if (!type.tensor.is_static()) continue;
      after += byte_size(type.tensor.dtype, element_count(*as_constants(type.tensor.dims())));
    }
    return may_grow_to(node, after);
  }

  bool may_grow_to(const ir::Node& node, int64_t bytes) const {
    if (bytes <= kSmallBytes) return true;
    int64_t before = 0;
    for (const ir::ValueId input : node.inputs) {
      if (input != ir::kNone) before += size_of(*graph_.constant_tensor(input));
    }
    return bytes <= before * ctx_.route.get(kGrowth);
  }

  void replace(ir::NodeId id, const std::vector<Value>& results) {
    const ir::Node& node = graph_.node(id);
    ir::Constant made;
    for (const ir::ValueId input : node.inputs) {
      if (input != ir::kNone) made.origins = merged_sources(made.origins, graph_.value(input).constant->origins);
    }
    if (!made.origins.empty()) made.recipe = recipe_of(graph_, node);
    if (made.recipe.size() > kMaxRecipe) made.recipe = "too long to say";
    std::vector<ir::ValueId> values;
    for (const Value& result : results) {
      made.tensor = result.tensor();
      values.push_back(graph_.add_constant(made));
    }
    replace_node(graph_, id, values);
    changed_ = true;
  }

  /// Results whose contents are known become constants, or a tensor of symbols that needs no operand.
  Result<void> use_known_contents(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    if (node.outputs.size() != 1 || node.op == &ops::kDimsTensor) return {};
    const ir::ValueInfo& info = graph_.value(node.outputs[0]);
    if (!info.known || !info.type.is_tensor() || !info.type.tensor.has_rank() || info.type.tensor.rank() > 1) return {};
    const bool scalar = info.type.tensor.rank() == 0;
    if (const auto constants = as_constants(*info.known)) {
      std::vector<int64_t> dims;
      if (!scalar) dims.push_back(static_cast<int64_t>(constants->size()));
      replace_node(graph_, id, {graph_.add_constant(store_i64(info.type.tensor.dtype, dims, *constants))});
      changed_ = true;
      return {};
    }
    if (info.type.tensor.dtype != DType::I64 || !is_backed(*info.known)) return {};
    ir::Graph::NewNode made;
    made.op = &ops::kDimsTensor;
    made.attrs = ops::DimsTensorAttrs{*info.known, scalar};
    made.sources = node.sources;
    STROP_ASSIGN(const ir::ValueId value, graph_.add(std::move(made)));
    replace_node(graph_, id, {value});
    graph_.sort();
    changed_ = true;
    return {};
  }

  ir::Graph& graph_;
  const PassContext& ctx_;
  bool changed_ = false;
};

Result<bool> run(ir::Graph& graph, const PassContext& ctx) { return Folder(graph, ctx).run(); }

}  // namespace

extern const Pass kFoldConstants;
const Pass kFoldConstants = {"fold_constants", "computes what does not depend on the inputs", run, &kEnabled, kKnobs};

}  // namespace strop::passes
