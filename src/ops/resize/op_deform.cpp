#include <algorithm>
#include <cmath>

#include "ops/element_map.h"
#include "ops/late.h"
#include "ops/resize/resize.h"

namespace strop::ops {
namespace {

// The attributes with their defaults filled in for `axes` axes.
struct Blocks {
  std::vector<int64_t> strides, dilations, pads;
};
Result<Blocks> blocks_of(const Col2ImAttrs& attrs, size_t axes) {
  const auto filled = [](const std::vector<int64_t>& values, size_t count, int64_t value) {
    return values.empty() ? std::vector<int64_t>(count, value) : values;
  };
  Blocks blocks{filled(attrs.strides, axes, 1), filled(attrs.dilations, axes, 1), filled(attrs.pads, 2 * axes, 0)};
  const auto positive = [&](const std::vector<int64_t>& values) {
    return values.size() == axes &&
           std::all_of(values.begin(), values.end(), [](int64_t v) { return v >= 1 && v <= INT32_MAX; });
  };
  const bool small =
      std::all_of(blocks.pads.begin(), blocks.pads.end(), [](int64_t v) { return std::abs(v) <= INT32_MAX; });
  // (C3) attributes fit.
  if (!positive(blocks.strides) || !positive(blocks.dilations) || blocks.pads.size() != 2 * axes || !small) {
    return violates("(C3) strides, dilations or pads do not fit {} axes", axes);
  }
  return blocks;
}

Result<void> infer_col2im(InferContext& ctx) {
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  const auto& attrs = ctx.attrs.as<Col2ImAttrs>();
  // (C1) numbers, rank 3.
  if (!(is_float(x.dtype) || is_integer(x.dtype)) || (x.has_rank() && x.rank() != 3)) {
    return violates("(C1) cannot take blocks from {}: numbers [N, C * block, blocks] are needed", to_string(x));
  }
  const auto axes = dims_field_length(ctx, "image", attrs.image);
  if (!axes) return ctx.outputs[0] = Type::unranked(x.dtype), Result<void>();
  const auto image = dims_field(ctx, "image", attrs.image);
  const auto block = dims_field(ctx, "block", attrs.block);
  if (block && std::ssize(*block) != *axes)
    return violates("(C2) a block of {} axes in an image of {}", block->size(), *axes);
  STROP_TRY(blocks_of(attrs, static_cast<size_t>(*axes)));
  if (block) STROP_TRY(check_sizes(*block));
  Dims dims;
  dims.push_back(x.has_rank() ? x.dim(0) : ctx.unbacked());
  dims.push_back(x.has_rank() && block ? floor_div(x.dim(1), product(*block)) : ctx.unbacked());
  for (int64_t i = 0; i < *axes; ++i) dims.push_back(image ? (*image)[static_cast<size_t>(i)] : ctx.unbacked());
  for (const Dim& dim : dims) {
    if (dim.is_constant() && dim.constant() < 0) return violates("(C2) a size is negative: {}", to_string(dims));
  }
  STROP_TRY(check_sizes(dims));
  ctx.outputs[0] = Type(x.dtype, std::move(dims));
  return {};
}

Result<void> evaluate_col2im(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<Col2ImAttrs>();
  const Tensor& x = ctx.in(0);
  const auto image = bound(attrs.image);
  const auto block = bound(attrs.block);
  STROP_ASSIGN(const Blocks blocks, blocks_of(attrs, image.size()));
  std::vector<int64_t> positions;
  for (size_t i = 0; i < image.size(); ++i) {
    if (block[i] < 1 || image[i] < 0)
      return bad_data("Col2Im: a block {} in an image {}", to_string(attrs.block), to_string(attrs.image));
    const int64_t room =
        image[i] + blocks.pads[i] + blocks.pads[image.size() + i] - blocks.dilations[i] * (block[i] - 1) - 1;
    positions.push_back(room < 0 ? 0 : room / blocks.strides[i] + 1);
  }
  const int64_t taps = element_count(block);
  if (element_count(positions) != x.dim(2) || x.dim(1) % taps != 0) {
    return bad_data("Col2Im: an operand {} for blocks of {} at {} places", to_string(x.type()), taps,
                    element_count(positions));
  }
  const int64_t channels = x.dim(1) / taps;
  std::vector<int64_t> dims = {x.dim(0), channels};
  dims.insert(dims.end(), image.begin(), image.end());
  const auto strides = strides_of(image);
  const int64_t plane = element_count(image);
  const std::vector<double> values = load_f64(x);
  std::vector<double> results(static_cast<size_t>(element_count(dims)), 0.0);
  for_each_element(block, [&](const std::vector<int64_t>& tap, int64_t t) {
    for_each_element(positions, [&](const std::vector<int64_t>& position, int64_t p) {
      int64_t to = 0;
      for (size_t i = 0; i < image.size(); ++i) {
        const int64_t at = position[i] * blocks.strides[i] + tap[i] * blocks.dilations[i] - blocks.pads[i];
        if (at < 0 || at >= image[i]) return;
        to += at * strides[i];
      }
      for (int64_t nc = 0; nc < x.dim(0) * channels; ++nc) {
        results[static_cast<size_t>(nc * plane + to)] += values[static_cast<size_t>((nc * taps + t) * x.dim(2) + p)];
      }
    });
  });
  ctx.outputs[0] = store_f64(x.dtype(), std::move(dims), results);
  return {};
}

std::vector<WorkedCase> col2im_cases() {
  return {
      {"strides_f32", Col2ImAttrs{{5, 5}, {3, 3}, {2, 2}, {}, {}}, {Type(DType::F32, {1, 9, 4})}},
      {"pads_dilations_f32", Col2ImAttrs{{6, 6}, {2, 2}, {}, {1, 5}, {0, 1, 0, 1}}, {Type(DType::F32, {2, 8, 15})}}};
}

constexpr size_t kOffset = 2, kBias = 3, kMask = 4;

// The number of result positions along spatial axis i. Errors: (C3).
Result<Dim> deform_size(const DeformConvAttrs& attrs, const Dim& in, const Dim& kernel, size_t i) {
  for (const int64_t number : {attrs.strides[i], attrs.dilations[i], attrs.pads[i], attrs.pads[2 + i]}) {
    STROP_TRY(check_sizes({Dim(number)}));
  }
  STROP_TRY(check_sizes({kernel, Dim(attrs.dilations[i])}));
  const Dim room = in + Dim(attrs.pads[i] + attrs.pads[2 + i] - 1) - (kernel - Dim(1)) * Dim(attrs.dilations[i]);
  if (room.is_constant() && room.constant() < 0) return violates("(C3) the kernel is larger than the padded operand");
  return floor_div(room, Dim(attrs.strides[i])) + Dim(1);
}

Result<void> infer_deform_conv(InferContext& ctx) {
  STROP_ASSIGN(const TensorType x, ctx.tensor(0));
  STROP_ASSIGN(const TensorType w, ctx.tensor(1));
  STROP_ASSIGN(const TensorType offset, ctx.tensor(kOffset));
  const auto& attrs = ctx.attrs.as<DeformConvAttrs>();
  // (C1) one floating type.
  if (!is_float(x.dtype) || w.dtype != x.dtype || offset.dtype != x.dtype) {
    return violates("(C1) operands {}, {}, {}: one floating type is needed", to_string(x), to_string(w),
                    to_string(offset));
  }
  // (C2) two spatial axes.
  for (const TensorType* type : {&x, &w, &offset}) {
    if (type->has_rank() && type->rank() != 4) return violates("(C2) an operand has rank {}, not 4", type->rank());
  }
  const auto positive = [](const std::vector<int64_t>& values) {
    return values.size() == 2 && values[0] >= 1 && values[1] >= 1;
  };
  if (!positive(attrs.strides) || !positive(attrs.dilations) || attrs.pads.size() != 4 || attrs.group < 1 ||
      attrs.offset_group < 1) {
    return violates("(C3) strides, dilations, pads or groups do not fit two spatial axes");
  }
  if (!x.has_rank() || !w.has_rank()) return ctx.outputs[0] = Type::unranked(x.dtype), Result<void>();
  Dims dims = {x.dim(0), w.dim(0)};
  for (size_t i = 0; i < 2; ++i) {
    STROP_ASSIGN(const Dim size, deform_size(attrs, x.dims()[2 + i], w.dims()[2 + i], i));
    dims.push_back(size);
  }
  STROP_TRY(check_sizes(dims));
  ctx.outputs[0] = Type(x.dtype, std::move(dims));
  return {};
}

struct DeformSizes {
  int64_t batch, channels, height, width, results, per_group, kernel_h, kernel_w, out_h, out_w;
  int64_t taps() const { return kernel_h * kernel_w; }
  int64_t places() const { return out_h * out_w; }
};

Result<void> check_deform(EvalContext& ctx, const DeformConvAttrs& attrs, const DeformSizes& s) {
  const bool grouped =
      s.channels == s.per_group * attrs.group && s.results % attrs.group == 0 && s.channels % attrs.offset_group == 0;
  if (!grouped)
    return bad_data("DeformConv: {} channels and {} results in {} groups", s.channels, s.results, attrs.group);
  const std::vector<int64_t> offsets = {s.batch, attrs.offset_group * s.taps() * 2, s.out_h, s.out_w};
  if (ctx.in(kOffset).dims() != offsets)
    return bad_data("DeformConv: offsets {}, not {}", to_string(ctx.in(kOffset).type()), to_string(to_dims(offsets)));
  if (ctx.has_input(kBias) && ctx.in(kBias).count() != s.results)
    return bad_data("DeformConv: {} biases for {} results", ctx.in(kBias).count(), s.results);
  const std::vector<int64_t> masks = {s.batch, attrs.offset_group * s.taps(), s.out_h, s.out_w};
  if (ctx.has_input(kMask) && ctx.in(kMask).dims() != masks)
    return bad_data("DeformConv: a mask {}, not {}", to_string(ctx.in(kMask).type()), to_string(to_dims(masks)));
  return {};
}

// Bilinear between four pixels; those outside are 0.
double sample_plane(const double* plane, int64_t height, int64_t width, double y, double x) {
  if (!(y > -1 && x > -1 && y < static_cast<double>(height) && x < static_cast<double>(width))) return 0;
  const double top = std::floor(y), left = std::floor(x);
  double sum = 0;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const auto row = static_cast<int64_t>(top) + i;
      const auto column = static_cast<int64_t>(left) + j;
      if (row < 0 || column < 0 || row >= height || column >= width) continue;
      const double weight = (i == 0 ? 1 - (y - top) : y - top) * (j == 0 ? 1 - (x - left) : x - left);
      sum += weight * plane[row * width + column];
    }
  }
  return sum;
}

