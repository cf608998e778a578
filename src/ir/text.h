/// What printer and parser of the text form share. The form:
///
///   graph "name" (x: f32[batch, 3], "odd name": i64[1]) -> (y = %2) {
///     %w = constant f32[3] {1, 2, 3} origins("fc.weight") recipe("transpose(1,0)")
///     %big = constant f32[512, 512] sha256:0123…
///     %0, %1 = Split(%x, _) {axis=1} late(sizes=operand 1) from("split_3") : f32[batch, 1], f32[batch, 2]
///     %2 = If(%c, %0) : f32[batch, 1]
///         region "then" (a: f32[batch, 1]) -> (r = %a) {
///         }
///         region "else" …
///   }
///
/// A value is called by its name, quoted if that is not made of letters, digits, '_', '.' and '/' (or of digits only),
/// or by a number. `_` is an absent operand. Attributes at their defaults are left out. `#` starts a comment.
#pragma once

#include <string_view>

namespace strop::ir {

/// The name needs no quotes.
bool is_plain_name(std::string_view name);

}  // namespace strop::ir
