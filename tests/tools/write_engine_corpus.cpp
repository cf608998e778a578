// For developers: writes small engines into a folder, as seeds for the engine reader's fuzzer (tests/fuzz).
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/files.h"
#include "engine/engine_file.h"
#include "fuzz/engine_input.h"
#include "ir/graph.h"
#include "tests/runtime/lowered.h"

namespace {

using namespace strop;  // NOLINT(google-build-using-namespace): a program of one file

struct Seed {
  std::string_view name;
  std::string_view graph;
  std::string_view route = "";
};

constexpr Seed kSeeds[] = {
    {"dynamic_chain", R"(graph "g" (x: f32[n, 6]) -> (y = %y) {
  %w = constant f32[6, 2] {1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6}
  %a = MatMul(%x, %w) : f32[n, 2]
  %b = Pointwise(%a) {program=(x0: f32) { v1 = Sigmoid(x0) } -> v1} : f32[n, 2]
  %y = Reshape(%b) {shape=[2*n]} : f32[2*n]
}
)"},
    {"concatenation", R"(graph "g" (x: f32[1, 4, 3], z: f32[1, 2, 3]) -> (y = %y) {
  %a = Pointwise(%x) {program=(x0: f32) { v1 = Exp(x0) } -> v1} : f32[1, 4, 3]
  %c = Concat(%a, %z, %a) {axis=1} : f32[1, 10, 3]
  %y = Pointwise(%c) {program=(x0: f32) { v1 = Tanh(x0) } -> v1} : f32[1, 10, 3]
}
)"},
    {"passed_through", R"(graph "g" (x: f32[2, 3]) -> (same = %x, constant = %k, twice = %a, flat = %f) {
  %k = constant f32[2] {1.5, -2}
  %a = Pointwise(%x) {program=(x0: f32) { v1 = Abs(x0) } -> v1} : f32[2, 3]
  %f = Reshape(%a) {shape=[6]} : f32[6]
}
)"},
    {"branches", R"(graph "g" (c: bool[], x: f32[n]) -> (y = %y) {
  %y = If(%c, %x) : f32[n]
    region "then" (a: f32[n]) -> (r = %0) {
      %0 = Pointwise(%a) {program=(x0: f32) { v1 = Neg(x0) } -> v1} : f32[n]
    }
    region "else" (a: f32[n]) -> (r = %1) {
      %k = constant f32[1] {4}
      %1 = Pointwise(%a, %k) {program=(x0: f32, x1: f32) { v2 = Mul(x0, x1) } -> v2} : f32[n]
    }
}
)"},
    {"loop", R"(graph "g" (n: i64[], x: f32[3]) -> (y = %y) {
  %y = Loop(%n, _, %x) {carried=1, counted=true, collected_types=[]} : f32[3]
    region "body" (i: i64[], c: bool[], a: f32[3]) -> (c = %c, r = %0) {
      %0 = Pointwise(%a) {program=(x0: f32) { v1 = Neg(x0) } -> v1} : f32[3]
    }
}
)"},
    {"sizes_from_data", R"(graph "g" (x: f32[n], k: i64[1]) -> (y = %y, z = %z) {
  %y = NonZero(%x) : i64[1, ?0]
  %z = Transpose(%y) {perm=[1, 0]} : i64[?0, 1]
}
)"},
    {"strings", R"(graph "g" (x: string[2]) -> (y = %y, k = %k) {
  %k = constant string[3] {"alpha", "", "b"}
  %y = Concat(%x, %k) {axis=0} : string[5]
}
)"},
    {"element_types", R"(graph "g" (x: f16[2]) -> (y = %y, u = %u, i = %i, f = %f) {
  %k = constant f16[2] {0.5, 2}
  %u = constant u64[1] {18446744073709551615}
  %i = constant i4[3] {-8, 7, 0}
  %f = constant f8e4m3fn[1, 1] {448}
  %y = Pointwise(%x, %k) {program=(x0: f16, x1: f16) { v2 = Add(x0, x1) } -> v2} : f16[2]
}
)"},
    {"convolution", R"(graph "g" (x: f32[b, 2, 5, 5]) -> (y = %y) {
  %w = constant f32[1, 2, 3, 3] {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9}
  %a = Conv(%x, %w) {strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0]} : f32[b, 1, 3, 3]
  %y = Softmax(%a) {axis=3} : f32[b, 1, 3, 3]
}
)"},
};

Result<std::string> engine_of(const Seed& seed, const std::string& path) {
  STROP_ASSIGN(const auto graph, ir::parse_text(std::string(seed.graph), ops::builtin_operators()));
  Route route(compiler::compiler_knobs());
  STROP_TRY(route.parse(std::string(seed.route)));
  STROP_ASSIGN(auto plan, lowered(*graph, route, {{"n", {1, 64}}}));
  engine::EngineImage image;
  image.plan = std::make_shared<const plan::Plan>(std::move(plan.plan));
  image.weights = std::move(plan.weights);
  image.record = {{"precision", "fp32"}, {"route", "\"quoted\" \u00e9"}};
  SingleThread threads;
  STROP_TRY(engine::write_engine(image, path, threads));
  return read_file(path);
}

void write(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_engine_corpus FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  for (const Seed& seed : kSeeds) {
    const std::filesystem::path file = folder / "engine.tmp";
    const auto engine = engine_of(seed, file.string());
    std::filesystem::remove(file);
    if (!engine.ok()) {
      std::fprintf(stderr, "%s: %s\n", std::string(seed.name).c_str(), engine.error().message.c_str());
      return 1;
    }
    fuzz::EngineSections sections = fuzz::sections_of_file(*engine);
    write(folder / seed.name, fuzz::to_input(sections));
    if (seed.name != kSeeds[0].name) continue;
    write(folder / "whole_file", std::string(1, '\0') + *engine);
    write(folder / "whole_file_as_it_is", std::string(1, static_cast<char>(fuzz::kKeepDigests)) + *engine);
    sections.flags |= fuzz::kSigned;
    write(folder / "signed", fuzz::to_input(sections));
  }
  return 0;
}
