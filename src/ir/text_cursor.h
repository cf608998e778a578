/// A position in the text form, with the small steps that its parser is made of.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace strop::ir {

class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  bool at_end() { return skip_blank(), position_ == text_.size(); }
  /// The next character after blanks and comments, 0 at the end.
  char peek() { return skip_blank(), position_ < text_.size() ? text_[position_] : '\0'; }
  /// Takes `token` if it comes next.
  bool take(std::string_view token);
  Result<void> expect(std::string_view token);
  /// Takes a word (letters, digits, '_', '.', '/'); empty if none comes next.
  std::string_view word();
  /// A word, or a quoted string.
  Result<std::string> name();
  /// A quoted string.
  Result<std::string> quoted();
  /// Takes everything up to one of `stops` that is outside brackets and quotes, or to the end of the line if `line`.
  std::string_view until(std::string_view stops, bool line = false);
  /// "line 3: message"
  Error fail(const std::string& message) const;

 private:
  void skip_blank();

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace strop::ir
