#include "tensor/type.h"

#include <charconv>
#include <vector>

namespace strop {

Type Type::sequence(Type element) {
  Type type;
  type.kind = TypeKind::Sequence;
  type.element = std::make_shared<const Type>(std::move(element));
  return type;
}

Type Type::optional(Type element) {
  Type type;
  type.kind = TypeKind::Optional;
  type.element = std::make_shared<const Type>(std::move(element));
  return type;
}

bool operator==(const Type& a, const Type& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case TypeKind::None: return true;
    case TypeKind::Tensor: return a.tensor == b.tensor;
    case TypeKind::Sequence:
    case TypeKind::Optional: return *a.element == *b.element;
  }
  return false;
}

std::string to_string(const TensorType& type) {
  std::string text(to_string(type.dtype));
  text += type.shape ? to_string(*type.shape) : "[*]";
  if (type.layout.blocked_axis >= 0) text += fmt::format("/{}c{}", type.layout.blocked_axis, type.layout.block);
  return text;
}

std::string to_string(const Type& type) {
  switch (type.kind) {
    case TypeKind::None: return "none";
    case TypeKind::Tensor: return to_string(type.tensor);
    case TypeKind::Sequence: return "seq(" + to_string(*type.element) + ")";
    case TypeKind::Optional: return "optional(" + to_string(*type.element) + ")";
  }
  return "none";
}

namespace {

Error bad_type(std::string_view text) { return error(ErrorCode::InvalidArgument, "'{}' is not a type", text); }

Result<Layout> parse_layout(std::string_view text) {
  Layout layout;
  const char* end = text.data() + text.size();
  const auto axis = std::from_chars(text.data(), end, layout.blocked_axis);
  if (axis.ec != std::errc() || axis.ptr == end || *axis.ptr != 'c') return bad_type(text);
  const auto block = std::from_chars(axis.ptr + 1, end, layout.block);
  if (block.ec != std::errc() || block.ptr != end) return bad_type(text);
  if (layout.blocked_axis < 0 || layout.block < 1) return bad_type(text);
  return layout;
}

Result<Type> parse_tensor(std::string_view text) {
  const size_t open = text.find('[');
  const size_t close = text.rfind(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return bad_type(text);
  const auto dtype = parse_dtype(text.substr(0, open));
  if (!dtype) return bad_type(text);
  TensorType type{*dtype, std::nullopt, {}};
  if (close + 1 < text.size()) {
    if (text[close + 1] != '/') return bad_type(text);
    STROP_ASSIGN(type.layout, parse_layout(text.substr(close + 2)));
  }
  const std::string_view inside = text.substr(open + 1, close - open - 1);
  if (inside == "*") return Type(type);
  type.shape = Dims{};
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= inside.size(); ++i) {
    if (i < inside.size() && inside[i] == '(') ++depth;
    if (i < inside.size() && inside[i] == ')') --depth;
    const bool end = i == inside.size() || (inside[i] == ',' && depth == 0);
    if (!end) continue;
    if (i == inside.size() && inside.empty()) break;
    STROP_ASSIGN(Dim dim, Dim::parse(inside.substr(begin, i - begin)));
    type.shape->push_back(std::move(dim));
    begin = i + 1;
  }
  return Type(type);
}

Result<Type> parse_nested(std::string_view text, int depth) {
  if (depth > 16) return error(ErrorCode::InvalidArgument, "a type is nested more than 16 levels deep");
  if (text == "none") return Type();
  for (const std::string_view prefix : {std::string_view("seq("), std::string_view("optional(")}) {
    if (!text.starts_with(prefix) || !text.ends_with(")")) continue;
    const std::string_view inside = text.substr(prefix.size(), text.size() - prefix.size() - 1);
    STROP_ASSIGN(Type element, parse_nested(inside, depth + 1));
    return prefix == "seq(" ? Type::sequence(std::move(element)) : Type::optional(std::move(element));
  }
  return parse_tensor(text);
}

}  // namespace

Result<Type> parse_type(std::string_view text) { return parse_nested(text, 0); }

}  // namespace strop
