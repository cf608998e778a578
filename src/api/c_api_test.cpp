// The C API: right values, who owns what, and hostile use.
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>

#include "api/testing.h"
#include "strop/strop_c.h"

namespace strop {
namespace {

struct Freed {
  void operator()(strop_engine* engine) const { strop_engine_free(engine); }
  void operator()(strop_context* context) const { strop_context_free(context); }
  void operator()(strop_runtime* runtime) const { strop_runtime_free(runtime); }
  void operator()(char* text) const { strop_string_free(text); }
};
template <class T>
using Owned = std::unique_ptr<T, Freed>;

strop_model model_of(const Model& model) {
  strop_model result = STROP_MODEL_INIT;
  result.bytes = model.bytes()->data();
  result.byte_count = model.bytes()->size();
  return result;
}

Owned<strop_engine> build_engine(const Model& model, const strop_runtime* runtime = nullptr) {
  const strop_model source = model_of(model);
  strop_build_options options = STROP_BUILD_OPTIONS_INIT;
  options.device = STROP_DEVICE_CPU;
  strop_engine* engine = nullptr;
  strop_error error = STROP_ERROR_INIT;
  EXPECT_EQ(strop_build(&source, &options, runtime, &engine, &error), STROP_OK) << error.message;
  return Owned<strop_engine>(engine);
}

Owned<strop_context> context_of(const strop_engine* engine, const strop_context_options* options = nullptr) {
  strop_context* context = nullptr;
  strop_error error = STROP_ERROR_INIT;
  EXPECT_EQ(strop_context_create(engine, options, &context, &error), STROP_OK) << error.message;
  return Owned<strop_context>(context);
}

strop_tensor tensor_of(std::vector<float>& values, const std::vector<int64_t>& dims) {
  strop_tensor tensor = STROP_TENSOR_INIT;
  tensor.dtype = STROP_F32;
  tensor.rank = static_cast<int32_t>(dims.size());
  tensor.dims = dims.data();
  tensor.data = values.data();
  return tensor;
}

/// y = x, of strings.
Model echo() {
  namespace w = onnx::testing;
  return Model::from_memory(w::model(w::GraphSpec{.nodes = {w::node("Identity", {"x"}, {"y"}, {}, "copy")},
                                                  .initializers = {},
                                                  .inputs = {w::value_info("x", DType::String, {"n"})},
                                                  .outputs = {w::value_info("y", DType::String, {"n"})}}));
}

class CApi : public ::testing::Test {
 protected:
  strop_error error = STROP_ERROR_INIT;
  std::vector<float> x = {-1, 2, -3, 4};
  const std::vector<int64_t> dims = {1, 4};
};

TEST_F(CApi, RunsWithBoundOutputsAndWithout) {
  const auto engine = build_engine(api::testing::two_outputs());
  const auto context = context_of(engine.get());
  std::vector<float> y(4);
  const strop_tensor input = tensor_of(x, dims);
  const strop_tensor output = tensor_of(y, dims);
  ASSERT_EQ(strop_context_bind(context.get(), "x", &input, &error), STROP_OK) << error.message;
  ASSERT_EQ(strop_context_bind_output(context.get(), 0, &output, &error), STROP_OK) << error.message;
  ASSERT_EQ(strop_context_run(context.get(), &error), STROP_OK) << error.message;
  EXPECT_EQ(y, (std::vector<float>{0, 2, 0, 4}));
  strop_tensor z = STROP_TENSOR_INIT;
  ASSERT_EQ(strop_context_output(context.get(), "z", &z, &error), STROP_OK) << error.message;
  EXPECT_EQ(z.dtype, STROP_F32);
  ASSERT_EQ(z.rank, 2);
  EXPECT_EQ(z.dims[1], 4);
  EXPECT_EQ(z.strides, nullptr);
  const auto* squares = static_cast<const float*>(z.data);
  EXPECT_EQ((std::vector<float>{squares, squares + 4}), (std::vector<float>{1, 4, 9, 16}));
  strop_memory_info memory = STROP_MEMORY_INFO_INIT;
  EXPECT_EQ(strop_context_memory(context.get(), &memory, &error), STROP_OK);
  EXPECT_GE(memory.arena_bytes, memory.arena_lower_bound_bytes);
  double times[1] = {-1};
  size_t count = 0;
  ASSERT_EQ(strop_context_profile(context.get(), times, 1, &count, &error), STROP_OK) << error.message;
  EXPECT_GE(count, 1U);
  EXPECT_GE(times[0], 0);
  ASSERT_EQ(strop_context_reset(context.get(), &error), STROP_OK);
  EXPECT_EQ(strop_context_run(context.get(), &error), STROP_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "input 'x' is not bound");
}

TEST_F(CApi, ContextsOutliveTheirEngine) {
  auto engine = build_engine(api::testing::two_outputs());
  const auto context = context_of(engine.get());
  engine.reset();
  const strop_tensor input = tensor_of(x, dims);
  ASSERT_EQ(strop_context_bind_input(context.get(), 0, &input, nullptr), STROP_OK);
  EXPECT_EQ(strop_context_run(context.get(), nullptr), STROP_OK);
}

TEST_F(CApi, PortsSayWhatTheEngineTakes) {
  const auto engine = build_engine(api::testing::two_outputs());
  EXPECT_EQ(strop_engine_input_count(engine.get()), 1U);
  EXPECT_EQ(strop_engine_output_count(engine.get()), 2U);
  strop_port port = STROP_PORT_INIT;
  ASSERT_EQ(strop_engine_input(engine.get(), 0, &port, &error), STROP_OK);
  EXPECT_STREQ(port.name, "x");
  EXPECT_EQ(port.kind, STROP_PORT_TENSOR);
  EXPECT_EQ(port.dtype, STROP_F32);
  ASSERT_EQ(port.rank, 2);
  EXPECT_EQ(port.dims[0], -1);
  EXPECT_EQ(port.dims[1], 4);
  EXPECT_STREQ(port.dim_texts[0], "n");
  ASSERT_EQ(strop_engine_output(engine.get(), 1, &port, &error), STROP_OK);
  EXPECT_STREQ(port.name, "z");
  EXPECT_EQ(strop_engine_output(engine.get(), 2, &port, &error), STROP_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "there is no port 2: the engine has 2");
}

TEST_F(CApi, SavedEnginesAreTheSame) {
  const std::string path = ::testing::TempDir() + "c_api.strop";
  const auto engine = build_engine(api::testing::two_outputs());
  ASSERT_EQ(strop_engine_save(engine.get(), path.c_str(), nullptr, &error), STROP_OK) << error.message;
  strop_engine* loaded = nullptr;
  ASSERT_EQ(strop_engine_load(path.c_str(), nullptr, nullptr, &loaded, &error), STROP_OK) << error.message;
  const Owned<strop_engine> owner(loaded);
  char* before = nullptr;
  char* after = nullptr;
  ASSERT_EQ(strop_engine_file_digest(engine.get(), &before, &error), STROP_OK);
  ASSERT_EQ(strop_engine_file_digest(loaded, &after, &error), STROP_OK);
  EXPECT_STREQ(before, after);
  EXPECT_EQ(std::strlen(before), 64U);
  strop_string_free(before);
  strop_string_free(after);
  const uint8_t key[32] = {1};
  strop_load_options options = STROP_LOAD_OPTIONS_INIT;
  options.required_key = key;
  strop_engine* refused = nullptr;
  EXPECT_EQ(strop_engine_load(path.c_str(), nullptr, &options, &refused, &error), STROP_INVALID_ENGINE);
  EXPECT_EQ(refused, nullptr);
  EXPECT_NE(std::string(error.message).find("it carries no signature, and one is required"), std::string::npos);
}

TEST_F(CApi, StringsGoInAndOut) {
  const auto context = context_of(build_engine(echo()).get());
  const int64_t two[] = {2};
  strop_tensor tensor = STROP_TENSOR_INIT;
  tensor.dtype = STROP_STRING;
  tensor.rank = 1;
  tensor.dims = two;
  {
    const std::string zero("a\0b", 3);
    strop_text texts[] = {{zero.data(), zero.size()}, {nullptr, 0}};
    tensor.data = texts;
    ASSERT_EQ(strop_context_bind(context.get(), "x", &tensor, &error), STROP_OK) << error.message;
  }
  ASSERT_EQ(strop_context_run(context.get(), &error), STROP_OK) << error.message;
  strop_tensor output = STROP_TENSOR_INIT;
  ASSERT_EQ(strop_context_output(context.get(), "y", &output, &error), STROP_OK) << error.message;
  const auto* texts = static_cast<const strop_text*>(output.data);
  EXPECT_EQ(std::string(texts[0].data, texts[0].bytes), std::string("a\0b", 3));
  EXPECT_EQ(texts[1].bytes, 0U);
  EXPECT_EQ(strop_context_bind(context.get(), "y", &output, &error), STROP_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "outputs of strings cannot be bound: read them with strop_context_output");
}

TEST_F(CApi, VerifiesAndInspects) {
  const auto engine = build_engine(api::testing::two_outputs());
  const Model model = api::testing::two_outputs();
  const strop_model source = model_of(model);
  int32_t pass = -1;
  char* report = nullptr;
  ASSERT_EQ(strop_verify(engine.get(), &source, nullptr, &pass, &report, &error), STROP_OK) << error.message;
  EXPECT_EQ(pass, 1);
  EXPECT_EQ(std::string(report).find("{\"pass\":true,\"pairs\":1,\"outputs\":[{\"name\":\"y\",\"dtype\":\"f32\""), 0U)
      << report;
  strop_string_free(report);
  strop_verify_options options = STROP_VERIFY_OPTIONS_INIT;
  options.metric = STROP_METRIC_COS;
  options.limit = 1;  // no answer is nearer than equal
  ASSERT_EQ(strop_verify(engine.get(), &source, &options, &pass, nullptr, &error), STROP_OK) << error.message;
  EXPECT_EQ(pass, 1);
  options.limit = -3;
  EXPECT_EQ(strop_verify(engine.get(), &source, &options, &pass, nullptr, &error), STROP_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "a limit of -3 for the cosine: write a number from -1 to 1");
  for (const auto ask : {+[](char** text) { return strop_knobs_json(text, nullptr); },
                         +[](char** text) { return strop_doctor_json(nullptr, text, nullptr); }}) {
    char* text = nullptr;
    ASSERT_EQ(ask(&text), STROP_OK);
    EXPECT_TRUE(text[0] == '[' || text[0] == '{') << text;
    strop_string_free(text);
  }
  char* json = nullptr;
  ASSERT_EQ(strop_engine_inspect_json(engine.get(), &json, &error), STROP_OK);
  EXPECT_NE(std::strstr(json, "\"steps\":["), nullptr);
  strop_string_free(json);
  ASSERT_EQ(strop_inspect_model_json(&source, &json, &error), STROP_OK);
  EXPECT_NE(std::strstr(json, "\"Relu\":1"), nullptr);
  strop_string_free(json);
}

TEST_F(CApi, BuildOptionsCount) {
  const Model model = api::testing::two_outputs();
  const strop_model source = model_of(model);
  const int64_t fixed[] = {3, 4};
  strop_shape shape = STROP_SHAPE_INIT;
  shape.name = "x";
  shape.rank = 2;
  shape.opt = fixed;
  const char* outputs[] = {"z"};
  strop_build_options options = STROP_BUILD_OPTIONS_INIT;
  options.device = STROP_DEVICE_CPU;
  options.shapes = &shape;
  options.shape_count = 1;
  options.outputs = outputs;
  options.output_count = 1;
  int stages = 0;
  options.progress = [](void* user, const char*, const char*, int64_t, int64_t) { ++*static_cast<int*>(user); };
  options.progress_user = &stages;
  strop_engine* made = nullptr;
  ASSERT_EQ(strop_build(&source, &options, nullptr, &made, &error), STROP_OK) << error.message;
  const Owned<strop_engine> engine(made);
  EXPECT_GT(stages, 1);
  EXPECT_EQ(strop_engine_output_count(made), 1U);
  strop_port port = STROP_PORT_INIT;
  ASSERT_EQ(strop_engine_input(made, 0, &port, &error), STROP_OK);
  EXPECT_EQ(port.dims[0], 3);
  options.route = "no.such=knob";
  EXPECT_EQ(strop_build(&source, &options, nullptr, &made, &error), STROP_INVALID_ARGUMENT);
  options.route = nullptr;
  options.timing_cache_only = 1;
  EXPECT_EQ(strop_build(&source, &options, nullptr, &made, &error), STROP_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "timing_cache_only needs a timing cache: name its file");
  options.timing_cache_only = 0;
  options.precision = 77;
  EXPECT_EQ(strop_build(&source, &options, nullptr, &made, &error), STROP_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "77 is no precision");
  EXPECT_EQ(made, engine.get());  // untouched
}

/// What a caller lends a runtime, counted.
struct Lent {
  std::mutex mutex;
  int64_t live_bytes = 0;
  int allocations = 0;
  bool none_left = false;
  std::atomic<int> calls{0};
  int released = 0;
};

strop_runtime_options lend(Lent& lent, strop_allocator& allocator, strop_thread_pool& pool) {
  allocator.user = &lent;
  allocator.allocate = [](void* user, size_t bytes, size_t alignment) -> void* {
    auto& mine = *static_cast<Lent*>(user);
    const std::lock_guard lock(mine.mutex);
    if (mine.none_left) return nullptr;
    ++mine.allocations;
    mine.live_bytes += static_cast<int64_t>(bytes);
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  allocator.deallocate = [](void* user, void* memory, size_t bytes, size_t) {
    auto& mine = *static_cast<Lent*>(user);
    const std::lock_guard lock(mine.mutex);
    mine.live_bytes -= static_cast<int64_t>(bytes);
    std::free(memory);
  };
  pool.threads = 2;
  pool.user = &lent;
  pool.run = [](void* user, int32_t count, void (*work)(void*, int32_t), void* state) {
    for (int32_t i = 0; i < count; ++i, ++static_cast<Lent*>(user)->calls) work(state, i);
  };
  strop_runtime_options options = STROP_RUNTIME_OPTIONS_INIT;
  options.allocator = &allocator;
  options.thread_pool = &pool;
  options.release = [](void* user) { ++static_cast<Lent*>(user)->released; };
  options.release_user = &lent;
  return options;
}

TEST_F(CApi, TheCallersThreadsAndMemoryAreUsedAndGivenBack) {
  Lent lent;
  {
    strop_allocator allocator = STROP_ALLOCATOR_INIT;
    strop_thread_pool pool = STROP_THREAD_POOL_INIT;
    const strop_runtime_options options = lend(lent, allocator, pool);
    strop_runtime* made = nullptr;
    ASSERT_EQ(strop_runtime_create(&options, &made, &error), STROP_OK) << error.message;
    Owned<strop_runtime> runtime(made);
    EXPECT_EQ(strop_runtime_threads(made), 2);
    auto engine = build_engine(api::testing::two_outputs(), made);
    const auto context = context_of(engine.get());
    engine.reset();
    runtime.reset();
    EXPECT_EQ(lent.released, 0);  // the context still needs it
    std::vector<float> large(4 * 8192, 3);
    const std::vector<int64_t> large_dims = {8192, 4};
    const strop_tensor input = tensor_of(large, large_dims);
    ASSERT_EQ(strop_context_bind(context.get(), "x", &input, &error), STROP_OK);
    ASSERT_EQ(strop_context_run(context.get(), &error), STROP_OK) << error.message;
    EXPECT_GT(lent.calls, 0);
    EXPECT_GE(lent.allocations, 2);
    EXPECT_GE(lent.live_bytes, 2 * 4 * 4 * 8192);
    lent.none_left = true;
    large.resize(4 * 9000);
    const std::vector<int64_t> more = {9000, 4};
    const strop_tensor larger = tensor_of(large, more);
    ASSERT_EQ(strop_context_bind(context.get(), "x", &larger, &error), STROP_OK);
    EXPECT_EQ(strop_context_run(context.get(), &error), STROP_OUT_OF_MEMORY) << error.message;
  }
  EXPECT_EQ(lent.live_bytes, 0);
  EXPECT_EQ(lent.released, 1);
}

TEST_F(CApi, OutputsGoWhereTheCallerSays) {
  float memory[8] = {};
  strop_context_options options = STROP_CONTEXT_OPTIONS_INIT;
  options.allocate_output = [](void* user, const char* name, strop_dtype dtype, const int64_t* shape,
                               int32_t rank) -> void* {
    const bool expected = dtype == STROP_F32 && rank == 2 && shape[0] == 1 && shape[1] == 4;
    return expected ? static_cast<float*>(user) + (name[0] == 'y' ? 0 : 4) : nullptr;
  };
  options.allocate_output_user = memory;
  const auto context = context_of(build_engine(api::testing::two_outputs()).get(), &options);
  const strop_tensor input = tensor_of(x, dims);
  ASSERT_EQ(strop_context_bind(context.get(), "x", &input, &error), STROP_OK);
  ASSERT_EQ(strop_context_run(context.get(), &error), STROP_OK) << error.message;
  EXPECT_EQ((std::vector<float>{memory, memory + 8}), (std::vector<float>{0, 2, 0, 4, 1, 4, 9, 16}));
}

TEST_F(CApi, CancelledRunsSaySo) {
  strop_runtime* made = nullptr;
  ASSERT_EQ(strop_runtime_create(nullptr, &made, &error), STROP_OK);
  const Owned<strop_runtime> runtime(made);
  const auto context = context_of(build_engine(api::testing::two_outputs(), made).get());
  const strop_tensor input = tensor_of(x, dims);
  ASSERT_EQ(strop_context_bind(context.get(), "x", &input, &error), STROP_OK);
  strop_runtime_cancel(made);
  EXPECT_EQ(strop_context_run(context.get(), &error), STROP_CANCELLED);
  EXPECT_EQ(error.code, STROP_CANCELLED);
}

TEST_F(CApi, NullsAreRefusedEverywhere) {
  const auto engine = build_engine(api::testing::two_outputs());
  const auto context = context_of(engine.get());
  strop_engine* e = nullptr;
  strop_context* c = nullptr;
  strop_tensor t = tensor_of(x, dims);
  strop_port p = STROP_PORT_INIT;
  strop_memory_info m = STROP_MEMORY_INFO_INIT;
  const strop_model none = STROP_MODEL_INIT;
  char* text = nullptr;
  size_t count = 0;
  int32_t pass = 0;
  const strop_code codes[] = {
      strop_runtime_create(nullptr, nullptr, &error),
      strop_engine_load(nullptr, nullptr, nullptr, &e, &error),
      strop_engine_load("x", nullptr, nullptr, nullptr, &error),
      strop_engine_load_from_memory(nullptr, 7, nullptr, nullptr, &e, &error),
      strop_engine_save(nullptr, "x", nullptr, &error),
      strop_engine_save(engine.get(), nullptr, nullptr, &error),
      strop_engine_input(nullptr, 0, &p, &error),
      strop_engine_input(engine.get(), 0, nullptr, &error),
      strop_engine_output(nullptr, 0, &p, &error),
      strop_engine_device(nullptr, &text, &error),
      strop_engine_plan_digest(engine.get(), nullptr, &error),
      strop_context_create(nullptr, nullptr, &c, &error),
      strop_context_create(engine.get(), nullptr, nullptr, &error),
      strop_context_bind(nullptr, "x", &t, &error),
      strop_context_bind(context.get(), nullptr, &t, &error),
      strop_context_bind(context.get(), "x", nullptr, &error),
      strop_context_bind_input(nullptr, 0, &t, &error),
      strop_context_bind_output(context.get(), 0, nullptr, &error),
      strop_context_run(nullptr, &error),
      strop_context_reset(nullptr, &error),
      strop_context_output(nullptr, "y", &t, &error),
      strop_context_output(context.get(), nullptr, &t, &error),
      strop_context_profile(context.get(), nullptr, 3, &count, &error),
      strop_context_memory(nullptr, &m, &error),
      strop_context_memory(context.get(), nullptr, &error),
      strop_build(nullptr, nullptr, nullptr, &e, &error),
      strop_build(&none, nullptr, nullptr, &e, &error),
      strop_verify(engine.get(), nullptr, nullptr, &pass, nullptr, &error),
      strop_engine_inspect_json(nullptr, &text, &error),
      strop_inspect_model_json(nullptr, &text, &error),
      strop_knobs_json(nullptr, &error),
      strop_doctor_json(nullptr, nullptr, &error),
  };
  for (size_t i = 0; i < std::size(codes); ++i) EXPECT_EQ(codes[i], STROP_INVALID_ARGUMENT) << "call " << i;
  EXPECT_STREQ(error.message, "'json' is null");
  strop_engine_free(nullptr);
  strop_context_free(nullptr);
  strop_runtime_free(nullptr);
  strop_string_free(nullptr);
  strop_runtime_cancel(nullptr);
  EXPECT_EQ(strop_engine_input_count(nullptr), 0U);
  EXPECT_EQ(strop_runtime_threads(nullptr), 0);
}

TEST_F(CApi, WrongSizesNamesAndTypesAreRefused) {
  const auto engine = build_engine(api::testing::two_outputs());
  const auto context = context_of(engine.get());
  const auto bind = [&](const char* name, const strop_tensor& tensor) -> std::string {
    EXPECT_EQ(strop_context_bind(context.get(), name, &tensor, &error), STROP_INVALID_ARGUMENT);
    return error.message;
  };
  strop_tensor tensor = tensor_of(x, dims);
  EXPECT_EQ(bind("nobody", tensor), "the engine has no input or output 'nobody'; it has x, y, z");
  tensor.size = 0;
  EXPECT_EQ(bind("x", tensor), "strop_tensor has no valid size: initialise it with its _INIT macro");
  tensor.size = sizeof(tensor) + 8;
  EXPECT_EQ(bind("x", tensor), "strop_tensor has " + std::to_string(sizeof(tensor) + 8) +
                                   " bytes, this library knows " + std::to_string(sizeof(tensor)) +
                                   ": its caller has a newer strop_c.h");
  tensor = tensor_of(x, dims);
  tensor.dtype = 99;
  EXPECT_EQ(bind("x", tensor), "99 is no element type");
  tensor.dtype = STROP_F32;
  tensor.rank = -1;
  EXPECT_EQ(bind("x", tensor), "a tensor has 0 to 64 dimensions, not -1");
  tensor.rank = 2;
  tensor.dims = nullptr;
  EXPECT_EQ(bind("x", tensor), "the tensor's 'dims' is null");
  strop_build_options options = STROP_BUILD_OPTIONS_INIT;
  options.size = 12;
  const Model model = api::testing::two_outputs();
  const strop_model source = model_of(model);
  strop_engine* made = nullptr;
  EXPECT_EQ(strop_build(&source, &options, nullptr, &made, &error), STROP_INVALID_ARGUMENT);
  EXPECT_EQ(made, nullptr);
}

TEST_F(CApi, ErrorsFitTheBlockTheyGet) {
  EXPECT_EQ(strop_context_run(nullptr, nullptr), STROP_INVALID_ARGUMENT);
  alignas(strop_error) char block[64];
  std::memset(block, 0x55, sizeof(block));
  auto* small = reinterpret_cast<strop_error*>(block);
  small->size = offsetof(strop_error, message) + 6;
  EXPECT_EQ(strop_context_run(nullptr, small), STROP_INVALID_ARGUMENT);
  EXPECT_STREQ(small->message, "'cont");
  EXPECT_EQ(block[small->size], 0x55);
  small->size = 3;  // nothing fits there
  std::memset(block + sizeof(size_t), 0x55, sizeof(block) - sizeof(size_t));
  EXPECT_EQ(strop_context_run(nullptr, small), STROP_INVALID_ARGUMENT);
  EXPECT_EQ(block[sizeof(size_t)], 0x55);
  EXPECT_EQ(strop_engine_load("/none", nullptr, nullptr, nullptr, &error), STROP_INVALID_ARGUMENT);
  strop_engine* engine = nullptr;
  EXPECT_EQ(strop_engine_load("/none", nullptr, nullptr, &engine, &error), STROP_NOT_FOUND);
  EXPECT_EQ(error.code, STROP_NOT_FOUND);
}

TEST_F(CApi, WhatCallbacksThrowStaysInside) {
  strop_context_options options = STROP_CONTEXT_OPTIONS_INIT;
  options.allocate_output = [](void* user, const char*, strop_dtype, const int64_t*, int32_t) -> void* {
    if (user != nullptr) throw 7;
    throw std::bad_alloc();
  };
  const auto engine = build_engine(api::testing::two_outputs());
  const strop_tensor input = tensor_of(x, dims);
  for (void* user : {static_cast<void*>(nullptr), static_cast<void*>(&error)}) {
    options.allocate_output_user = user;
    const auto context = context_of(engine.get(), &options);
    ASSERT_EQ(strop_context_bind(context.get(), "x", &input, &error), STROP_OK);
    EXPECT_EQ(strop_context_run(context.get(), &error), user != nullptr ? STROP_INTERNAL : STROP_OUT_OF_MEMORY);
  }
}

TEST(CApiNames, CodesAndTypesAreThoseOfTheInterface) {
  EXPECT_STREQ(strop_code_name(STROP_OK), "ok");
  EXPECT_STREQ(strop_code_name(STROP_INVALID_ARGUMENT), "invalid_argument");
  EXPECT_STREQ(strop_code_name(STROP_CANCELLED), "cancelled");
  EXPECT_STREQ(strop_code_name(STROP_INTERNAL), "internal");
  EXPECT_STREQ(strop_code_name(-3), "unknown");
  EXPECT_STREQ(strop_dtype_name(STROP_BF16), "bf16");
  EXPECT_EQ(strop_dtype_name(1000), nullptr);
  EXPECT_EQ(STROP_I2, static_cast<int>(DType::I2));
  EXPECT_EQ(STROP_F8E5M2FNUZ, static_cast<int>(DType::F8E5M2FNUZ));
  EXPECT_EQ(STROP_METRIC_COS, static_cast<int>(Metric::Cos));
  EXPECT_EQ(STROP_PRECISION_MIXED, static_cast<int>(Precision::Mixed));
  EXPECT_EQ(strop_dtype_bytes(STROP_I4, 3), 2);
  EXPECT_EQ(strop_dtype_bytes(STROP_STRING, 3), -1);
  EXPECT_EQ(strop_dtype_bytes(STROP_F32, INT64_MAX), -1);
  EXPECT_STREQ(strop_version(), version());
}

}  // namespace
}  // namespace strop