Result<void> evaluate_deform_conv(EvalContext& ctx) {
  const auto& attrs = ctx.attrs.as<DeformConvAttrs>();
  const Tensor& x = ctx.in(0);
  const Tensor& w = ctx.in(1);
  STROP_ASSIGN(const Dim out_h, deform_size(attrs, Dim(x.dim(2)), Dim(w.dim(2)), 0));
  STROP_ASSIGN(const Dim out_w, deform_size(attrs, Dim(x.dim(3)), Dim(w.dim(3)), 1));
  const DeformSizes s{x.dim(0), x.dim(1), x.dim(2), x.dim(3),         w.dim(0),
                      w.dim(1), w.dim(2), w.dim(3), out_h.constant(), out_w.constant()};
  STROP_TRY(check_deform(ctx, attrs, s));
  const auto values = load_f64(x), weights = load_f64(w), offsets = load_f64(ctx.in(kOffset));
  const auto bias = ctx.has_input(kBias) ? load_f64(ctx.in(kBias)) : std::vector<double>();
  const auto mask = ctx.has_input(kMask) ? load_f64(ctx.in(kMask)) : std::vector<double>();
  std::vector<double> sums(static_cast<size_t>(s.batch * s.results * s.places()), 0.0);
  ctx.threads.run(s.batch * s.places(), [&](int64_t task, int) {
    const int64_t image = task / s.places(), place = task % s.places();
    std::vector<double> columns(static_cast<size_t>(s.channels * s.taps()));
    for (int64_t c = 0; c < s.channels; ++c) {
      const int64_t offset_group = image * attrs.offset_group + c / (s.channels / attrs.offset_group);
      for (int64_t t = 0; t < s.taps(); ++t) {
        const int64_t tap = offset_group * s.taps() + t;
        const auto offset = static_cast<size_t>(tap * 2 * s.places() + place);
        const auto base = [&](size_t axis, int64_t position, int64_t k) {
          return static_cast<double>(position * attrs.strides[axis] - attrs.pads[axis] + k * attrs.dilations[axis]);
        };
        const double y = base(0, place / s.out_w, t / s.kernel_w) + offsets[offset];
        const double at = base(1, place % s.out_w, t % s.kernel_w) + offsets[offset + static_cast<size_t>(s.places())];
        const double factor = mask.empty() ? 1.0 : mask[static_cast<size_t>(tap * s.places() + place)];
        const double* plane = values.data() + (image * s.channels + c) * s.height * s.width;
        columns[static_cast<size_t>(c * s.taps() + t)] = factor * sample_plane(plane, s.height, s.width, y, at);
      }
    }
    const int64_t depth = s.per_group * s.taps();
    for (int64_t m = 0; m < s.results; ++m) {
      double sum = bias.empty() ? 0.0 : bias[static_cast<size_t>(m)];
      const double* column = columns.data() + m / (s.results / attrs.group) * depth;
      for (int64_t i = 0; i < depth; ++i) sum += weights[static_cast<size_t>(m * depth + i)] * column[i];
      sums[static_cast<size_t>((image * s.results + m) * s.places() + place)] = sum;
    }
  });
  ctx.outputs[0] = store_f64(x.dtype(), {s.batch, s.results, s.out_h, s.out_w}, sums);
  return {};
}

