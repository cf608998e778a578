#include "compiler/io_format.h"

#include <gtest/gtest.h>

namespace strop::compiler {
namespace {

const char* const kText = R"(graph "g" (x: f32[n, 3, 4, 5], k: i64[2], s: string[1]) -> (y = %y, k = %k) {
  %y = Pointwise(%x) {program=(x0: f32) { v1 = Exp(x0) } -> v1} : f32[n, 3, 4, 5]
}
)";

std::shared_ptr<ir::Graph> graph() { return ir::parse_text(kText, ops::builtin_operators()).value(); }

std::string converted(const IoFormats& formats) {
  const auto result = graph();
  const auto applied = apply_io(*result, formats);
  if (!applied.ok()) return applied.error().message;
  EXPECT_TRUE(ir::verify(*result).ok());
  return ir::to_text(*result);
}

TEST(IoFormat, ConversionsStandAtTheBorder) {
  EXPECT_EQ(converted({{"x", {DType::F16, "nhwc"}}, {"y", {DType::BF16, "nhwc"}}}),
            R"(graph "g" (x: f16[n, 4, 5, 3], k: i64[2], s: string[1]) -> (y = %3, k = %k) {
  %0 = Pointwise(%x) {program=(x0: f16) { v1 = Cast<f32>(x0) } -> v1} : f32[n, 4, 5, 3]
  %1 = Transpose(%0) {perm=[0, 3, 1, 2]} : f32[n, 3, 4, 5]
  %y = Pointwise(%1) {program=(x0: f32) { v1 = Exp(x0) } -> v1} : f32[n, 3, 4, 5]
  %2 = Transpose(%y) {perm=[0, 2, 3, 1]} : f32[n, 4, 5, 3]
  %3 = Pointwise(%2) {program=(x0: f32) { v1 = Cast<bf16>(x0) } -> v1} : bf16[n, 4, 5, 3]
}
)");
}

TEST(IoFormat, WhatIsAskedForAlreadyChangesNothing) {
  EXPECT_EQ(converted({{"x", {DType::F32, "nchw"}}, {"y", {DType::Undefined, "nchw"}}}), kText);
}

TEST(IoFormat, ANameOfAnInputAndAnOutputMeansBoth) {
  const std::string text = converted({{"k", {DType::I32, ""}}});
  EXPECT_NE(text.find("k: i32[2]"), std::string::npos) << text;
  EXPECT_NE(text.find("Cast<i64>(x0)"), std::string::npos) << text;
  EXPECT_NE(text.find("Cast<i32>(x0)"), std::string::npos) << text;
}

TEST(IoFormat, NonsenseIsRefused) {
  EXPECT_EQ(converted({{"X", {DType::F16, ""}}}), "io: there is no input or output 'X'; there are x, k, s, y, k");
  EXPECT_EQ(converted({{"x", {}}}), "io 'x' asks for nothing: name a type or a layout");
  EXPECT_EQ(converted({{"k", {DType::Undefined, "nhwc"}}}),
            "io 'k': layout nhwc is for 4 dimensions, and it is i64[2]");
  EXPECT_EQ(converted({{"x", {DType::F16, "ndhwc"}}}),
            "io 'x': layout ndhwc is for 5 dimensions, and it is f32[n, 3, 4, 5]");
  EXPECT_EQ(converted({{"x", {DType::F16, "hwc"}}}),
            "io 'x': there is no layout 'hwc': write nchw, nhwc, ncdhw or ndhwc");
  EXPECT_EQ(converted({{"s", {DType::F32, ""}}}), "io 's': there is no conversion between string and f32");
  EXPECT_EQ(converted({{"x", {DType::C64, ""}}}), "io 'x': there is no conversion between f32 and c64");
  EXPECT_EQ(converted({{"x", {DType::I4, ""}}}), "io 'x': there is no conversion between f32 and i4");
}

TEST(IoFormat, DimensionsGoBackToTheModelsOrder) {
  EXPECT_EQ(in_model_order("nhwc", {1, 224, 200, 3}), (std::vector<int64_t>{1, 3, 224, 200}));
  EXPECT_EQ(in_model_order("ndhwc", {1, 8, 7, 6, 3}), (std::vector<int64_t>{1, 3, 8, 7, 6}));
  EXPECT_EQ(in_model_order("nchw", {1, 3, 224, 200}), (std::vector<int64_t>{1, 3, 224, 200}));
  EXPECT_EQ(in_model_order("nhwc", {1, 2}), (std::vector<int64_t>{1, 2}));
}

TEST(IoFormat, TheRecordKeepsIt) {
  const IoFormats formats = {{"a:0", {DType::F16, "nhwc"}}, {"b", {DType::U8, ""}}, {"c", {DType::Undefined, "ncdhw"}}};
  engine::EngineRecord record = {{"precision", "fp32"}};
  record_io(formats, record);
  EXPECT_EQ(record["io/a:0"], "f16:nhwc");
  const IoFormats read = recorded_io(record).value();
  ASSERT_EQ(read.size(), 3U);
  for (const auto& [name, format] : formats) {
    EXPECT_EQ(read.at(name).dtype, format.dtype) << name;
    EXPECT_EQ(read.at(name).layout, format.layout) << name;
  }
  EXPECT_EQ(recorded_io({{"io/x", "what"}}).error().message, "the engine's record has 'what' for 'io/x'");
}

}  // namespace
}  // namespace strop::compiler
