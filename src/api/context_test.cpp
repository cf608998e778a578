// Binding, strided tensors, the caller's memory and threads.
#include <cmath>
#include <mutex>
#include <thread>

#include "api/testing.h"

namespace strop {
namespace {

using api::testing::engine_of;
using api::testing::message_of;
using api::testing::must;
using api::testing::nonzero;
using api::testing::two_outputs;

const std::vector<float> kX = {-1, 2, -3, 4, 5, -6, 7, -8};
const std::vector<float> kRelu = {0, 2, 0, 4, 5, 0, 7, 0};
const std::vector<float> kSquare = {1, 4, 9, 16, 25, 36, 49, 64};

TensorView dense(const std::vector<float>& values, std::vector<int64_t> shape = {2, 4}) {
  return {DType::F32, std::move(shape), const_cast<float*>(values.data())};
}

std::vector<float> floats(const TensorView& tensor) {
  const auto* first = static_cast<const float*>(tensor.data);
  return {first, first + tensor.count()};
}

TEST(Context, BindsByNameAndByPosition) {
  Context context = must(engine_of(two_outputs()).context());
  std::vector<float> y(8);
  std::vector<float> z(8);
  context.bind_input(0, dense(kX)).value();
  context.bind_output(0, dense(y)).value();
  context.bind("z", dense(z)).value();
  context.run().value();
  EXPECT_EQ(y, kRelu);
  EXPECT_EQ(z, kSquare);
  EXPECT_EQ(message_of(context.bind_input(1, dense(kX))), "there is no input 1: the engine has 1");
  EXPECT_EQ(message_of(context.bind_output(2, dense(y))), "there is no output 2: the engine has 2");
  EXPECT_EQ(message_of(context.bind("w", dense(y))), "the engine has no input or output 'w'; it has x, y, z");
}

TEST(Context, WrongTensorsAreRefusedWhenBound) {
  Context context = must(engine_of(two_outputs()).context());
  alignas(8) char bytes[64] = {};
  EXPECT_EQ(message_of(context.bind("x", {DType::F32, {2, 4}, bytes + 1})),
            "'x' was given data at an address that is no multiple of 4 bytes");
  EXPECT_EQ(message_of(context.bind("x", {DType::F32, {2, 4}, nullptr})), "'x' was given without data");
  EXPECT_EQ(message_of(context.bind("x", {DType::F32, {2, -4}, bytes})), "'x': a dimension cannot be -4");
  EXPECT_EQ(message_of(context.bind("x", {DType::F32, {int64_t{1} << 40, int64_t{1} << 40}, bytes})),
            "'x': a tensor cannot have so many elements");
  EXPECT_EQ(message_of(context.bind("x", {DType::F64, {2, 4}, bytes})), "'x' has type f32, a tensor of f64 was given");
  EXPECT_EQ(
      message_of(context.bind("y", {DType::F32, {2, 4}, bytes, {2, 1}})),
      "output 'y': strides [2, 1] fold elements of shape [2, 4] onto each other: each stride must reach beyond all "
      "that smaller ones cover");
  EXPECT_EQ(message_of(context.run()), "input 'x' is not bound");  // none of them was taken
}

TEST(Context, ResetForgetsBindings) {
  Context context = must(engine_of(two_outputs()).context());
  std::vector<float> y(8, 77);
  context.bind("x", dense(kX)).value();
  context.bind("y", dense(y)).value();
  context.reset();
  EXPECT_EQ(message_of(context.run()), "input 'x' is not bound");
  context.bind("x", dense(kX)).value();
  context.run().value();
  EXPECT_EQ(y, std::vector<float>(8, 77));
  EXPECT_EQ(floats(context.output("y").value()), kRelu);
}

TEST(Context, ABufferThatDidNotFitOnceServesLater) {
  Context context = must(engine_of(two_outputs()).context());
  std::vector<float> y(8);
  context.bind("y", dense(y)).value();
  context.bind("x", dense(kX, {1, 4})).value();
  EXPECT_EQ(message_of(context.run()), "output 'y' has shape [1, 4] at these inputs: the bound buffer does not fit");
  context.bind("x", dense(kX)).value();
  context.run().value();
  EXPECT_EQ(y, kRelu);
}

TEST(Context, StridedInputsAndOutputs) {
  Context context = must(engine_of(two_outputs()).context());
  std::vector<float> columns = {-1, 5, 2, -6, -3, 7, 4, -8};  // x transposed
  std::vector<float> both(2 * 9, -1);                         // y and z side by side, rows of 9
  context.bind("x", {DType::F32, {2, 4}, columns.data(), {1, 2}}).value();
  context.bind("y", {DType::F32, {2, 4}, both.data(), {9, 1}}).value();
  context.bind("z", {DType::F32, {2, 4}, both.data() + 4, {9, 1}}).value();
  context.run().value();
  EXPECT_EQ(both, (std::vector<float>{0, 2, 0, 4, 1, 4, 9, 16, -1, 5, 0, 7, 0, 25, 36, 49, 64, -1}));
  const TensorView y = context.output("y").value();
  EXPECT_EQ(y.data, both.data());
  EXPECT_EQ(y.strides, (std::vector<int64_t>{9, 1}));
  columns[0] = 3;  // inputs are read at each run
  context.run().value();
  EXPECT_EQ(both[0], 3);
  context.bind("y", dense(both, {2, 4})).value();  // dense again: z now lies across it
  EXPECT_EQ(message_of(context.run()), "the buffers of outputs 'z' and 'y' overlap");
}

TEST(Context, OutputsThatOverlapAreRefused) {
  Context context = must(engine_of(two_outputs()).context());
  std::vector<float> memory(32);
  context.bind("x", dense(memory)).value();
  context.bind("y", {DType::F32, {2, 4}, memory.data() + 4, {8, 1}}).value();
  EXPECT_EQ(message_of(context.run()), "the buffer of output 'y' overlaps an input");
  context.bind("y", dense(memory)).value();
  EXPECT_EQ(message_of(context.run()), "the buffer of output 'y' overlaps an input");
  context.bind("y", {DType::F32, {2, 4}, memory.data() + 8, {8, 1}}).value();
  context.bind("z", {DType::F32, {2, 4}, memory.data() + 11, {8, 1}}).value();
  EXPECT_EQ(message_of(context.run()), "the buffers of outputs 'y' and 'z' overlap");
  context.bind("z", {DType::F32, {2, 4}, memory.data() + 12, {8, 1}}).value();
  context.run().value();
}

/// Counts what it hands out; fails from the `failing`-th call on.
class CountingAllocator final : public Allocator {
 public:
  void* allocate(size_t bytes, size_t alignment) override {
    const std::lock_guard lock(mutex_);
    if (++calls > failing) return nullptr;
    live += static_cast<int64_t>(bytes);
    total += static_cast<int64_t>(bytes);
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  void deallocate(void* memory, size_t bytes, size_t) noexcept override {
    const std::lock_guard lock(mutex_);
    live -= static_cast<int64_t>(bytes);
    std::free(memory);
  }
  int64_t calls = 0;
  int64_t failing = INT64_MAX;
  int64_t live = 0;
  int64_t total = 0;

 private:
  std::mutex mutex_;
};

TEST(CallersMemory, ArenasAndOutputsComeFromIt) {
  const auto allocator = std::make_shared<CountingAllocator>();
  {
    const Engine engine = engine_of(two_outputs(), Runtime({.threads = 1, .allocator = allocator}));
    Context context = must(engine.context());
    context.bind("x", dense(kX)).value();
    context.run().value();
    EXPECT_EQ(floats(context.output("y").value()), kRelu);
    EXPECT_EQ(floats(context.output("z").value()), kSquare);
    const int64_t arena = context.memory().arena_bytes;
    EXPECT_EQ(allocator->total, arena + 2 * 32);
    const int64_t calls = allocator->calls;
    context.run().value();
    EXPECT_EQ(allocator->calls, calls);  // the outputs' memory is used again
    std::vector<float> larger(40, 2);
    context.bind("x", dense(larger, {10, 4})).value();
    context.run().value();
    EXPECT_EQ(allocator->live, context.memory().arena_bytes + 2 * 160);
    EXPECT_EQ(floats(context.output("z").value()), std::vector<float>(40, 4));
  }
  EXPECT_EQ(allocator->live, 0);
}

TEST(CallersMemory, OutputsOfUnknownSizeComeFromItToo) {
  const auto allocator = std::make_shared<CountingAllocator>();
  {
    Context context = must(engine_of(nonzero(), Runtime({.threads = 1, .allocator = allocator})).context());
    const std::vector<float> x = {0, 3, 0, 5, 7};
    context.bind("x", dense(x, {5})).value();
    context.run().value();
    const TensorView y = context.output("y").value();
    ASSERT_EQ(y.shape, (std::vector<int64_t>{1, 3}));
    const auto* found = static_cast<const int64_t*>(y.data);
    EXPECT_EQ((std::vector<int64_t>{found, found + 3}), (std::vector<int64_t>{1, 3, 4}));
    EXPECT_EQ(allocator->live, context.memory().arena_bytes + 24);
  }
  EXPECT_EQ(allocator->live, 0);
}

TEST(CallersMemory, NoMemoryIsAnErrorWhereverItIsMissing) {
  for (int64_t allowed = 0;; ++allowed) {
    const auto allocator = std::make_shared<CountingAllocator>();
    allocator->failing = allowed;
    bool enough = false;
    {
      Context context = must(engine_of(two_outputs(), Runtime({.threads = 1, .allocator = allocator})).context());
      std::vector<float> strided(16);
      const auto bound = context.bind("y", {DType::F32, {2, 4}, strided.data(), {8, 1}});
      context.bind("x", dense(kX)).value();
      const auto ran = context.run();
      enough = bound.ok() && ran.ok();
      for (const auto* result : {&bound, &ran}) {
        if (result->ok()) continue;
        EXPECT_EQ(result->error().code, ErrorCode::OutOfMemory) << result->error().message;
      }
      allocator->failing = INT64_MAX;  // and when there is memory again, the same context works
      context.bind("y", {DType::F32, {2, 4}, strided.data(), {8, 1}}).value();
      context.run().value();
      EXPECT_EQ(strided[3], 4);
    }
    EXPECT_EQ(allocator->live, 0);
    if (enough) {
      EXPECT_GE(allowed, 2);
      break;
    }
  }
}

TEST(OutputMemory, TheCallerIsAskedWithNameTypeAndShape) {
  std::vector<float> y(8);
  std::vector<std::string> asked;
  ContextOptions options;
  options.allocate_output = [&](std::string_view name, DType dtype, const std::vector<int64_t>& shape) -> void* {
    asked.push_back(std::string(name) + " " + std::string(to_string(dtype)) + " " + std::to_string(shape[0]));
    return y.data();
  };
  Context context = must(engine_of(two_outputs()).context(options));
  std::vector<float> z(8);
  context.bind("z", dense(z)).value();
  context.bind("x", dense(kX)).value();
  context.run().value();
  EXPECT_EQ(asked, (std::vector<std::string>{"y f32 2"}));  // z is bound
  EXPECT_EQ(y, kRelu);
  EXPECT_EQ(context.output("y").value().data, y.data());
  context.bind("z", dense(y)).value();
  EXPECT_EQ(message_of(context.run()), "the buffers of outputs 'y' and 'z' overlap");
}

TEST(OutputMemory, UnknownSizesAreAskedForWhenTheDataAreThere) {
  std::vector<int64_t> memory(8, -1);
  ContextOptions options;
  options.allocate_output = [&](std::string_view, DType, const std::vector<int64_t>& shape) -> void* {
    return shape == std::vector<int64_t>{1, 3} ? memory.data() : nullptr;
  };
  Context context = must(engine_of(nonzero()).context(options));
  const std::vector<float> x = {0, 3, 0, 5, 7};
  context.bind("x", dense(x, {5})).value();
  context.run().value();
  EXPECT_EQ(memory, (std::vector<int64_t>{1, 3, 4, -1, -1, -1, -1, -1}));
  const std::vector<float> others = {1, 1};
  context.bind("x", dense(others, {2})).value();
  const auto ran = context.run();
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, ErrorCode::OutOfMemory);
  EXPECT_EQ(ran.error().message, "node 'find' (NonZero): there is no memory for output 'y' of i64[1, 2]");
}

/// Runs its calls backwards, on threads made for each loop.
class BackwardPool final : public ThreadPool {
 public:
  int size() const override { return 3; }
  void run(int count, const std::function<void(int)>& work) override {
    ++loops;
    std::vector<std::thread> threads;
    for (int i = count; i-- > 0;) {
      threads.emplace_back([&work, i, this] {
        work(i);
        ++calls;
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::atomic<int> loops{0};
  std::atomic<int> calls{0};
};

/// Does nothing in parallel, and forgets some of its work.
class LazyPool final : public ThreadPool {
 public:
  int size() const override { return 4; }
  void run(int, const std::function<void(int)>&) override { ++loops; }
  int loops = 0;
};

TEST(CallersThreads, KernelsRunOnThem) {
  const auto pool = std::make_shared<BackwardPool>();
  const Runtime runtime({.thread_pool = pool});
  EXPECT_EQ(runtime.threads(), 3);
  const Engine engine = engine_of(two_outputs(), runtime);
  const int loops_of_build = pool->loops;
  Context context = must(engine.context());
  const HostTensor x = random_tensor(DType::F32, {4096, 4}, 1);
  context.bind("x", x).value();
  context.run().value();
  EXPECT_GT(pool->loops, loops_of_build);
  EXPECT_GT(pool->calls, pool->loops);
  const TensorView z = context.output("z").value();
  for (int64_t i = 0; i < x.count(); ++i) {
    const float value = x.data<float>()[i];
    ASSERT_EQ(static_cast<const float*>(z.data)[i], value * value);
  }
}

TEST(CallersThreads, WorkThatAPoolLeavesIsDone) {
  const auto pool = std::make_shared<LazyPool>();
  Context context = must(engine_of(two_outputs(), Runtime({.thread_pool = pool})).context());
  const HostTensor x = random_tensor(DType::F32, {4096, 4}, 1);
  context.bind("x", x).value();
  context.run().value();
  EXPECT_GT(pool->loops, 0);
  const auto* z = static_cast<const float*>(context.output("z").value().data);
  for (int64_t i = 0; i < x.count(); ++i) ASSERT_EQ(z[i], x.data<float>()[i] * x.data<float>()[i]);
}

TEST(FromMemory, EnginesAreReadFromBytes) {
  const std::string path = ::testing::TempDir() + "from_memory.strop";
  engine_of(two_outputs()).save(path).value();
  std::FILE* file = std::fopen(path.c_str(), "rb");
  std::vector<std::byte> bytes(1 << 20);
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
  std::fclose(file);
  Engine engine = must(Engine::load_from_memory(bytes, Runtime({.threads = 1})));
  EXPECT_EQ(engine.file_digest(), Engine::load(path, Runtime({.threads = 1})).value().file_digest());
  bytes[bytes.size() / 2] ^= std::byte{1};  // not used any more
  Context context = must(engine.context());
  context.bind("x", dense(kX)).value();
  context.run().value();
  EXPECT_EQ(floats(context.output("y").value()), kRelu);
  const auto damaged = Engine::load_from_memory(bytes, Runtime({.threads = 1}));
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.error().code, ErrorCode::InvalidEngine);
  EXPECT_TRUE(damaged.error().message.starts_with("engine in memory: its ")) << damaged.error().message;
  EXPECT_EQ(message_of(Engine::load_from_memory({}, Runtime({.threads = 1}))),
            "engine in memory: this is not a Strop engine");
}

TEST(FromMemory, ModelsAreVerifiedAndInspected) {
  const Model model = two_outputs();
  const VerifyReport report = must(verify(engine_of(model), model));
  EXPECT_TRUE(report.pass);
  EXPECT_EQ(report.outputs.size(), 2);
  EXPECT_NE(must(inspect_model_json(model)).find("\"Relu\":1"), std::string::npos);
  const auto damaged = build(Model::from_memory("neither"));
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.error().code, ErrorCode::InvalidModel);
}

TEST(Io, PortsHaveTheTypeAndTheLayoutAskedFor) {
  BuildOptions options;
  options.device = Device::cpu();
  options.shapes["x"].min = options.shapes["x"].opt = options.shapes["x"].max = {1, 2, 3, 2};  // as the engine has it
  options.io = {{"x", {DType::U8, "nhwc"}}, {"y", {DType::F64, "nhwc"}}};
  const Model model = api::testing::picture();
  const Engine engine = must(build(model, options, Runtime({.threads = 1})));
  EXPECT_EQ(engine.inputs()[0].dtype, DType::U8);
  EXPECT_EQ(engine.inputs()[0].shape, (std::vector<std::string>{"1", "2", "3", "2"}));
  EXPECT_EQ(engine.outputs()[0].dtype, DType::F64);
  EXPECT_EQ(engine.outputs()[0].shape, (std::vector<std::string>{"1", "2", "3", "2"}));
  Context context = must(engine.context());
  std::vector<uint8_t> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255};
  std::vector<double> y(12);
  context.bind("x", {DType::U8, {1, 2, 3, 2}, x.data()}).value();
  context.bind("y", {DType::F64, {1, 2, 3, 2}, y.data()}).value();
  context.run().value();
  EXPECT_EQ(y, std::vector<double>(x.begin(), x.end()));
  EXPECT_NE(must(engine.inspect_json()).find("\"io\":{\"x\":\"u8:nhwc\",\"y\":\"f64:nhwc\"}"), std::string::npos);
}

TEST(Shapes, OpenDimensionsAreTheOptimum) {
  BuildOptions options;
  options.device = Device::cpu();
  options.shapes["x"] = {.min = {2, 4}, .opt = {5, 4}, .max = {8, 4}};
  const Model model = two_outputs();
  const Engine engine = must(build(model, options, Runtime({.threads = 1})));
  const std::string path = ::testing::TempDir() + "optimum.strop";
  engine.save(path).value();
  for (const Engine& one : {engine, must(Engine::load(path, Runtime({.threads = 1})))}) {
    EXPECT_EQ(must(one.input_shapes()).at("x"), (std::vector<int64_t>{5, 4}));
    EXPECT_EQ(must(one.input_shapes({{"x", {3, 4}}})).at("x"), (std::vector<int64_t>{3, 4}));
    const ShapeProfile profile = one.inputs()[0].profile;
    EXPECT_EQ(profile.min, (std::vector<int64_t>{2, 4}));
    EXPECT_EQ(profile.opt, (std::vector<int64_t>{5, 4}));
    EXPECT_EQ(profile.max, (std::vector<int64_t>{8, 4}));
    EXPECT_EQ(must(verify(one, model)).outputs[0].shape, (std::vector<int64_t>{5, 4}));
    EXPECT_EQ(message_of(one.input_shapes({{"x", {int64_t{1} << 40, 4}}})),
              "input 'x': [1099511627776, 4] is no shape: sizes are from 0, at most 2^40 elements");
  }
  // Without an optimum, the size nearest 1.
  options.shapes["x"].opt.clear();
  EXPECT_EQ(must(must(build(model, options, Runtime({.threads = 1}))).input_shapes()).at("x"),
            (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(must(engine_of(model).input_shapes()).at("x"), (std::vector<int64_t>{1, 4}));
  EXPECT_TRUE(engine_of(model).inputs()[0].profile.min.empty());
}

TEST(Verify, LimitsThatMakeNoSenseAreRefused) {
  const Model model = two_outputs();
  const Engine engine = engine_of(model);
  for (const double limit : {-1e-9, std::nan(""), HUGE_VAL})
    EXPECT_FALSE(verify(engine, model, {.metric = Metric::Linf, .limit = limit}).ok()) << limit;
  EXPECT_FALSE(verify(engine, model, {.metric = Metric::Cos, .limit = 1.001}).ok());
  EXPECT_TRUE(must(verify(engine, model, {.metric = Metric::Cos, .limit = -1})).pass);
  EXPECT_DOUBLE_EQ(default_limit(Metric::Cos), 0.999999995);
}

TEST(Io, VerificationKnowsTheChangedPorts) {
  BuildOptions options;
  options.device = Device::cpu();
  options.io = {{"x", {DType::F16, "nhwc"}}, {"y", {DType::F16, ""}}};
  const Model model = api::testing::picture();
  const std::string path = ::testing::TempDir() + "io.strop";
  must(build(model, options, Runtime({.threads = 1}))).save(path).value();
  const VerifyReport report = must(verify(must(Engine::load(path, Runtime({.threads = 1}))), model));
  EXPECT_TRUE(report.pass);
  ASSERT_EQ(report.outputs.size(), 1U);
  EXPECT_EQ(report.outputs[0].dtype, DType::F16);
  EXPECT_EQ(report.outputs[0].l0, 0);
}

TEST(Io, UnknownPortsAreRefused) {
  BuildOptions options;
  options.device = Device::cpu();
  options.io = {{"z", {DType::F16, ""}}};
  EXPECT_EQ(message_of(build(api::testing::picture(), options)), "io: there is no input or output 'z'; there are x, y");
}

}  // namespace
}  // namespace strop
