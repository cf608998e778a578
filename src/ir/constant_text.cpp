#include "ir/constant_text.h"

#include <array>
#include <charconv>

#include "base/hash.h"
#include "ops/field_text.h"

namespace strop::ir {

namespace {

template <class T>
std::string shortest(T value) {
  std::array<char, 40> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return std::string(buffer.data(), end);
}

/// The parts of complex numbers as plain real ones.
Tensor real_view(const Tensor& tensor) {
  const DType part = tensor.dtype() == DType::C64 ? DType::F32 : DType::F64;
  return Tensor::view(part, {tensor.count() * 2}, tensor.raw(), tensor.owner());
}

std::vector<std::string> element_texts(const Tensor& tensor) {
  std::vector<std::string> texts;
  const DType dtype = tensor.dtype();
  if (dtype == DType::String) {
    for (const std::string& text : tensor.strings()) texts.push_back(ops::quote(text));
  } else if (is_complex(dtype)) {
    return element_texts(real_view(tensor));
  } else if (is_float(dtype)) {
    for (const double value : load_f64(tensor)) {
      texts.push_back(dtype == DType::F64 ? shortest(value) : shortest(static_cast<float>(value)));
    }
  } else {
    for (const int64_t value : load_i64(tensor)) {
      if (dtype == DType::Bool) {
        texts.emplace_back(value ? "true" : "false");
      } else {
        texts.push_back(dtype == DType::U64 ? shortest(static_cast<uint64_t>(value)) : shortest(value));
      }
    }
  }
  return texts;
}

template <class T>
std::optional<T> parse_exactly(std::string_view text) {
  T value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_real(DType dtype, std::string_view text) {
  if (dtype == DType::F64) return parse_exactly<double>(text);
  const auto value = parse_exactly<float>(text);
  return value ? std::optional<double>(*value) : std::nullopt;
}

std::optional<int64_t> parse_whole(DType dtype, std::string_view text) {
  if (dtype == DType::Bool) {
    if (text != "true" && text != "false") return std::nullopt;
    return text == "true" ? 1 : 0;
  }
  if (dtype != DType::U64) return parse_exactly<int64_t>(text);
  const auto value = parse_exactly<uint64_t>(text);
  return value ? std::optional(static_cast<int64_t>(*value)) : std::nullopt;
}

Error bad_element(std::string_view text, DType dtype) {
  return error(ErrorCode::InvalidArgument, "'{}' is not an element of {}", text, to_string(dtype));
}

Result<Tensor> parse_reals(DType dtype, std::vector<int64_t> dims, const std::vector<std::string_view>& parts) {
  std::vector<double> values;
  for (const std::string_view part : parts) {
    const auto value = parse_real(dtype, part);
    if (!value) return bad_element(part, dtype);
    values.push_back(*value);
  }
  return store_f64(dtype, std::move(dims), values);
}

}  // namespace

std::string elements_text(const Tensor& tensor) {
  std::string text = "{";
  for (const std::string& element : element_texts(tensor)) text += (text.size() > 1 ? ", " : "") + element;
  return text + "}";
}

Result<Tensor> parse_elements(const TensorType& type, std::string_view text) {
  const auto parts = ops::split_top_level(text, ',');
  const auto dims = as_constants(type.dims());
  const DType dtype = type.dtype;
  const int64_t expected = element_count(*dims) * (is_complex(dtype) ? 2 : 1);
  if (static_cast<int64_t>(parts.size()) != expected) {
    return error(ErrorCode::InvalidArgument, "{} has {} elements, but {} are given", to_string(type), expected,
                 parts.size());
  }
  if (dtype == DType::String) {
    std::vector<std::string> strings;
    for (const std::string_view part : parts) {
      STROP_ASSIGN(std::string one, ops::unquote(part));
      strings.push_back(std::move(one));
    }
    return Tensor::of_strings(*dims, std::move(strings));
  }
  if (is_complex(dtype)) {
    STROP_ASSIGN(const Tensor reals, parse_reals(dtype == DType::C64 ? DType::F32 : DType::F64, {expected}, parts));
    return Tensor::view(dtype, *dims, reals.raw(), reals.owner());
  }
  if (is_float(dtype)) return parse_reals(dtype, *dims, parts);
  std::vector<int64_t> values;
  for (const std::string_view part : parts) {
    const auto value = parse_whole(dtype, part);
    if (!value) return bad_element(part, dtype);
    values.push_back(*value);
  }
  return store_i64(dtype, *dims, values);
}

std::string constant_digest(const Tensor& tensor) {
  Sha256 hash;
  hash.update(to_string(tensor.type()));
  if (tensor.dtype() == DType::String) {
    for (const std::string& text : tensor.strings()) hash.update(ops::quote(text));
  } else {
    hash.update({tensor.data<std::byte>(), static_cast<size_t>(tensor.bytes())});
  }
  return "sha256:" + hash.finish().hex().substr(0, 32);
}

}  // namespace strop::ir
