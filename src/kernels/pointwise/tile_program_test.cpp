#include "kernels/pointwise/tile_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace strop::kernels {
namespace {

const CpuTarget kTarget = best_cpu_target();

TileLoop f32(const char* fn, const char* pattern) { return find_function_loop(TileLane::F32, fn, pattern, kTarget); }

TEST(TileProgram, ChainsLoopsOverTilesAndTheirRests) {
  // (a + bias) * 2, relu; bias one value; lengths around the tile's.
  TileProgram program;
  const TileRef a{TileRef::Kind::Operand, program.add_operand(4, 1)};
  const TileRef bias{TileRef::Kind::Operand, program.add_operand(4, 0)};
  const TileRef two = program.add_constant(0x40000000);
  const TileRef sum = program.add_temp();
  const TileRef twice = program.add_temp();
  program.add_step({.loop = f32("Add", "vs"), .args = {a, bias}, .out = sum, .elementwise = true});
  program.add_step({.loop = f32("Mul", "vs"), .args = {sum, two}, .out = twice, .elementwise = true});
  const TileRef result{TileRef::Kind::Result, program.add_result(4)};
  program.add_step({.loop = f32("Relu", "v"), .args = {twice}, .out = result, .elementwise = true});
  ASSERT_TRUE(program.finish());
  for (const int64_t n : {0, 1, 7, 8, 511, 512, 513, 1500}) {
    std::vector<float> x(static_cast<size_t>(n) + 1);
    std::iota(x.begin(), x.end(), -3.0f);
    std::vector<float> y(x.size(), 77);
    const float one = 1;
    const void* operands[] = {x.data(), &one};
    void* results[] = {y.data()};
    program.run(operands, results, n);
    for (int64_t i = 0; i < n; ++i)
      EXPECT_EQ(y[static_cast<size_t>(i)], std::max(0.0f, (static_cast<float>(i) - 2) * 2)) << i;
    EXPECT_EQ(y.back(), 77) << "beyond the end";
  }
}

TEST(TileProgram, ValuesOfOneElementAreComputedOnce) {
  TileProgram program;
  const TileRef a{TileRef::Kind::Operand, program.add_operand(4, 1)};
  const TileRef b{TileRef::Kind::Operand, program.add_operand(4, 0)};
  const TileRef root = program.add_scalar();
  program.add_once({.loop = f32("Sqrt", "v"), .args = {b}, .out = root});
  const TileRef result{TileRef::Kind::Result, program.add_result(4)};
  program.add_step({.loop = f32("Div", "vs"), .args = {a, root}, .out = result});
  ASSERT_TRUE(program.finish());
  const float x[3] = {2, 4, 6};
  const float nine = 4;
  float y[3];
  const void* operands[] = {x, &nine};
  void* results[] = {y};
  program.run(operands, results, 3);
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[2], 3);
}

TEST(TileProgram, TemporariesShareMemoryOnlyWhereLoopsAllowIt) {
  // u8 → int → float: the widening loop must not run within its operand's memory.
  TileProgram program;
  const TileRef strided{TileRef::Kind::Operand, program.add_operand(1, 2)};
  const TileGather every_second{2, nullptr};
  const TileRef bytes = program.add_temp();
  const TileRef ints = program.add_temp();
  program.add_step({.loop = find_gather_loop(1), .args = {strided}, .out = bytes, .context = &every_second});
  program.add_step({.loop = find_load_loop(DType::U8, kTarget), .args = {bytes}, .out = ints});
  const TileRef result{TileRef::Kind::Result, program.add_result(4)};
  program.add_step({.loop = find_int_to_float_loop(kTarget), .args = {ints}, .out = result, .elementwise = true});
  ASSERT_TRUE(program.finish());
  std::vector<uint8_t> x(1400);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(i * 7);
  std::vector<float> y(700);
  const void* operands[] = {x.data()};
  void* results[] = {y.data()};
  program.run(operands, results, 700);
  for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], static_cast<float>(x[2 * i])) << i;
}

TEST(TileProgram, TooManyLiveValuesAreRefused) {
  TileProgram program;
  const TileRef a{TileRef::Kind::Operand, program.add_operand(4, 1)};
  std::vector<TileRef> temps;
  for (int i = 0; i < 2000; ++i) {
    temps.push_back(program.add_temp());
    program.add_step({.loop = f32("Exp", "v"), .args = {a}, .out = temps.back()});
  }
  for (const TileRef& temp : temps)
    program.add_step({.loop = f32("Exp", "v"), .args = {temp}, .out = {TileRef::Kind::Result, 0}});
  EXPECT_FALSE(program.finish());
}

TEST(TileLoops, HalvesRoundToNearestEven) {
  // Source of the expected codes: IEEE 754 binary16; 65519.996 is the last value below the tie to 65536.
  const float x[] = {1,
                     2049,
                     2051,
                     65504,
                     65519.996f,
                     65520,
                     5.9604645e-8f,
                     2.9802322e-8f,
                     2.9802326e-8f,
                     6.0975552e-5f,
                     -0.0f,
                     std::numeric_limits<float>::infinity()};
  const uint16_t expected[] = {0x3c00, 0x6800, 0x6802, 0x7bff, 0x7bff, 0x7c00, 1, 0, 1, 0x3ff, 0x8000, 0x7c00};
  for (const CpuTarget target : {CpuTarget::Portable, kTarget}) {
    uint16_t codes[12];
    find_store_loop(DType::F16, target)({.a = x, .out = codes, .n = 12});
    for (int i = 0; i < 12; ++i) EXPECT_EQ(codes[i], expected[i]) << x[i];
    float back[12];
    find_load_loop(DType::F16, target)({.a = codes, .out = back, .n = 12});
    EXPECT_EQ(back[1], 2048);
    EXPECT_EQ(back[6], 5.9604645e-8f);
    EXPECT_TRUE(std::isinf(back[11]));
  }
}

TEST(TileLoops, LanesHoldWhatTheyShould) {
  EXPECT_EQ(lane_of(DType::F16), TileLane::F32);
  EXPECT_EQ(lane_of(DType::Bool), TileLane::I32);
  EXPECT_EQ(lane_of(DType::U32), TileLane::Wide);
  EXPECT_FALSE(has_memory_loops(DType::String));
  EXPECT_FALSE(has_memory_loops(DType::I4));
  EXPECT_EQ(find_function_loop(TileLane::F32, "NoSuchFunction", "v", kTarget), nullptr);
}

}  // namespace
}  // namespace strop::kernels
