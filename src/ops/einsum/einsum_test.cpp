#include "ops/einsum/einsum.h"

#include <gtest/gtest.h>

#include "ops/testing.h"

namespace strop::ops::testing {
namespace {

std::string einsum(const std::string& equation, const std::vector<Value>& operands) {
  return run(kEinsum, EinsumAttrs{equation}, operands);
}

TEST(Einsum, Meanings) {
  const Tensor a = f32({2, 2}, {1, 2, 3, 4});
  const Tensor b = f32({2, 2}, {5, 6, 7, 8});
  EXPECT_EQ(einsum("ij,jk->ik", {a, b}), "f32[2, 2] 19 22 43 50");
  EXPECT_EQ(einsum("ij,jk", {a, b}), "f32[2, 2] 19 22 43 50");
  EXPECT_EQ(einsum("ij -> ji", {a}), "f32[2, 2] 1 3 2 4");
  EXPECT_EQ(einsum("ii->i", {a}), "f32[2] 1 4");
  EXPECT_EQ(einsum("ii", {a}), "f32[] 5");
  EXPECT_EQ(einsum("ij->", {a}), "f32[] 10");
  EXPECT_EQ(einsum("ij,ij->", {a, b}), "f32[] 70");
  EXPECT_EQ(einsum("i,j->ji", {f32({2}, {1, 2}), f32({2}, {3, 5})}), "f32[2, 2] 3 6 5 10");
  EXPECT_EQ(einsum("ij,jk,k->i", {a, b, f32({2}, {1, 1})}), "f32[2] 41 93");
  EXPECT_EQ(einsum("i,i->", {store_i64(DType::U8, {2}, std::vector<int64_t>{100, 2}),
                             store_i64(DType::U8, {2}, std::vector<int64_t>{3, 1})}),
            "u8[] 46");  // 302 modulo 256
}

TEST(Einsum, EllipsisBroadcasts) {
  EXPECT_EQ(einsum("...i,...i", {f32({2, 1, 2}, {1, 2, 3, 4}), f32({2, 2}, {1, 1, 10, 10})}), "f32[2, 2] 3 30 7 70");
  EXPECT_EQ(einsum("i...->...i", {f32({2, 1, 2}, {1, 2, 3, 4})}), "f32[1, 2, 2] 1 3 2 4");
}

TEST(Einsum, TypesAndErrors) {
  const Dim s = Dim::symbol("s");
  const Type a(DType::F32, {2, s, 4});
  EXPECT_EQ(infer(kEinsum, EinsumAttrs{"bij,bkj->bik"}, {a, a}), "f32[2, s, s]");
  EXPECT_EQ(infer(kEinsum, EinsumAttrs{"bij->bik"}, {a}),
            "error: (C1) an index of the einsum's result occurs twice there, or in no operand");
  EXPECT_EQ(infer(kEinsum, EinsumAttrs{"bi->b"}, {a}),
            "error: (C2) operand 0 has rank 3, term 'bi' of the equation does not");
  EXPECT_EQ(infer(kEinsum, EinsumAttrs{"b1->b"}, {a}), "error: (C1) 'b1' is not a term of an einsum equation");
  EXPECT_EQ(infer(kEinsum, EinsumAttrs{"bij,b->b"}, {a}), "error: (C2) 'bij,b->b' has more terms than the 1 operands");
}

TEST(Det, OfMatrices) {
  EXPECT_EQ(run(kDet, NoAttrs{}, {f32({2, 2}, {1, 2, 3, 4})}), "f32[] -2");
  EXPECT_EQ(run(kDet, NoAttrs{}, {f32({2, 2, 2}, {0, 1, 1, 0, 2, 4, 1, 2})}), "f32[2] -1 0");
  EXPECT_EQ(run(kDet, NoAttrs{}, {f32({3, 3}, {2, 0, 0, 5, 3, 0, 7, 9, 4})}), "f32[] 24");
}

}  // namespace
}  // namespace strop::ops::testing
