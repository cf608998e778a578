#include <gtest/gtest.h>

#include "plan/plan.h"

namespace strop::plan {
namespace {

/// The value of the last register.
Result<int64_t> value_of(const ShapeProgram& program, const std::vector<int64_t>& symbols) {
  std::vector<int64_t> registers(program.instrs.size(), kUnknown);
  STROP_TRY(program.evaluate(symbols, registers));
  return registers.back();
}

Result<int64_t> applied(ShapeOp op, int64_t a, int64_t b) {
  ShapeProgram program;
  program.instrs = {{ShapeOp::Constant, a}, {ShapeOp::Constant, b}, {op, 0, 0, 1}};
  return value_of(program, {});
}

TEST(ShapeProgram, Arithmetic) {
  EXPECT_EQ(*applied(ShapeOp::Add, 7, -9), -2);
  EXPECT_EQ(*applied(ShapeOp::Mul, -7, 6), -42);
  EXPECT_EQ(*applied(ShapeOp::Min, -7, 6), -7);
  EXPECT_EQ(*applied(ShapeOp::Max, -7, 6), 6);
  // Toward minus infinity; the remainder has the divisor's sign.
  EXPECT_EQ(*applied(ShapeOp::FloorDiv, 7, 2), 3);
  EXPECT_EQ(*applied(ShapeOp::FloorDiv, -7, 2), -4);
  EXPECT_EQ(*applied(ShapeOp::FloorDiv, 7, -2), -4);
  EXPECT_EQ(*applied(ShapeOp::Mod, -7, 2), 1);
  EXPECT_EQ(*applied(ShapeOp::Mod, 7, -2), -1);
}

TEST(ShapeProgram, OverflowAndDivisionByZeroAreErrors) {
  const auto message = [](int64_t a, int64_t b) {
    return fmt::format("the input shapes make dimension r2 = {} and {} overflow or divide by zero", a, b);
  };
  EXPECT_EQ(applied(ShapeOp::Add, INT64_MAX, 1).error().message, message(INT64_MAX, 1));
  EXPECT_EQ(applied(ShapeOp::Mul, INT64_MAX, 2).error().message, message(INT64_MAX, 2));
  EXPECT_EQ(applied(ShapeOp::FloorDiv, 5, 0).error().message, message(5, 0));
  EXPECT_EQ(applied(ShapeOp::Mod, 5, 0).error().message, message(5, 0));
}

TEST(ShapeProgram, LowersWhatDimensionsSayAndSharesEqualRegisters) {
  const Dim b = Dim::symbol("b");
  const Dim s = Dim::symbol("s");
  const std::vector<Dim> dims = {2 * b * s + 1, floor_div(s + 3, 4), mod(s, 5), min(b, s), max(b * b, 7), b - s};
  ShapeProgram program;
  std::vector<Reg> registers;
  for (const Dim& dim : dims) registers.push_back(program.lower(dim));
  const size_t size = program.instrs.size();
  for (size_t i = 0; i < dims.size(); ++i) EXPECT_EQ(program.lower(dims[i]), registers[i]);
  EXPECT_EQ(program.instrs.size(), size);
  ASSERT_EQ(program.symbols.size(), 2U);
  for (const int64_t batch : {1, 4}) {
    for (const int64_t length : {1, 6, 17}) {
      std::vector<int64_t> values(2);
      for (size_t i = 0; i < 2; ++i) values[i] = program.symbols[i] == "b" ? batch : length;
      std::vector<int64_t> results(size);
      ASSERT_TRUE(program.evaluate(values, results).ok());
      const std::vector<int64_t> expected = {2 * batch * length + 1,
                                             (length + 3) / 4,
                                             length % 5,
                                             std::min(batch, length),
                                             std::max<int64_t>(batch * batch, 7),
                                             batch - length};
      for (size_t i = 0; i < dims.size(); ++i)
        EXPECT_EQ(results[static_cast<size_t>(registers[i])], expected[i]) << dims[i].to_string();
    }
  }
}

TEST(ShapeProgram, WhatDependsOnUnknownSymbolsIsUnknown) {
  ShapeProgram program;
  const Reg known = program.lower(Dim::symbol("n") + 1);
  const Reg unknown = program.lower(Dim::symbol("?m") * Dim::symbol("n"));
  std::vector<int64_t> registers(program.instrs.size());
  ASSERT_TRUE(program.evaluate({4, kUnknown}, registers).ok());
  EXPECT_EQ(registers[static_cast<size_t>(known)], 5);
  EXPECT_EQ(registers[static_cast<size_t>(unknown)], kUnknown);
}

}  // namespace
}  // namespace strop::plan
