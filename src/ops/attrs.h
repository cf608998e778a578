/// Operator attributes: a plain struct with a `fields` tuple. Printing, parsing, hashing, comparing and serialising are
/// derived from it, through generic named fields.
///
///   struct SoftmaxAttrs {
///     int64_t axis = -1;
///     static constexpr auto fields = std::make_tuple(ops::field("axis", &SoftmaxAttrs::axis));
///   };
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "ops/scalar_program.h"
#include "tensor/dim.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

namespace strop::ops {

/// What a field can be. Enumerations travel as their names (see enum_names).
using FieldValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                                std::vector<std::string>, DType, Dim, Dims, Tensor, ScalarProgram, Type>;

struct NamedField {
  std::string name;
  FieldValue value;
};

/// Text of a value, and back (the prototype says which alternative is meant). Tensors print as dtype, dims and bytes.
std::string to_string(const FieldValue& value);
Result<FieldValue> parse_field(std::string_view text, const FieldValue& prototype);
bool equal(const FieldValue& a, const FieldValue& b);

template <class S, class T>
struct Field {
  std::string_view name;
  T S::*member;
};
template <class S, class T>
constexpr Field<S, T> field(std::string_view name, T S::*member) {
  return {name, member};
}

/// Names of an enumeration's values in order: specialise beside the enum,
///   template <> inline constexpr auto kEnumNames<Mode> = std::to_array<std::string_view>({"a", "b"});
template <class E>
inline constexpr int kEnumNames = 0;

namespace detail {

template <class T>
FieldValue get_field(const T& value) {
  if constexpr (std::is_enum_v<T> && !std::is_same_v<T, DType>) {
    return std::string(kEnumNames<T>[static_cast<size_t>(value)]);
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<int64_t>(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(value);
  } else {
    return value;
  }
}

Error field_error(std::string_view name, const FieldValue& value);

template <class T>
Result<void> set_field(std::string_view name, T& target, const FieldValue& value) {
  if constexpr (std::is_enum_v<T> && !std::is_same_v<T, DType>) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      for (size_t i = 0; i < kEnumNames<T>.size(); ++i) {
        if (kEnumNames<T>[i] == *text) return target = static_cast<T>(i), Result<void>();
      }
    }
    return field_error(name, value);
  } else {
    using Stored = std::conditional_t<
        std::is_same_v<T, bool>, bool,
        std::conditional_t<std::is_integral_v<T>, int64_t, std::conditional_t<std::is_floating_point_v<T>, double, T>>>;
    const auto* stored = std::get_if<Stored>(&value);
    if (!stored) return field_error(name, value);
    target = static_cast<T>(*stored);
    return {};
  }
}

/// The derived operations of one attribute struct.
struct AttrsModel {
  std::vector<std::string_view> (*names)();
  FieldValue (*get)(const void* attrs, size_t index);
  Result<void> (*set)(void* attrs, size_t index, const FieldValue& value);
  std::shared_ptr<void> (*clone)(const void* attrs);
  std::shared_ptr<void> (*make)();
};

template <class S>
const AttrsModel* attrs_model() {
  static constexpr AttrsModel kModel = {
      [] { return std::apply([](const auto&... f) { return std::vector<std::string_view>{f.name...}; }, S::fields); },
      [](const void* attrs, size_t index) {
        FieldValue value;
        size_t i = 0;
        std::apply(
            [&](const auto&... f) {
              ((i++ == index ? void(value = get_field(static_cast<const S*>(attrs)->*f.member)) : void()), ...);
            },
            S::fields);
        return value;
      },
      [](void* attrs, size_t index, const FieldValue& value) -> Result<void> {
        Result<void> result;
        size_t i = 0;
        std::apply(
            [&](const auto&... f) {
              ((i++ == index ? void(result = set_field(f.name, static_cast<S*>(attrs)->*f.member, value)) : void()),
               ...);
            },
            S::fields);
        return result;
      },
      [](const void* attrs) -> std::shared_ptr<void> { return std::make_shared<S>(*static_cast<const S*>(attrs)); },
      []() -> std::shared_ptr<void> { return std::make_shared<S>(); },
  };
  return &kModel;
}

}  // namespace detail

struct NoAttrs {
  static constexpr auto fields = std::make_tuple();
};

/// Any operator's attributes: immutable, cheap to copy.
class Attrs {
 public:
  Attrs() : Attrs(NoAttrs{}) {}
  template <class S>
  requires requires { S::fields; }
  Attrs(S attrs)  // NOLINT(google-explicit-constructor)
      : model_(detail::attrs_model<S>()), data_(std::make_shared<S>(std::move(attrs))) {}

  template <class S>
  bool is() const {
    return model_ == detail::attrs_model<S>();
  }
  template <class S>
  const S& as() const {
    STROP_CHECK(is<S>(), "attributes of another operator");
    return *static_cast<const S*>(data_.get());
  }

  std::vector<NamedField> fields() const;
  /// A copy with one field changed; the error says which field does not exist or has another type.
  Result<Attrs> with(std::string_view name, const FieldValue& value) const;
  /// A copy in which every Dim is replaced by f(dim); for binding symbols at run time.
  Attrs map_dims(FunctionRef<Dim(const Dim&)> f) const;
  /// The symbols that its Dims use, each once.
  std::vector<std::string> symbols() const;
  /// "axis=1, keep_dims=true"; the canonical text that hashing and comparing use (tensors by content).
  std::string to_string() const;
  /// The inverse: a copy with the fields that `text` names set; the others keep their values.
  Result<Attrs> parse(std::string_view text) const;
  friend bool operator==(const Attrs& a, const Attrs& b);

 private:
  const detail::AttrsModel* model_;
  std::shared_ptr<const void> data_;
};

}  // namespace strop::ops
