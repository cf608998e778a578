#include "ops/slice/slice.h"

#include <gtest/gtest.h>

#include "ops/testing.h"

namespace strop::ops {
namespace {

using testing::counting;
using testing::infer;
using testing::run;

const Dim s = Dim::symbol("s");
const Dim t = Dim::symbol("t");

TEST(Slice, Elements) {
  EXPECT_EQ(run(kSlice, SliceAttrs{{1}, {1}, {-1}, {}}, {counting({2, 4})}), "f32[2, 2] 1 2 5 6");
  EXPECT_EQ(run(kSlice, SliceAttrs{{}, {0, 1}, {-1, 1000}, {}}, {counting({2, 4})}), "f32[1, 3] 1 2 3");
  EXPECT_EQ(run(kSlice, SliceAttrs{{0}, {-1}, {INT64_MIN}, {-2}}, {counting({6})}), "f32[3] 5 3 1");
  EXPECT_EQ(run(kSlice, SliceAttrs{{0}, {20}, {0}, {-2}}, {counting({6})}), "f32[3] 5 3 1");
  EXPECT_EQ(run(kSlice, SliceAttrs{{0}, {4}, {2}, {}}, {counting({6})}), "f32[0]");
  EXPECT_EQ(run(kSlice, SliceAttrs{{0}, {-1}, {INT64_MIN}, {-1}}, {counting({0})}), "f32[0]");
}

TEST(Slice, AbsurdBounds) {
  EXPECT_EQ(run(kSlice, SliceAttrs{{0}, {1}, {INT64_MAX}, {INT64_MAX}}, {counting({6})}), "f32[1] 1");
  EXPECT_EQ(run(kSlice, SliceAttrs{{0}, {INT64_MAX}, {INT64_MIN}, {INT64_MIN}}, {counting({6})}), "f32[1] 5");
  EXPECT_EQ(run(kSlice, SliceAttrs{{0}, {INT64_MIN}, {INT64_MAX - 1}, {5}}, {counting({6})}), "f32[2] 0 5");
}

TEST(Slice, SymbolicSizes) {
  const std::vector<Type> data = {Type(DType::F32, {s, 4})};
  EXPECT_EQ(infer(kSlice, SliceAttrs{{0}, {0}, {-1}, {}}, data), "f32[max(0, s - 1), 4]");
  EXPECT_EQ(infer(kSlice, SliceAttrs{{0}, {0}, {INT64_MAX}, {2}}, data), "f32[floordiv(s + 1, 2), 4]");
  EXPECT_EQ(infer(kSlice, SliceAttrs{{0}, {0}, {floor_div(s, Dim(2))}, {}}, data), "f32[floordiv(s, 2), 4]");
  EXPECT_EQ(infer(kSlice, SliceAttrs{{0}, {s}, {s + t}, {}}, {Type(DType::F32, {s + t, 4})}), "f32[t, 4]");
  EXPECT_EQ(infer(kSlice, SliceAttrs{{0}, {-1}, {INT64_MIN}, {-1}}, {Type(DType::F32, {s + Dim(1)})}), "f32[s + 1]");
}

TEST(Slice, EveryBoundOfASymbolicSliceAgreesWithTheConcreteOne) {
  const Dim start = t - Dim(6);
  const AxisSlice part = slice_axis(s, start, Dim(4), 1);
  for (int64_t size = 0; size < 7; ++size) {
    for (int64_t from = -6; from < 7; ++from) {
      const auto lookup = [&](const std::string& name) {
        return std::optional<int64_t>(name == "s" ? size : from + 6);
      };
      const AxisSlice exact = slice_axis(Dim(size), Dim(from), Dim(4), 1);
      EXPECT_EQ(part.count.evaluate(lookup), exact.count.constant()) << size << " from " << from;
    }
  }
}

TEST(Slice, KnownContents) {
  EXPECT_EQ(infer(kSlice, SliceAttrs{{0}, {-2}, {INT64_MAX}, {}}, {Type(DType::I64, {3})}, {{}, {Dims{s, t, 5}}}),
            "i64[2] known [t, 5]");
  EXPECT_EQ(infer(kSlice, SliceAttrs{{0}, {2}, {INT64_MIN}, {-1}}, {Type(DType::I64, {3})}, {{}, {Dims{s, t, 5}}}),
            "i64[3] known [5, t, s]");
}

TEST(Slice, Late) {
  const std::vector<LateField> late = {{"starts", 1}, {"ends", 2}};
  const std::vector<Type> types = {Type(DType::F32, {s, 4}), Type(DType::I64, {1}), Type(DType::I64, {1})};
  EXPECT_EQ(infer(kSlice, SliceAttrs{{1}, {}, {}, {}}, types, {late}), "f32[s, ?.0]");
  EXPECT_EQ(infer(kSlice, SliceAttrs{}, types, {late}), "f32[?.0, 4]");
  EXPECT_EQ(run(kSlice, SliceAttrs{}, {counting({3}), Tensor::of_i64({1}), Tensor::of_i64({3})}, 1, late),
            "f32[2] 1 2");
}

TEST(Slice, Errors) {
  EXPECT_EQ(infer(kSlice, SliceAttrs{{0}, {0}, {1}, {0}}, {Type(DType::F32, {3})}),
            "error: (C3) the step of axis 0 is 0");
  EXPECT_EQ(infer(kSlice, SliceAttrs{{0}, {0, 1}, {1}, {}}, {Type(DType::F32, {3})}),
            "error: (C2) 1 axes with 2 starts, ends or steps");
}

TEST(Split, Parts) {
  EXPECT_EQ(run(kSplit, SplitAttrs{1, {1, 2}}, {counting({2, 3})}, 2), "f32[2, 1] 0 3; f32[2, 2] 1 2 4 5");
  EXPECT_EQ(run(kSplit, SplitAttrs{0, {1, 1}}, {counting({3})}, 2),
            "error: Split: the sizes [1, 1] do not add up to the 3 of axis 0");
  EXPECT_EQ(infer(kSplit, SplitAttrs{0, {}}, {Type(DType::F32, {s, 2}), Type(DType::I64, {2})}, {{{"sizes", 1}}}, 2),
            "f32[?.0, 2]; f32[?.1, 2]");
}

TEST(CenterCropPad, CutsAndPadsCentred) {
  EXPECT_EQ(run(kCenterCropPad, CenterCropPadAttrs{{}, {2}}, {counting({5})}), "f32[2] 1 2");
  EXPECT_EQ(run(kCenterCropPad, CenterCropPadAttrs{{}, {6}}, {counting({3})}), "f32[6] 0 0 1 2 0 0");
  EXPECT_EQ(run(kCenterCropPad, CenterCropPadAttrs{{-1}, {1}}, {counting({2, 3})}), "f32[2, 1] 1 4");
}

}  // namespace
}  // namespace strop::ops
