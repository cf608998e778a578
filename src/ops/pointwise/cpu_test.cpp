#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "ops/pointwise/cpu_tiles.h"
#include "ops/pointwise/pointwise.h"
#include "ops/scalar_functions.h"
#include "tactics/tactic.h"

namespace strop::ops {
namespace {

using kernels::CpuTarget;
using tactics::Buffer;

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<CpuTarget> targets() {
  std::vector<CpuTarget> all = {CpuTarget::Portable};
  if (kernels::best_cpu_target() != CpuTarget::Portable) all.push_back(CpuTarget::Avx2);
  if (kernels::best_cpu_target() == CpuTarget::Avx512) all.push_back(CpuTarget::Avx512);
  return all;
}

/// The program over dense f32 operands of equal length, on one target.
std::vector<float> run_tiles(const ScalarProgram& program, const std::vector<std::vector<float>>& operands,
                             CpuTarget target) {
  const std::vector<TileAccess> accesses(operands.size());
  const auto tiles = make_tile_program(program, accesses, target);
  std::vector<float> result(operands[0].size());
  std::vector<const void*> in;
  for (const auto& operand : operands) in.push_back(operand.data());
  void* out[] = {result.data()};
  tiles->run(in.data(), out, static_cast<int64_t>(result.size()));
  return result;
}

/// The reference, element by element; rounded to f32.
std::vector<float> run_reference(const ScalarProgram& program, const std::vector<std::vector<float>>& operands) {
  std::vector<float> result;
  std::vector<ScalarValue> values(program.instrs.size());
  for (size_t i = 0; i < operands[0].size(); ++i) {
    std::vector<ScalarValue> in(operands.size());
    for (size_t k = 0; k < operands.size(); ++k) in[k].number = operands[k][i];
    evaluate_scalar(program, in.data(), values.data());
    result.push_back(static_cast<float>(values[static_cast<size_t>(program.outputs[0])].number));
  }
  return result;
}

/// Distance in units of the last place, subnormals included.
double ulps(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b) ? 0 : 1e9;
  const auto order = [](float x) {
    const auto bits = std::bit_cast<int32_t>(x);
    return static_cast<double>(bits < 0 ? std::numeric_limits<int32_t>::min() - bits : bits);
  };
  return std::fabs(order(a) - order(b));
}

struct Sweep {
  Fn fn;
  float low;
  float high;
  double max_ulps;
  double absolute = 0;  ///< differences up to this do not count
};

TEST(Tiles, ElementaryFunctionsAreAccurate) {
  const Sweep sweeps[] = {
      {Fn::Exp, -104, 89, 3},
      {Fn::Log, 0, 100, 3},
      {Fn::Log, 0.9f, 1.1f, 3},
      {Fn::Tanh, -10, 10, 4},
      {Fn::Erf, -4, 4, 4},
      {Fn::Sigmoid, -20, 20, 4},
      {Fn::Softplus, -80, 100, 4},
      {Fn::Silu, -80, 20, 4},
      {Fn::Mish, -80, 30, 6},
      {Fn::Gelu, -2, 10, 8},
      {Fn::Gelu, -12, -2, 300},
      {Fn::GeluTanh, -2, 10, 8},
      {Fn::GeluTanh, -5, -2, 60},
      {Fn::Sin, -1000, 1000, 4, 1e-7},
      {Fn::Cos, -1000, 1000, 4, 1e-7},
      {Fn::Sin, -1e6f, 1e6f, 1},
      {Fn::HardSwish, -5, 5, 4, 1e-7},
      {Fn::Rsqrt, 0.01f, 100, 2},
      {Fn::Softsign, -50, 50, 2},
      {Fn::Sqrt, 0, 1e6f, 0},
      {Fn::Reciprocal, 0.1f, 9, 0},
  };
  for (const Sweep& sweep : sweeps) {
    std::vector<float> x;
    for (int i = 0; i <= 40000; ++i) x.push_back(sweep.low + (sweep.high - sweep.low) * static_cast<float>(i) / 40000);
    const ScalarProgram program = function_program(sweep.fn, DType::F32);
    const auto expected = run_reference(program, {x});
    for (const CpuTarget target : targets()) {
      const auto actual = run_tiles(program, {x}, target);
      double worst = 0;
      size_t at = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        if (std::fabs(actual[i] - expected[i]) <= sweep.absolute) continue;
        if (const double distance = ulps(actual[i], expected[i]); distance > worst) worst = distance, at = i;
      }
      EXPECT_LE(worst, sweep.max_ulps) << to_string(sweep.fn) << " on " << to_string(target) << " at " << x[at] << ": "
                                       << actual[at] << " for " << expected[at];
    }
  }
}

