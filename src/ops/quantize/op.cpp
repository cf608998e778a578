#include <array>
#include <cmath>

#include "ops/families.h"
#include "ops/late.h"
#include "ops/quantize/quantize.h"
#include "tensor/convert.h"

namespace strop::ops {
namespace {

bool is_small_float(DType dtype) { return is_float(dtype) && bit_width(dtype) <= 8 && dtype != DType::F8E8M0; }
bool is_quantized(DType dtype) { return (is_integer(dtype) && bit_width(dtype) <= 32) || is_small_float(dtype); }

// What both operators ask of x, scale and zero point; `quantized` is the type of the zero point.
Result<void> check_operands(const InferContext& ctx, DType quantized, int64_t axis, int64_t block_size) {
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  STROP_ASSIGN(const TensorType scale, ctx.tensor(1));
  if (!is_quantized(quantized)) return violates("(C1) {} is no quantised type", to_string(quantized));
  if (!is_float(scale.dtype) && scale.dtype != DType::I32)
    return violates("(C1) a scale of {}", to_string(scale.dtype));
  if (block_size < 0) return violates("(C3) a block size of {}", block_size);
  if (ctx.has_input(2)) {
    STROP_ASSIGN(const TensorType zero_point, ctx.tensor(2));
    if (zero_point.dtype != quantized) {
      return violates("(C1) a zero point of {} for values of {}", to_string(zero_point.dtype), to_string(quantized));
    }
    if (zero_point.is_static() && scale.is_static() && !(zero_point.count() == scale.count())) {
      return violates("(C3) {} zero points for {} scales", zero_point.count().to_string(), scale.count().to_string());
    }
  }
  if (!x.is_static() || !scale.is_static()) return {};
  STROP_TRY(scale_layout(axis, block_size, *as_constants(x.dims()), *as_constants(scale.dims())));
  return {};
}

Result<void> infer_quantize(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<QuantizeLinearAttrs>();
  STROP_TRY(check_operands(ctx, attrs.to, attrs.axis, attrs.block_size));
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  if (!is_float(x.dtype) && x.dtype != DType::I32) return violates("(C1) {} cannot be quantised", to_string(x.dtype));
  ctx.outputs[0] = TensorType{attrs.to, x.shape, {}};
  return {};
}

Result<void> infer_dequantize(InferContext& ctx) {
  const auto& attrs = ctx.attrs.as<DequantizeLinearAttrs>();
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  STROP_TRY(check_operands(ctx, x.dtype, attrs.axis, attrs.block_size));
  if (!is_float(attrs.to)) return violates("(C1) values of {} are not dequantised", to_string(attrs.to));
  ctx.outputs[0] = TensorType{attrs.to, x.shape, {}};
  return {};
}

// Calls body(element, scale index) for every element.
void for_each_scaled(const ScaleLayout& layout, FunctionRef<void(int64_t element, int64_t scale)> body) {
  for (int64_t r = 0; r < layout.runs(); ++r) {
    const auto run = layout.run(r);
    for (int64_t i = 0; i < run.count; ++i) body(run.first + i, run.scale + i * run.scale_step);
  }
}

std::vector<double> zero_points(const EvalContext& ctx, int64_t count) {
  return ctx.has_input(2) ? load_f64(ctx.in(2)) : std::vector<double>(static_cast<size_t>(count), 0.0);
}

Result<void> evaluate_quantize(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<QuantizeLinearAttrs>();
  const Tensor& x = ctx.in(0);
  STROP_ASSIGN(const ScaleLayout layout, scale_layout(attrs.axis, attrs.block_size, x.dims(), ctx.in(1).dims()));
  const auto values = load_f64(x);
  const auto scales = load_f64(ctx.in(1));
  const auto zeros = zero_points(ctx, ctx.in(1).count());
  Tensor result(attrs.to, x.dims());
  const bool to_integer = is_integer(attrs.to);
  const IntegerRange range = to_integer ? integer_range(attrs.to) : IntegerRange{};
  for_each_scaled(layout, [&](int64_t element, int64_t scale) {
    const double zero = zeros[static_cast<size_t>(scale)];
    const double quotient = values[static_cast<size_t>(element)] / scales[static_cast<size_t>(scale)];
    const double rounded = round_to(attrs.precision, quotient);
    if (!to_integer) return store_scalar(attrs.to, result.mutable_raw(), element, rounded + zero, attrs.saturate);
    const double whole = std::isnan(rounded) ? zero : std::nearbyint(rounded) + zero;
    const double clamped = std::clamp(whole, static_cast<double>(range.min), static_cast<double>(range.max));
    store_scalar(attrs.to, result.mutable_raw(), element, clamped);
  });
  ctx.outputs[0] = std::move(result);
  return {};
}

Result<void> evaluate_dequantize(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<DequantizeLinearAttrs>();
  const Tensor& x = ctx.in(0);
  STROP_ASSIGN(const ScaleLayout layout, scale_layout(attrs.axis, attrs.block_size, x.dims(), ctx.in(1).dims()));
  auto values = load_f64(x);
  const auto scales = load_f64(ctx.in(1));
  const auto zeros = zero_points(ctx, ctx.in(1).count());
  for_each_scaled(layout, [&](int64_t element, int64_t scale) {
    double& value = values[static_cast<size_t>(element)];
    value = (value - zeros[static_cast<size_t>(scale)]) * scales[static_cast<size_t>(scale)];
  });
  ctx.outputs[0] = store_f64(attrs.to, x.dims(), values);
  return {};
}

// -- Cases --

Tensor scales_of(std::vector<int64_t> dims) {
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.0078125 * static_cast<double>(1 + i % 5) + 0.001;
  return store_f64(DType::F32, std::move(dims), values);
}

Tensor zeros_of(DType dtype, std::vector<int64_t> dims) {
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(1 + i % 7);
  return store_f64(dtype, std::move(dims), values);
}

struct CaseSpec {
  std::string name;
  std::vector<int64_t> x;
  std::vector<int64_t> scale;
  DType quantized = DType::U8;
  int64_t axis = 1;
  int64_t block_size = 0;
  bool zero_point = true;
};

const std::vector<CaseSpec>& case_specs() {
  static const std::vector<CaseSpec> kSpecs = {
      {"scalar_u8", {7, 33}, {}},
      {"scalar_i8", {1027}, {}, DType::I8, 0},
      {"scalar_i16", {5, 13}, {}, DType::I16},
      {"scalar_u16", {5, 13}, {}, DType::U16},
      {"no_zero_point_i8", {3, 50}, {}, DType::I8, 1, 0, false},
      {"axis_u8", {2, 5, 4, 9}, {5}, DType::U8, 1},
      {"first_axis_i8", {6, 19}, {6}, DType::I8, 0},
      {"last_axis_i8", {6, 35}, {35}, DType::I8, -1},
      {"last_axis_no_zero_u8", {6, 35}, {35}, DType::U8, -1, 0, false},
      {"blocked_last_i8", {3, 20}, {3, 3}, DType::I8, 1, 8},
      {"blocked_first_u8", {12, 21}, {3, 21}, DType::U8, 0, 4},
      {"scalar_i4", {5, 7}, {}, DType::I4},
      {"scalar_e4m3", {5, 7}, {}, DType::F8E4M3FN, 1, 0, false},
      {"nothing_u8", {0, 4}, {}},
  };
  return kSpecs;
}

std::vector<WorkedCase> cases_of(bool quantize) {
  std::vector<WorkedCase> cases;
  for (const CaseSpec& spec : case_specs()) {
    WorkedCase c;
    c.name = spec.name;
    if (quantize) {
      c.attrs = QuantizeLinearAttrs{spec.axis, spec.block_size, spec.quantized, true, DType::F32};
    } else {
      c.attrs = DequantizeLinearAttrs{spec.axis, spec.block_size, DType::F32};
    }
    c.inputs = {Type(quantize ? DType::F32 : spec.quantized, to_dims(spec.x)), Type(DType::F32, to_dims(spec.scale))};
    c.given = {{1, scales_of(spec.scale)}};
    if (spec.zero_point) {
      c.inputs.push_back(Type(spec.quantized, to_dims(spec.scale)));
      c.given.emplace_back(2, zeros_of(spec.quantized, spec.scale));
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace

Result<ScaleLayout> scale_layout(int64_t axis, int64_t block_size, const std::vector<int64_t>& x,
                                 const std::vector<int64_t>& scale) {
  const int64_t count = element_count(x);
  if (block_size == 0 && element_count(scale) == 1) {
    ScaleLayout one;
    one.axis = one.block = std::max<int64_t>(count, 1);
    if (count == 0) one.outer = 0;
    return one;
  }
  STROP_ASSIGN(const int64_t normal, normalize_axis(axis, static_cast<int64_t>(x.size()), "(C2) axis"));
  const auto at = static_cast<size_t>(normal);
  ScaleLayout layout;
  layout.axis = x[at];
  for (size_t i = 0; i < x.size(); ++i) {
    if (i < at) layout.outer *= x[i];
    if (i > at) layout.inner *= x[i];
  }
  if (block_size == 0) {
    if (scale.size() != 1 || scale[0] != layout.axis) {
      return violates("(C3) a scale of shape {} for axis {} of {}", to_string(to_dims(scale)), normal,
                      to_string(to_dims(x)));
    }
    layout.axis_step = 1;
    // Scales along the last axis are consecutive as the elements are.
    if (layout.inner == 1) layout = {layout.outer, 1, layout.axis, 1, 0, 0, 1};
    return layout;
  }
  auto expected = x;
  expected[at] = (x[at] + block_size - 1) / block_size;
  if (scale != expected) {
    return violates("(C3) a scale of shape {} for blocks of {} along axis {} of {}", to_string(to_dims(scale)),
                    block_size, normal, to_string(to_dims(x)));
  }
  layout.block = block_size;
  layout.outer_step = expected[at] * layout.inner;
  layout.axis_step = layout.inner;
  layout.inner_step = layout.inner == 1 ? 0 : 1;
  return layout;
}

IntegerRange integer_range(DType dtype) {
  const int bits = bit_width(dtype);
  STROP_CHECK(is_integer(dtype) && bits <= 32, "the range of {}", to_string(dtype));
  if (is_unsigned_integer(dtype)) return {0, (int64_t{1} << bits) - 1};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

const Operator kQuantizeLinear = {
    .name = "QuantizeLinear",
    .make_attrs = [] { return Attrs(QuantizeLinearAttrs{}); },
    .infer = infer_quantize,
    .evaluate = evaluate_quantize,
    .cases = [] { return cases_of(true); },
};

const Operator kDequantizeLinear = {
    .name = "DequantizeLinear",
    .make_attrs = [] { return Attrs(DequantizeLinearAttrs{}); },
    .infer = infer_dequantize,
    .evaluate = evaluate_dequantize,
    .cases = [] { return cases_of(false); },
};

std::span<const Operator* const> quantize_operators() {
  static constexpr std::array kOperators = {&kQuantizeLinear, &kDequantizeLinear, &kDynamicQuantizeLinear};
  return kOperators;
}

}  // namespace strop::ops
