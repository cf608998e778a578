/// What regions take from outside: constants move in, values that no region uses and second copies are not passed at
/// all.
#include <algorithm>
#include <optional>

#include "ops/control/control.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace strop::passes {

namespace {

constexpr Knob<bool> kEnabled{
    {.name = "passes.tidy_captures", .help = "move constants into regions and drop captures that are not used"}};

/// Parameters of the node's regions before the captures, where this pass knows the operator. The captures are the
/// node's last operands.
std::optional<size_t> own_parameters(const ir::Node& node) {
  if (node.op == &ops::kLoop) return 2 + static_cast<size_t>(node.attrs.as<ops::LoopAttrs>().carried);
  if (node.op == &ops::kScan) {
    const auto& attrs = node.attrs.as<ops::ScanAttrs>();
    return static_cast<size_t>(attrs.states + attrs.scanned);
  }
  if (node.op == &ops::kIf) return 0;
  return std::nullopt;
}

bool is_used(const ir::Graph& region, ir::ValueId value) { return UseCounts(region)[value] > 0; }

class Tidier {
 public:
  explicit Tidier(ir::Graph& graph) : graph_(graph) {}

  bool run() {
    for (const ir::NodeId id : graph_.order()) {
      if (graph_.node(id).op->has_regions) tidy(graph_.node(id));
    }
    return changed_;
  }

 private:
  void tidy(ir::Node& node) {
    const std::optional<size_t> known = own_parameters(node);
    if (!known) return;
    const size_t own = *known;
    const size_t captures = node.regions[0]->inputs.size() - own;
    const size_t first_operand = node.inputs.size() - captures;
    for (size_t i = captures; i-- > 0;) {
      if (!resolve(node, own + i, first_operand + i, first_operand)) continue;
      for (const auto& region : node.regions) {
        region->inputs.erase(region->inputs.begin() + static_cast<std::ptrdiff_t>(own + i));
      }
      node.inputs.erase(node.inputs.begin() + static_cast<std::ptrdiff_t>(first_operand + i));
      changed_ = true;
    }
  }

  /// True if no region needs the parameter any more.
  bool resolve(const ir::Node& node, size_t parameter, size_t operand, size_t first_operand) const {
    const ir::ValueId value = node.inputs[operand];
    if (graph_.is_constant(value)) {
      for (const auto& region : node.regions) {
        const ir::ValueId inside = region->inputs[parameter].value;
        if (is_used(*region, inside)) {
          region->replace_uses(inside, region->add_constant(*graph_.value(value).constant, graph_.value(value).name));
        }
      }
      return true;
    }
    const auto begin = node.inputs.begin() + static_cast<std::ptrdiff_t>(first_operand);
    const auto end = node.inputs.begin() + static_cast<std::ptrdiff_t>(operand);
    const auto earlier = std::find(begin, end, value);
    if (earlier != end) {
      const size_t same = parameter - static_cast<size_t>(end - earlier);
      for (const auto& region : node.regions) {
        region->replace_uses(region->inputs[parameter].value, region->inputs[same].value);
      }
      return true;
    }
    return std::none_of(node.regions.begin(), node.regions.end(),
                        [&](const auto& region) { return is_used(*region, region->inputs[parameter].value); });
  }

  ir::Graph& graph_;
  bool changed_ = false;
};

Result<bool> run(ir::Graph& graph, const PassContext&) { return Tidier(graph).run(); }

}  // namespace

extern const Pass kTidyCaptures;
const Pass kTidyCaptures = {"tidy_captures", "moves constants into regions, drops captures that are not used", run,
                            &kEnabled};

}  // namespace strop::passes
