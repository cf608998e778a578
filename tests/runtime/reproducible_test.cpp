// The same model, options and times give the same bytes, whatever order threads, hash tables and the heap bring. A
// program of its own, because it replaces the hash of the standard library's tables.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>

#include "onnx/model_writer.h"
#include "strop/strop.h"

namespace {
size_t hash_seed = 0;
int64_t hashed = 0;
}  // namespace

// libstdc++'s hash of bytes, which std::hash of strings calls: FNV-1a from a seed of ours.
namespace std {
// NOLINTNEXTLINE: the library's own name
__attribute__((visibility("default"))) size_t _Hash_bytes(const void* data, size_t size, size_t seed) {
  ++hashed;
  size_t hash = (14695981039346656037ULL ^ hash_seed) * 0x9E3779B97F4A7C15ULL ^ seed;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211ULL;
  return hash ^ hash >> 29;
}
}  // namespace std

namespace strop {
namespace {

using namespace onnx::testing;  // NOLINT: the model writer's vocabulary

/// Says that it has four threads, and runs their work one after another in random order.
class ShuffledPool : public ThreadPool {
 public:
  explicit ShuffledPool(unsigned seed) : random_(seed) {}
  int size() const override { return 4; }
  void run(int count, const std::function<void(int)>& work) override {
    std::vector<int> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    for (const int index : order) work(index);
  }

 private:
  std::mt19937 random_;
};

std::vector<float> numbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

// Convolutions with normalisations to fold, residuals, a concatenation, shared initializers, a condition, a matrix
// product: something for every pass.
std::string network() {
  GraphSpec spec;
  std::string last = "x";
  for (int i = 0; i < 6; ++i) {
    const std::string n = std::to_string(i);
    const int64_t from = i == 0 ? 3 : 16;
    spec.initializers.push_back(
        f32_tensor("w" + n, {16, from, 3, 3}, numbers(16 * from * 9, 1 + static_cast<unsigned>(i))));
    spec.initializers.push_back(f32_tensor("s" + n, {16, 1, 1}, numbers(16, 20 + static_cast<unsigned>(i))));
    spec.nodes.push_back(node("Conv", {last, "w" + n}, {"c" + n}, {ints_attr("pads", {1, 1, 1, 1})}, "conv" + n));
    spec.nodes.push_back(node("Mul", {"c" + n, "s" + n}, {"m" + n}, {}, "scale" + n));
    spec.nodes.push_back(node("Relu", {"m" + n}, {"r" + n}, {}, "relu" + n));
    if (i >= 2)
      spec.nodes.push_back(node("Add", {"r" + n, "o" + std::to_string(i - 1)}, {"o" + n}, {}, "add" + n));
    else
      spec.nodes.push_back(node("Sigmoid", {"r" + n}, {"o" + n}, {}, "sigmoid" + n));
    last = "o" + n;
  }
  spec.nodes.push_back(node("Concat", {"o3", "o5"}, {"cat"}, {int_attr("axis", 1)}, "cat"));
  spec.nodes.push_back(node("GlobalAveragePool", {"cat"}, {"pool"}, {}, "pool"));
  spec.nodes.push_back(node("Flatten", {"pool"}, {"flat"}, {}, "flat"));
  spec.initializers.push_back(f32_tensor("fc", {32, 10}, numbers(320, 40)));
  spec.nodes.push_back(node("MatMul", {"flat", "fc"}, {"logits"}, {}, "fc"));
  const auto branch = [](std::string_view op, std::string_view name) {
    return graph({.nodes = {node(op, {"logits"}, {std::string(name)}, {}, op)},
                  .initializers = {},
                  .inputs = {},
                  .outputs = {value_info(name, DType::F32, {"n", 10})},
                  .name = std::string(name)});
  };
  spec.nodes.push_back(
      node("If", {"hard"}, {"y"},
           {graph_attr("then_branch", branch("Hardmax", "one")), graph_attr("else_branch", branch("Softmax", "soft"))},
           "choice"));
  spec.inputs = {value_info("x", DType::F32, {1, 3, 24, 24}), value_info("hard", DType::Bool, onnx::testing::Shape{})};
  spec.outputs = {value_info("y", DType::F32, {1, 10})};
  return model(spec);
}

class Reproducible : public testing::Test {
 protected:
  Reproducible()
      : folder_(std::filesystem::temp_directory_path() / ("strop_reproducible_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Reproducible() override { std::filesystem::remove_all(folder_); }

  /// The engine file, from a build in which `seed` decides what order the machine brings.
  std::string built(unsigned seed, const BuildOptions& options) {
    hash_seed = seed;
    std::mt19937 random(seed);
    std::vector<std::unique_ptr<char[]>> heap;  // other addresses, and so another order of pointers
    for (int i = 0; i < 400; ++i) {
      heap.push_back(std::make_unique<char[]>(16 + random() % 600));
      if (random() % 2 == 0) heap[random() % heap.size()].reset();
    }
    const Runtime runtime(
        {.log = [](LogLevel, std::string_view) {}, .thread_pool = std::make_shared<ShuffledPool>(seed)});
    const auto engine = build(Model::from_memory(network()), options, runtime);
    EXPECT_TRUE(engine.ok()) << engine.error().message;
    if (!engine.ok()) return "";
    const std::filesystem::path path = folder_ / ("of_seed_" + std::to_string(seed));
    EXPECT_TRUE(engine->save(path.string()).ok());
    std::stringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
  }

  std::filesystem::path folder_;
};

TEST_F(Reproducible, InAnyOrderOfThreadsHashesAndPointers) {
  const std::string first = built(0, {.effort = 0});
  const int64_t hashed_before = hashed;
  for (unsigned seed = 1; seed <= 20; ++seed) EXPECT_EQ(built(seed, {.effort = 0}) == first, true) << "seed " << seed;
  EXPECT_GT(hashed, hashed_before) << "the hash that this test shuffles is not the one that is used";
}

TEST_F(Reproducible, FromMeasuredTimesToo) {
  BuildOptions options;
  options.effort = 1;
  options.timing_cache = (folder_ / "times").string();
  const std::string cold = built(100, options);
  options.timing_cache_only = true;
  for (unsigned seed = 101; seed <= 110; ++seed) EXPECT_EQ(built(seed, options) == cold, true) << "seed " << seed;
}

TEST_F(Reproducible, OtherTimesWouldShow) {
  // That engines can differ at all, so that the comparisons above say something.
  EXPECT_NE(built(0, {.effort = 0}) == built(0, {.route = "passes.fold_affine=off", .effort = 0}), true);
}

}  // namespace
}  // namespace strop
