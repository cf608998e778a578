#include "ops/families.h"

namespace strop::ops {

// DepthToSpace and SpaceToDepth are Reshape, Transpose, Reshape.
std::span<const Operator* const> space_depth_operators() { return {}; }

}  // namespace strop::ops