TEST(Tiles, SpecialValuesAreThoseOfTheReference) {
  const std::vector<float> special = {0.0f,    -0.0f, 1,      -1,   kInf,  -kInf, NAN,   1e-42f,
                                      -1e-42f, 3e38f, -3e38f, 0.5f, -0.5f, 1.5f,  -1.5f, 2.5f,
                                      -0.3f,   1e9f,  -1e9f,  20,   -20,   100,   -100};
  std::vector<float> x, y, z;
  for (const float a : special) {
    for (const float b : special) {
      x.push_back(a);
      y.push_back(b);
      z.push_back(special[(x.size() * 7) % special.size()]);
    }
  }
  constexpr auto kAll = std::to_array<Fn>({
#define STROP_FN(name, arity, result) Fn::name,
      STROP_SCALAR_FUNCTIONS(STROP_FN)
#undef STROP_FN
  });
  for (const Fn fn : kAll) {
    if (result_rule(fn) == ScalarResult::Declared || fn == Fn::Where || !is_defined(fn, DType::F32)) continue;
    ScalarProgram program = function_program(fn, DType::F32);
    if (result_rule(fn) == ScalarResult::Bool) {
      program.outputs = {program.add_declared(Fn::Cast, DType::F32, {program.outputs[0]})};
    }
    std::vector<std::vector<float>> operands = {x, y, z};
    operands.resize(static_cast<size_t>(arity(fn)));
    const auto expected = run_reference(program, operands);
    for (const CpuTarget target : targets()) {
      const auto actual = run_tiles(program, operands, target);
      for (size_t i = 0; i < x.size(); ++i) {
        const float e = expected[i];
        const float a = actual[i];
        const std::string where =
            fmt::format("{}({}, {}, {}) on {}: {} for {}", to_string(fn), x[i], y[i], z[i], to_string(target), a, e);
        EXPECT_EQ(std::isnan(a), std::isnan(e)) << where;
        if (std::isnan(e)) continue;
        if (std::isinf(e) || e == 0 || std::isinf(a)) {
          EXPECT_TRUE(a == e || (e == 0 && std::fabs(a) < 1e-37f)) << where;
        } else {
          EXPECT_NEAR(a, e, 1e-37 + 2e-5 * std::fabs(e)) << where;
        }
        EXPECT_TRUE(e != 0 || a != 0 || std::signbit(a) == std::signbit(e)) << where;
      }
    }
  }
}

TEST(Tiles, HalfPrecisionRoundsAfterEveryInstruction) {
  const auto program =
      parse_scalar_program(
          "(x0: f16, x1: bf16) { v2 = Add(x0, x0); v3 = Mul(v2, x0); v4 = Mul(x1, x1); v5 = Add(v4, x1) } -> (v3, v5)")
          .value();
  const int64_t n = 65536;
  std::vector<uint16_t> bits(n);
  for (int64_t i = 0; i < n; ++i) bits[static_cast<size_t>(i)] = static_cast<uint16_t>(i);
  SingleThread threads;
  const Tensor half = Tensor::of<uint16_t>(DType::F16, {n}, bits);
  const Tensor bfloat = Tensor::of<uint16_t>(DType::BF16, {n}, bits);
  const Attrs attrs = PointwiseAttrs{program};
  const Value inputs[] = {half, bfloat};
  const auto expected = evaluate({kPointwise, attrs, {}, inputs, 2, threads}).value();
  for (const CpuTarget target : targets()) {
    const std::vector<TileAccess> accesses(2);
    const auto tiles = make_tile_program(program, accesses, target);
    std::vector<uint16_t> first(n), second(n);
    const void* in[] = {bits.data(), bits.data()};
    void* out[] = {first.data(), second.data()};
    tiles->run(in, out, n);
    for (int k = 0; k < 2; ++k) {
      const DType dtype = k == 0 ? DType::F16 : DType::BF16;
      const auto got = load_f64(Tensor::of<uint16_t>(dtype, {n}, k == 0 ? first : second));
      const auto want = load_f64(expected[static_cast<size_t>(k)].tensor());
      int64_t wrong = 0;
      for (size_t i = 0; i < got.size(); ++i)
        wrong += got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])) ? 0 : 1;
      EXPECT_EQ(wrong, 0) << to_string(dtype) << " on " << to_string(target);
    }
  }
}