std::vector<WorkedCase> deform_conv_cases() {
  const DeformConvAttrs plain{{1, 1}, {1, 1}, {1, 1, 1, 1}, 1, 1};
  const DeformConvAttrs grouped{{2, 1}, {1, 2}, {0, 1, 0, 1}, 2, 2};
  return {{"plain_f32",
           plain,
           {Type(DType::F32, {1, 3, 5, 6}), Type(DType::F32, {4, 3, 3, 3}), Type(DType::F32, {1, 18, 5, 6})}},
          {"grouped_mask_f32",
           grouped,
           {Type(DType::F32, {2, 4, 6, 5}), Type(DType::F32, {6, 2, 2, 2}), Type(DType::F32, {2, 16, 3, 5}),
            Type(DType::F32, {6}), Type(DType::F32, {2, 8, 3, 5})}}};
}

}  // namespace

const Operator kCol2Im = {
    .name = "Col2Im",
    .make_attrs = [] { return Attrs(Col2ImAttrs{}); },
    .infer = infer_col2im,
    .evaluate = evaluate_col2im,
    .cases = col2im_cases,
};

const Operator kDeformConv = {
    .name = "DeformConv",
    .make_attrs = [] { return Attrs(DeformConvAttrs{}); },
    .infer = infer_deform_conv,
    .evaluate = evaluate_deform_conv,
    .cases = deform_conv_cases,
};

}  // namespace strop::ops
