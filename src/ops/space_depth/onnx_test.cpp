#include <gtest/gtest.h>

#include "onnx/one_node.h"

namespace strop::ops {
namespace {

using onnx::testing::imported;
using onnx::testing::int_attr;
using onnx::testing::node;
using onnx::testing::string_attr;
using onnx::testing::value_info;

TEST(ImportSpaceDepth, IsTwoReshapesAndATranspose) {
  EXPECT_EQ(imported({node("DepthToSpace", {"x"}, {"y"}, {int_attr("blocksize", 2), string_attr("mode", "CRD")}),
                      13,
                      {value_info("x", DType::F32, {"b", 8, "h", "w"})}}),
            "Reshape(shape=[b, 2, 2, 2, h, w], copy_zeros=false) f32[b, 2, 2, 2, h, w]; "
            "Transpose(perm=[0, 1, 4, 2, 5, 3]) f32[b, 2, h, 2, w, 2]; "
            "Reshape(shape=[b, 2, 2*h, 2*w], copy_zeros=false) f32[b, 2, 2*h, 2*w]");
  EXPECT_EQ(imported({node("SpaceToDepth", {"x"}, {"y"}, {int_attr("blocksize", 2)}, "s"),
                      13,
                      {value_info("x", DType::F32, {1, 3, 5, 4})}}),
            "error: node 's' (SpaceToDepth): 5 cannot be divided by 2");
}

}  // namespace
}  // namespace strop::ops
