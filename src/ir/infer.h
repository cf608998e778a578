/// Inference of one node in its graph: what the operator is told, and what becomes of the answer.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace strop::ir {

/// Integer constants of rank 0 or 1 with at most this many elements are known contents.
inline constexpr int64_t kMaxKnownElements = 64;

/// The contents of a small i32 or i64 tensor of rank 0 or 1; nullopt for others.
std::optional<Dims> known_contents(const Tensor& tensor);

/// Attributes in which every late field is filled in whose operand is constant or has known contents, and the fields
/// that stay late. Error: a constant of the wrong kind.
struct ResolvedLate {
  ops::Attrs attrs;
  std::vector<ops::LateField> late;
};
Result<ResolvedLate> resolve_late(const Graph& graph, const Node& node);

struct Inferred {
  std::vector<Type> outputs;
  std::vector<std::optional<Dims>> known;
};

/// Runs the operator's inference for the node's operands. Regions of the node are inferred in place. The error is the
/// operator's, without the node's name; one inside a region names the node inside.
Result<Inferred> infer_node(const Graph& graph, const Node& node);

/// Makes `info` as specific as both are. Requires compatible types.
void refine(ValueInfo& info, const ValueInfo& with);

}  // namespace strop::ir
