// Reads the text that Dim::to_string writes: sums of products of integers, symbols and calls.
#include <cctype>
#include <charconv>

#include "tensor/dim.h"

namespace strop {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Dim> parse() {
    STROP_ASSIGN(Dim result, sum());
    skip_spaces();
    if (at_ != text_.size()) return fail("unexpected text");
    return result;
  }

 private:
  Error fail(std::string_view what) const {
    return error(ErrorCode::InvalidArgument, "dimension '{}': {} at position {}", text_, what, at_);
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool accept(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Result<Dim> sum() {
    if (++depth_ > 64) return fail("nested too deeply");
    Dim total(0);
    bool negative = accept('-');
    while (true) {
      STROP_ASSIGN(Dim term, term_product());
      total = negative ? total - term : total + term;
      if (accept('+')) {
        negative = false;
      } else if (accept('-')) {
        negative = true;
      } else {
        --depth_;
        return total;
      }
    }
  }

  Result<Dim> term_product() {
    STROP_ASSIGN(Dim value, factor());
    while (accept('*')) {
      STROP_ASSIGN(Dim next, factor());
      value = value * next;
    }
    return value;
  }

  Result<Dim> factor() {
    skip_spaces();
    if (at_ >= text_.size()) return fail("missing operand");
    if (accept('(')) {
      STROP_ASSIGN(Dim inner, sum());
      if (!accept(')')) return fail("missing ')'");
      return inner;
    }
    if (std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      int64_t value = 0;
      const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (code != std::errc()) return fail("number out of range");
      at_ = static_cast<size_t>(end - text_.data());
      return Dim(value);
    }
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                  std::string_view("_.:/?").find(text_[at_]) != std::string_view::npos))
      ++at_;
    if (at_ == begin) return fail("unexpected character");
    const std::string name(text_.substr(begin, at_ - begin));
    if (!accept('(')) return Dim::symbol(name);
    return call(name);
  }

  Result<Dim> call(const std::string& name) {
    STROP_ASSIGN(Dim a, sum());
    if (!accept(',')) return fail("missing ','");
    STROP_ASSIGN(Dim b, sum());
    if (!accept(')')) return fail("missing ')'");
    if (name == "floordiv") return floor_div(a, b);
    if (name == "mod") return mod(a, b);
    if (name == "min") return min(a, b);
    if (name == "max") return max(a, b);
    return fail("unknown function '" + name + "'");
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Dim> Dim::parse(std::string_view text) { return Parser(text).parse(); }

}  // namespace strop
