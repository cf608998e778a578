/// The type of a value: a tensor (element type, shape, layout), a sequence or an optional of such.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tensor/dim.h"
#include "tensor/dtype.h"

namespace strop {

/// How a tensor's elements lie in memory. Plain is row-major over the shape as written. Blocked layouts split one
/// dimension into blocks that become the innermost dimension (for example NCHW8c: axis 1, block 8), padded with zeros.
struct Layout {
  int32_t blocked_axis = -1;  ///< -1: plain row-major
  int32_t block = 1;
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// Dimensions of a tensor, or unknown rank.
using Shape = std::optional<Dims>;

struct TensorType {
  DType dtype = DType::Undefined;
  Shape shape;  ///< nullopt: rank unknown until the data are
  Layout layout;

  bool has_rank() const { return shape.has_value(); }
  int64_t rank() const { return static_cast<int64_t>(shape->size()); }
  const Dims& dims() const { return *shape; }
  const Dim& dim(int64_t axis) const { return (*shape)[static_cast<size_t>(axis)]; }
  /// Product of the dimensions; requires a rank.
  Dim count() const { return product(*shape); }
  bool is_static() const { return shape && as_constants(*shape).has_value(); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

enum class TypeKind : uint8_t { None, Tensor, Sequence, Optional };

/// None stands for an absent optional operand.
struct Type {
  TypeKind kind = TypeKind::None;
  TensorType tensor;                    ///< Tensor only
  std::shared_ptr<const Type> element;  ///< Sequence and Optional only

  Type() = default;
  Type(TensorType type) : kind(TypeKind::Tensor), tensor(std::move(type)) {}  // NOLINT(google-explicit-constructor)
  Type(DType dtype, Dims dims) : Type(TensorType{dtype, std::move(dims), {}}) {}
  static Type sequence(Type element);
  static Type optional(Type element);
  /// A tensor whose rank is not known.
  static Type unranked(DType dtype) { return TensorType{dtype, std::nullopt, {}}; }

  bool is_none() const { return kind == TypeKind::None; }
  bool is_tensor() const { return kind == TypeKind::Tensor; }
  friend bool operator==(const Type& a, const Type& b);
};

/// "f32[1, 3, h, w]", "i64[*]" (rank unknown), "seq(f32[*])", "optional(…)", "none".
std::string to_string(const TensorType& type);
std::string to_string(const Type& type);
/// The inverse of to_string.
Result<Type> parse_type(std::string_view text);

}  // namespace strop
