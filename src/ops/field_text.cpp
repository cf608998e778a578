#include "ops/field_text.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "ops/attrs.h"

namespace strop::ops {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

std::string hex(const void* data, int64_t bytes) {
  std::string text;
  text.reserve(static_cast<size_t>(bytes) * 2);
  for (int64_t i = 0; i < bytes; ++i) {
    const auto byte = static_cast<const uint8_t*>(data)[i];
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15];
  }
  return text;
}

std::string tensor_text(const Tensor& tensor) {
  if (!tensor.defined()) return "none";
  const std::string type = to_string(tensor.type());
  if (tensor.dtype() != DType::String) return fmt::format("{}#{}", type, hex(tensor.raw(), tensor.bytes()));
  std::string text;
  for (const std::string& item : tensor.strings()) text += (text.empty() ? "" : ", ") + quote(item);
  return fmt::format("{}[{}]", type, text);
}

Error bad(std::string_view what, std::string_view text) {
  return error(ErrorCode::InvalidArgument, "expected {}, found '{}'", what, text);
}

Result<std::vector<std::string_view>> list_items(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return bad("a list in brackets", text);
  return split_top_level(text.substr(1, text.size() - 2), ',');
}

template <class T>
Result<T> parse_as(std::string_view text);

template <>
Result<bool> parse_as(std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  return bad("true or false", text);
}
template <>
Result<int64_t> parse_as(std::string_view text) {
  const auto value = parse_integer(text);
  if (!value) return bad("an integer", text);
  return *value;
}
template <>
Result<double> parse_as(std::string_view text) {
  const auto value = parse_number(text);
  if (!value) return bad("a number", text);
  return *value;
}
template <>
Result<std::string> parse_as(std::string_view text) {
  return unquote(text);
}
template <>
Result<Dim> parse_as(std::string_view text) {
  return Dim::parse(text);
}
template <>
Result<DType> parse_as(std::string_view text) {
  const auto dtype = parse_dtype(text);
  if (!dtype && text != "undefined") return bad("an element type", text);
  return dtype.value_or(DType::Undefined);
}
template <>
Result<Type> parse_as(std::string_view text) {
  return parse_type(text);
}
template <>
Result<ScalarProgram> parse_as(std::string_view text) {
  return parse_scalar_program(text);
}

template <class T>
Result<std::vector<T>> parse_list(std::string_view text) {
  STROP_ASSIGN(const auto items, list_items(text));
  std::vector<T> values;
  for (const std::string_view item : items) {
    STROP_ASSIGN(T value, parse_as<T>(item));
    values.push_back(std::move(value));
  }
  return values;
}
template <>
Result<std::vector<int64_t>> parse_as(std::string_view text) {
  return parse_list<int64_t>(text);
}
template <>
Result<std::vector<double>> parse_as(std::string_view text) {
  return parse_list<double>(text);
}
template <>
Result<std::vector<std::string>> parse_as(std::string_view text) {
  return parse_list<std::string>(text);
}
template <>
Result<Dims> parse_as(std::string_view text) {
  return parse_list<Dim>(text);
}

int hex_digit(char c) {
  const size_t digit = kHexDigits.find(c);
  return digit == std::string_view::npos ? -1 : static_cast<int>(digit);
}

template <>
Result<Tensor> parse_as(std::string_view text) {
  if (text == "none") return Tensor();
  const size_t end = text.find(']');
  if (end == std::string_view::npos) return bad("a tensor", text);
  STROP_ASSIGN(const Type type, parse_type(text.substr(0, end + 1)));
  if (!type.is_tensor() || !type.tensor.is_static()) return bad("a tensor with constant dimensions", text);
  const std::vector<int64_t> dims = *as_constants(type.tensor.dims());
  const std::string_view body = text.substr(end + 1);
  if (type.tensor.dtype == DType::String) {
    STROP_ASSIGN(auto strings, parse_list<std::string>(body));
    if (static_cast<int64_t>(strings.size()) != element_count(dims)) return bad("as many strings as elements", text);
    return Tensor::of_strings(dims, std::move(strings));
  }
  const int64_t bytes = byte_size(type.tensor.dtype, element_count(dims));
  if (body.empty() || body[0] != '#' || static_cast<int64_t>(body.size()) != 1 + 2 * bytes) {
    return bad(fmt::format("{} bytes in hexadecimal after '#'", bytes), body);
  }
  Tensor tensor(type.tensor.dtype, dims);
  for (int64_t i = 0; i < bytes; ++i) {
    const int high = hex_digit(body[static_cast<size_t>(1 + 2 * i)]);
    const int low = hex_digit(body[static_cast<size_t>(2 + 2 * i)]);
    if (high < 0 || low < 0) return bad("hexadecimal digits", body);
    static_cast<uint8_t*>(tensor.mutable_raw())[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return tensor;
}

template <class T, class Print>
std::string list_text(const std::vector<T>& values, Print&& print) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ", ") + print(value);
  return "[" + text + "]";
}

struct Printer {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return number_text(value); }
  std::string operator()(const std::string& value) const { return quote(value); }
  std::string operator()(DType value) const { return std::string(to_string(value)); }
  std::string operator()(const Dim& value) const { return value.to_string(); }
  std::string operator()(const Tensor& value) const { return tensor_text(value); }
  std::string operator()(const ScalarProgram& value) const { return to_string(value); }
  std::string operator()(const Type& value) const { return to_string(value); }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    return list_text(values, *this);
  }
};

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::vector<std::string_view> split_top_level(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  if (trim(text).empty()) return parts;
  int depth = 0;
  bool quoted = false;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c == separator && depth == 0) {
      parts.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  parts.push_back(trim(text.substr(begin)));
  return parts;
}

std::string quote(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result + "\"";
}

Result<std::string> unquote(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return bad("a string in double quotes", text);
  const std::string_view body = text.substr(1, text.size() - 2);
  std::string result;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] == '"') return bad("a string without unescaped quotes inside", text);
    if (body[i] != '\\') {
      result += body[i];
      continue;
    }
    if (++i == body.size()) return bad("a character after the backslash", text);
    if (body[i] != 'x') {
      result += body[i];
      continue;
    }
    const int high = i + 1 < body.size() ? hex_digit(body[i + 1]) : -1;
    const int low = i + 2 < body.size() ? hex_digit(body[i + 2]) : -1;
    if (high < 0 || low < 0) return bad("two hexadecimal digits after \\x", text);
    result += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return result;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  return fmt::format("{}", value);
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_integer(std::string_view text) {
  int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string to_string(const FieldValue& value) { return std::visit(Printer(), value); }

Result<FieldValue> parse_field(std::string_view text, const FieldValue& prototype) {
  return std::visit(
      [&](const auto& like) -> Result<FieldValue> {
        auto value = parse_as<std::decay_t<decltype(like)>>(trim(text));
        if (!value.ok()) return value.error();
        return FieldValue(*std::move(value));
      },
      prototype);
}

}  // namespace strop::ops
