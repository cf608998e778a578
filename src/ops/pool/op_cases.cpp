#include "ops/pool/pool.h"

namespace strop::ops {

PoolAttrs plain_window(PoolKind kind, std::vector<int64_t> kernel, std::vector<int64_t> strides, Dims pads) {
  PoolAttrs attrs;
  attrs.kind = kind;
  attrs.dilations.assign(kernel.size(), 1);
  attrs.kernel = std::move(kernel);
  attrs.strides = std::move(strides);
  attrs.pads = std::move(pads);
  return attrs;
}

namespace {

template <class Change>
PoolAttrs with(PoolAttrs attrs, Change change) {
  change(attrs);
  return attrs;
}

void last(PoolAttrs& attrs) { attrs.channels_last = true; }
void ceil(PoolAttrs& attrs) { attrs.ceil_mode = true; }
void count_pads(PoolAttrs& attrs) { attrs.count_include_pad = true; }

}  // namespace

std::vector<WorkedCase> pool_cases() {
  const Type planes(DType::F32, {2, 5, 17, 23});
  const Type pixels(DType::F32, {2, 17, 23, 20});
  const PoolAttrs max3 = plain_window(PoolKind::Max, {3, 3}, {2, 2}, {1, 1, 1, 1});
  const PoolAttrs average3 = plain_window(PoolKind::Average, {3, 3}, {1, 1}, {1, 1, 1, 1});
  const auto dilated = [](PoolAttrs& attrs) { attrs.dilations = {2, 3}; };
  const auto column_major = [](PoolAttrs& attrs) { attrs.column_major_indices = true; };
  return {
      {"max_3x3_f32", max3, {planes}},
      {"max_3x3_last_f32", with(max3, last), {pixels}},
      {"max_2x2_f32", plain_window(PoolKind::Max, {2, 2}, {2, 2}, {0, 0, 0, 0}), {planes}},
      {"max_5x5_stride1_f32", plain_window(PoolKind::Max, {5, 5}, {1, 1}, {2, 2, 2, 2}), {planes}},
      {"max_ceil_f32", with(max3, ceil), {Type(DType::F32, {1, 3, 16, 10})}},
      {"max_dilated_f32", with(plain_window(PoolKind::Max, {3, 2}, {1, 3}, {0, 1, 2, 0}), dilated), {planes}},
      {"max_indices_f32", max3, {planes}, 2},
      {"max_indices_column_major_last_f32", with(with(max3, last), column_major), {pixels}, 2},
      {"max_1d_f32", plain_window(PoolKind::Max, {4}, {3}, {1, 2}), {Type(DType::F32, {2, 6, 50})}},
      {"max_3d_f32",
       plain_window(PoolKind::Max, {2, 3, 2}, {1, 2, 2}, {0, 1, 0, 1, 1, 0}),
       {Type(DType::F32, {1, 4, 6, 9, 8})}},
      {"max_u8", max3, {Type(DType::U8, {1, 3, 8, 8})}},
      {"average_3x3_f32", average3, {planes}},
      {"average_3x3_last_f32", with(average3, last), {pixels}},
      {"average_with_pads_f32", with(average3, count_pads), {planes}},
      {"average_with_pads_last_f32", with(with(average3, count_pads), last), {pixels}},
      {"average_ceil_with_pads_f32",
       with(with(plain_window(PoolKind::Average, {3, 3}, {2, 2}, {1, 0, 1, 0}), count_pads), ceil),
       {Type(DType::F32, {1, 3, 16, 10})}},
      {"average_3d_f32",
       plain_window(PoolKind::Average, {2, 2, 2}, {2, 2, 1}, {0, 0, 0, 0, 0, 0}),
       {Type(DType::F32, {1, 3, 4, 6, 9})}},
      {"average_f16", average3, {Type(DType::F16, {1, 3, 8, 8})}},
      {"lp_f32",
       with(plain_window(PoolKind::Lp, {3, 3}, {2, 2}, {0, 1, 1, 0}), [](PoolAttrs& attrs) { attrs.p = 3; }),
       {planes}},
  };
}

}  // namespace strop::ops
