#include "ir/text_cursor.h"

#include <algorithm>
#include <cctype>

#include "ops/field_text.h"

namespace strop::ir {

void TextCursor::skip_blank() {
  while (position_ < text_.size()) {
    if (text_[position_] == '#') {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else if (std::isspace(static_cast<unsigned char>(text_[position_]))) {
      ++position_;
    } else {
      return;
    }
  }
}

bool TextCursor::take(std::string_view token) {
  skip_blank();
  if (!text_.substr(position_).starts_with(token)) return false;
  position_ += token.size();
  return true;
}

Result<void> TextCursor::expect(std::string_view token) {
  if (take(token)) return {};
  return fail(fmt::format("expected '{}'", token));
}

std::string_view TextCursor::word() {
  skip_blank();
  const size_t begin = position_;
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/';
  };
  while (position_ < text_.size() && in_word(text_[position_])) ++position_;
  return text_.substr(begin, position_ - begin);
}

Result<std::string> TextCursor::name() {
  if (peek() == '"') return quoted();
  const std::string_view plain = word();
  if (plain.empty()) return fail("expected a name");
  return std::string(plain);
}

Result<std::string> TextCursor::quoted() {
  if (peek() != '"') return fail("expected a quoted string");
  const size_t begin = position_++;
  while (position_ < text_.size() && text_[position_] != '"') position_ += text_[position_] == '\\' ? 2 : 1;
  if (position_ >= text_.size()) return fail("the quoted string has no end");
  ++position_;
  auto text = ops::unquote(text_.substr(begin, position_ - begin));
  if (!text.ok()) return fail(text.error().message);
  return text;
}

std::string_view TextCursor::until(std::string_view stops, bool line) {
  skip_blank();
  const size_t begin = position_;
  int depth = 0;
  for (; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    if (depth == 0 && (stops.find(c) != std::string_view::npos || (line && c == '\n'))) break;
    if (c == '"') {
      for (++position_; position_ < text_.size() && text_[position_] != '"'; ++position_) {
        if (text_[position_] == '\\') ++position_;
      }
      if (position_ >= text_.size()) break;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
  }
  position_ = std::min(position_, text_.size());
  return ops::trim(text_.substr(begin, position_ - begin));
}

Error TextCursor::fail(const std::string& message) const {
  const auto end = text_.begin() + static_cast<std::ptrdiff_t>(std::min(position_, text_.size()));
  return error(ErrorCode::InvalidArgument, "line {}: {}", 1 + std::count(text_.begin(), end, '\n'), message);
}

}  // namespace strop::ir