TEST(Tiles, FloatsBecomeIntegersAsInTheReference) {
  const std::vector<float> x = {1.9f, -1.9f, 300, -300, 3e9f, -3e9f, 1e20f, NAN, kInf, 2147483648.0f, 0, 127.5f};
  for (const DType to :
       {DType::I32, DType::U8, DType::I8, DType::I16, DType::U16, DType::Bool, DType::I64, DType::U32}) {
    ScalarProgram program = cast_program(DType::F32, to);
    program.outputs = {program.add_declared(Fn::Cast, DType::F32, {program.outputs[0]})};
    for (const CpuTarget target : targets())
      EXPECT_EQ(run_tiles(program, {x}, target), run_reference(program, {x})) << to_string(to);
  }
}

// -- The tactic --

Tensor random_tensor(const Type& type, const WorkedCase& sample, std::mt19937& random) {
  const auto dims = *as_constants(type.tensor.dims());
  const int64_t count = element_count(dims);
  if (is_float(type.tensor.dtype)) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(0.1, 2);
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(sample.random_positive ? uniform(random) : normal(random));
    return store_f64(type.tensor.dtype, dims, values);
  }
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<int64_t>(random() % 19) - 9);
  return store_i64(type.tensor.dtype, dims, values);
}

struct Memory {
  std::vector<std::byte> bytes;
  Buffer buffer;
};

/// The tensor with rows `pitch` elements apart (0: dense) and guard bytes around.
Memory lay_out(const Tensor& tensor, int64_t pitch) {
  constexpr size_t kGuard = 64;
  const int64_t size = bit_width(tensor.dtype()) / 8;
  const int64_t length = tensor.rank() == 0 ? 1 : tensor.dims().back();
  const int64_t rows = length == 0 ? 0 : tensor.count() / length;
  const int64_t step = pitch == 0 ? length : pitch;
  Memory memory;
  memory.bytes.assign(2 * kGuard + static_cast<size_t>(rows * step * size), std::byte{0x5a});
  memory.buffer = {memory.bytes.data() + kGuard, pitch};
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(memory.buffer.as<char>() + row * step * size, tensor.data<char>() + row * length * size,
                static_cast<size_t>(length * size));
  }
  return memory;
}

struct Setup {
  bool pitched = false;
  bool in_place = false;
  int threads = 1;
};

void expect_like_reference(const WorkedCase& sample, const Setup& setup) {
  SCOPED_TRACE(
      fmt::format("{} pitched={} in_place={} threads={}", sample.name, setup.pitched, setup.in_place, setup.threads));
  const tactics::Tactic& tactic = *tactics::builtin_cpu_tactics().find("Pointwise.cpu.tiles");
  std::mt19937 random(7);
  std::vector<Value> inputs;
  for (const Type& type : sample.inputs) inputs.push_back(random_tensor(type, sample, random));
  const auto threads = make_thread_pool(setup.threads);
  const auto expected = evaluate({kPointwise, sample.attrs, {}, inputs, sample.output_count, *threads}).value();
  tactics::Problem problem;
  problem.op = &kPointwise;
  problem.attrs = sample.attrs;
  problem.inputs = sample.inputs;
  for (const Value& value : expected) problem.outputs.push_back(value.type());
  if (tactic.why_not(problem)) return;
  std::vector<int64_t> in_pitches, out_pitches;
  std::vector<Memory> in, out;
  const auto pitch_of = [&](const Tensor& tensor) {
    return setup.pitched && tensor.rank() > 0 ? tensor.dims().back() + 3 : 0;
  };
  for (const Value& value : inputs) {
    in_pitches.push_back(pitch_of(value.tensor()));
    in.push_back(lay_out(value.tensor(), in_pitches.back()));
  }
  for (const Value& value : expected) {
    out_pitches.push_back(out.empty() ? pitch_of(value.tensor()) : 0);
    out.push_back(lay_out(Tensor(value.tensor().dtype(), value.tensor().dims()), out_pitches.back()));
  }
  const auto launch = tactic.prepare({problem, {}, setup.threads, 0, in_pitches, out_pitches});
  ASSERT_TRUE(launch.ok());
  std::vector<Buffer> in_buffers, out_buffers;
  for (const Memory& memory : in) in_buffers.push_back(memory.buffer);
  for (const Memory& memory : out) out_buffers.push_back(memory.buffer);
  if (setup.in_place) {
    if (!(problem.inputs[0] == problem.outputs[0])) return;
    out_buffers[0] = in_buffers[0];
    out[0] = std::move(in[0]);  // moving a vector keeps its memory
  }
  ASSERT_TRUE((*launch)->run({in_buffers, out_buffers, nullptr, *threads}).ok());
  for (size_t k = 0; k < out.size(); ++k) {
    const Tensor& want = expected[k].tensor();
    // Guards and the gaps between rows are untouched: compare by reading back and laying out again.
    Tensor got(want.dtype(), want.dims());
    const int64_t size = bit_width(want.dtype()) / 8;
    const int64_t length = want.rank() == 0 ? 1 : want.dims().back();
    const int64_t step = out_pitches[k] == 0 ? length : out_pitches[k];
    for (int64_t row = 0; length > 0 && row < want.count() / length; ++row) {
      std::memcpy(got.mutable_data<char>() + row * length * size, out_buffers[k].as<char>() + row * step * size,
                  static_cast<size_t>(length * size));
    }
    if (!setup.in_place || k > 0) {
      EXPECT_EQ(lay_out(got, out_pitches[k]).bytes, out[k].bytes) << "written beyond the result";
    }
    const auto a = load_f64(got);
    const auto b = load_f64(want);
    const double relative = !is_float(want.dtype()) ? 0 : bit_width(want.dtype()) == 16 ? 8e-3 : 5e-6;
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(a[i]) && std::isnan(b[i])) continue;
      ASSERT_LE(std::fabs(a[i] - b[i]), relative * (0.1 + std::fabs(b[i])))
          << "result " << k << " element " << i << ": " << a[i] << " for " << b[i];
    }
  }
}

