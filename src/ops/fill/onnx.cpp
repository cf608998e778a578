#include <array>

#include "onnx/importer.h"
#include "ops/families.h"
#include "ops/fill/fill.h"

namespace strop::ops {
namespace {

using ir::ValueId;
using onnx::NodeContext;

Result<void> import_constant_of_shape(NodeContext& ctx) {
  FillAttrs attrs{{}, Tensor::scalar(DType::F32, 0)};
  if (ctx.has_attr("value")) {
    STROP_ASSIGN(const Tensor value, ctx.attr_tensor("value"));
    if (value.count() != 1) return ctx.invalid("the value has {} elements, not 1", value.count());
    attrs.value = value.reshaped({});
  }
  std::vector<ValueId> operands;
  onnx::EmitExtras extras;
  if (auto shape = ctx.known(0)) {
    attrs.shape = *std::move(shape);
  } else {
    operands.push_back(ctx.input(0));
    extras.late.push_back({"shape", 0});
  }
  STROP_ASSIGN(const ValueId output, ctx.emit(kFill, std::move(attrs), std::move(operands), std::move(extras)));
  return ctx.set_output(0, output);
}

Result<void> import_range(NodeContext& ctx) {
  STROP_ASSIGN(const ValueId output, ctx.emit(kRange, NoAttrs{}, {ctx.input(0), ctx.input(1), ctx.input(2)}));
  return ctx.set_output(0, output);
}

Result<void> import_eye_like(NodeContext& ctx) {
  STROP_ASSIGN(const TensorType input, ctx.tensor(0));
  STROP_ASSIGN(const DType dtype, ctx.attr_dtype("dtype", input.dtype));
  STROP_ASSIGN(const int64_t k, ctx.attr_int("k", 0));
  STROP_ASSIGN(const ValueId output, ctx.emit(kEyeLike, EyeLikeAttrs{dtype, k}, {ctx.input(0)}));
  return ctx.set_output(0, output);
}

Result<void> import_one_hot(NodeContext& ctx) {
  STROP_ASSIGN(const int64_t axis, ctx.attr_int("axis", -1));
  OneHotAttrs attrs{axis, {}};
  std::vector<ValueId> operands = {ctx.input(0), ctx.input(2)};
  onnx::EmitExtras extras;
  const Tensor* constant = ctx.constant(1);
  if (const auto depth = ctx.known(1); depth && depth->size() == 1) {
    attrs.depth = depth->front();
  } else if (constant != nullptr && constant->count() == 1) {
    attrs.depth = Dim(static_cast<int64_t>(load_f64(*constant)[0]));
  } else {
    operands.push_back(ctx.input(1));
    extras.late.push_back({"depth", 2});
  }
  STROP_ASSIGN(const ValueId output, ctx.emit(kOneHot, std::move(attrs), std::move(operands), std::move(extras)));
  return ctx.set_output(0, output);
}

// Numbers of a Constant's attribute as a tensor of the attribute's dtype.
template <class T>
Tensor number_tensor(DType dtype, const std::vector<T>& values, bool scalar) {
  std::vector<int64_t> dims;
  if (!scalar) dims.push_back(static_cast<int64_t>(values.size()));
  if constexpr (std::is_integral_v<T>)
    return store_i64(dtype, std::move(dims), values);
  else
    return store_f64(dtype, std::move(dims), values);
}

Result<Tensor> constant_tensor(NodeContext& ctx) {
  for (const std::string_view name : {"value", "sparse_value"}) {
    if (ctx.has_attr(name)) return ctx.attr_tensor(name);
  }
  if (ctx.has_attr("value_float")) {
    STROP_ASSIGN(const double value, ctx.attr_float("value_float"));
    return number_tensor<double>(DType::F32, {value}, true);
  }
  if (ctx.has_attr("value_floats")) {
    STROP_ASSIGN(const auto values, ctx.attr_floats("value_floats"));
    return number_tensor(DType::F32, values, false);
  }
  if (ctx.has_attr("value_int")) {
    STROP_ASSIGN(const int64_t value, ctx.attr_int("value_int"));
    return number_tensor<int64_t>(DType::I64, {value}, true);
  }
  if (ctx.has_attr("value_ints")) {
    STROP_ASSIGN(const auto values, ctx.attr_ints("value_ints"));
    return number_tensor(DType::I64, values, false);
  }
  if (ctx.has_attr("value_string")) {
    STROP_ASSIGN(auto value, ctx.attr_string("value_string"));
    return Tensor::of_strings({}, {std::move(value)});
  }
  if (ctx.has_attr("value_strings")) {
    STROP_ASSIGN(auto values, ctx.attr_strings("value_strings"));
    const auto count = static_cast<int64_t>(values.size());
    return Tensor::of_strings({count}, std::move(values));
  }
  return ctx.invalid("none of value, sparse_value, value_float(s), value_int(s) and value_string(s) is given");
}

Result<void> import_constant(NodeContext& ctx) {
  STROP_ASSIGN(Tensor tensor, constant_tensor(ctx));
  return ctx.set_output(0, ctx.constant_value(std::move(tensor)));
}

}  // namespace

std::span<const onnx::Importer> fill_importers() {
  static constexpr std::array kImporters = {
      onnx::Importer{"ConstantOfShape", import_constant_of_shape, 9},
      onnx::Importer{"Constant", import_constant},
      onnx::Importer{"Range", import_range, 11},
      onnx::Importer{"EyeLike", import_eye_like, 9},
      onnx::Importer{"OneHot", import_one_hot, 9},
  };
  return kImporters;
}

}  // namespace strop::ops
