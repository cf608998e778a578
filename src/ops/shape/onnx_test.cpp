#include <gtest/gtest.h>

#include "onnx/one_node.h"

namespace strop::ops {
namespace {

using onnx::testing::imported;
using onnx::testing::int_attr;
using onnx::testing::node;
using onnx::testing::unranked_type;
using onnx::testing::value_info;

TEST(ImportShape, ConstantSymbolicAndUnknown) {
  const auto data = value_info("x", DType::F32, {"b", 3, 4});
  const auto shape = [](const onnx::testing::Message& input, std::vector<onnx::testing::Message> attrs) {
    return imported({node("Shape", {"x"}, {"y"}, attrs), 15, {input}, {}, {"y"}, DType::I64});
  };
  EXPECT_EQ(shape(data, {}), "DimsTensor(dims=[b, 3, 4], scalar=false) i64[3]");
  EXPECT_EQ(shape(data, {int_attr("start", 1)}), "= i64[2] 3 4");
  EXPECT_EQ(shape(value_info("x", unranked_type(DType::F32)), {int_attr("end", -1)}),
            "Shape(start=0, end=-1) i64[?0.0]");
  EXPECT_EQ(imported({node("Size", {"x"}, {"y"}), 13, {data}, {}, {"y"}, DType::I64}),
            "DimsTensor(dims=[12*b], scalar=true) i64[]");
}

}  // namespace
}  // namespace strop::ops