TEST(PointwiseTactic, MatchesTheReferenceOnEveryCase) {
  for (const WorkedCase& sample : kPointwise.cases()) {
    for (const bool pitched : {false, true}) {
      for (const bool in_place : {false, true}) {
        for (const int threads : {1, 3}) expect_like_reference(sample, {pitched, in_place, threads});
      }
    }
  }
}

WorkedCase shaped(const char* name, std::vector<Dims> shapes) {
  WorkedCase sample;
  sample.name = name;
  ScalarProgram program;
  int32_t sum = program.add_input(0, DType::F32);
  for (size_t i = 1; i < shapes.size(); ++i)
    sum = program.add(Fn::Sub, {sum, program.add_input(static_cast<int32_t>(i), DType::F32)});
  program.outputs = {sum};
  sample.attrs = PointwiseAttrs{program};
  for (const Dims& shape : shapes) sample.inputs.push_back(Type(DType::F32, shape));
  return sample;
}

TEST(PointwiseTactic, ManyShapes) {
  const WorkedCase samples[] = {
      shaped("nhwc_bias", {{2, 50, 50, 3}, {3}}),
      shaped("short_rows_of_columns", {{700, 5}, {700, 1}, {5}}),
      shaped("large_dense", {{300, 1001}, {300, 1001}}),
      shaped("large_rows", {{3, 50000}, {3, 1}}),
      shaped("one_long_row", {{100000}, {1}}),
      shaped("outer_of_vectors", {{64, 1}, {1, 64}}),
      shaped("inner_repeated_twice", {{4, 5, 6, 7}, {4, 1, 6, 1}, {5, 1, 7}}),
      shaped("column", {{500, 1}, {1, 1}}),
      shaped("both_short", {{3, 2}, {3, 1}, {2}}),
      shaped("leading", {{7, 1, 1}, {1, 3, 5}}),
  };
  for (const WorkedCase& sample : samples) {
    for (const bool pitched : {false, true}) {
      for (const int threads : {1, 2}) expect_like_reference(sample, {pitched, false, threads});
    }
  }
}

TEST(PointwiseTactic, ReasonsForRefusing) {
  const tactics::Tactic& tactic = *tactics::builtin_cpu_tactics().find("Pointwise.cpu.tiles");
  tactics::Problem problem;
  problem.op = &kPointwise;
  problem.attrs = PointwiseAttrs{function_program(Fn::Equal, DType::String)};
  problem.inputs = {Type(DType::String, {2}), Type(DType::String, {2})};
  problem.outputs = {Type(DType::Bool, {2})};
  EXPECT_EQ(tactic.why_not(problem), "no tiles of string");
  problem.attrs = PointwiseAttrs{function_program(Fn::Neg, DType::F32)};
  problem.inputs = {Type::unranked(DType::F32)};
  problem.outputs = {Type::unranked(DType::F32)};
  EXPECT_EQ(tactic.why_not(problem), "a rank is not known");
}

}  // namespace
}  // namespace strop::ops
