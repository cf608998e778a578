/// Lowering of one graph into one block: the state that the stages of lower.cpp and storage.cpp share.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/lower.h"

namespace strop::compiler {

/// The plan under construction, with what is needed to share weights between steps and blocks.
struct PlanBuilder {
  const LowerContext& ctx;
  Lowered result;
  std::map<const ir::Constant*, int32_t> weight_of;                       ///< unpacked constants
  std::map<std::pair<const ir::Constant*, std::string>, int32_t> packed;  ///< by constant and "tactic recipe"

  std::vector<std::function<void()>> packing = {};  ///< what is left to do: fills weights
  int64_t packing_bytes = 0;                        ///< that it will fill

  /// The weight that holds the constant as it is.
  int32_t weight(const ir::Constant& constant, const std::string& name);
};

/// What lowering knows about one step beyond the plan.
struct StepInfo {
  const tactics::Tactic* tactic = nullptr;
  ir::NodeId node = ir::kNone;
};

class BlockLowering {
 public:
  /// `owner`: the control-flow node whose region this is; null for the model's graph.
  BlockLowering(PlanBuilder& builder, const ir::Graph& graph, size_t block, const BlockLowering* outer,
                const ir::Node* owner);
  Result<void> run();

  bool is_bound(const Dim& dim) const;
  int32_t symbol(const std::string& name) const;  ///< index in the block's shape program, kNone if not used

 private:
  plan::Block& block();
  const plan::Block& block() const;

  // lower.cpp: types, steps, tactics, weights
  void bind_symbols();
  void inherit_symbols();
  void lower_value_types();
  plan::TypeDesc lower_type(const Type& type);
  bool is_planned(const Type& type) const;  ///< its size is known before the run
  Result<void> lower_node(ir::NodeId id);
  Result<bool> lower_view(ir::NodeId id);  ///< true: no step needed
  Result<void> lower_regions(ir::NodeId id, plan::Step& step);
  int32_t lower_attrs(const ops::Attrs& attrs);
  Result<void> choose_tactic(const ir::Node& node, const tactics::Problem& problem, plan::Step& step, StepInfo& info);
  Result<void> pack_weights(const ir::Node& node, const tactics::Problem& problem, const select::Choice& choice,
                            plan::Variant& variant);
  int32_t operand(ir::ValueId id, bool packed);

  // storage.cpp: where values live
  void place_outputs();
  void place_concats();
  bool place_concat(size_t step);
  void place_in_place();
  bool can_join_concat(int32_t value, size_t step) const;
  int32_t root(int32_t value) const;
  std::vector<int32_t> last_uses() const;  ///< per root: the last step that touches it, steps.size() if an output

  PlanBuilder& builder_;
  const ir::Graph& graph_;
  size_t index_;
  const BlockLowering* outer_;
  const ir::Node* owner_;
  std::set<std::string> bound_;
  std::vector<StepInfo> infos_;      // parallel to the block's steps
  std::vector<bool> used_unpacked_;  // per constant value: some step reads it as it is
};

}  // namespace strop::compiler
