// Hostile data and hostile appetites at run time: each run ends with its message, in a process of its own that may use
// 2 GiB of address space.
#include <gtest/gtest.h>

#include "errors/limited_process.h"
#include "errors/small_models.h"
#include "strop/strop.h"

namespace strop::tests {
namespace {

using namespace onnx::testing;  // NOLINT: the model writer's vocabulary

constexpr int64_t kLimitBytes = int64_t{512} << 20;

/// A model with the input x: f32[2, 3] and integers that the shape of y depends on.
struct HostileRun {
  std::string name;
  std::string model;
  std::vector<int64_t> integers;  ///< for the input p
  std::string message;            ///< how it starts
};

void PrintTo(const HostileRun& run, std::ostream* out) { *out << run.name; }

/// What building and running say, or "done".
std::string outcome(const HostileRun& run) {
  const Runtime runtime({.threads = 1, .memory_limit_bytes = kLimitBytes});
  BuildOptions options;
  options.device = Device::cpu();
  options.effort = 0;
  const auto text = [](const Error& error) { return std::string(to_string(error.code)) + ": " + error.message; };
  const auto engine = build(Model::from_memory(run.model), options, runtime);
  if (!engine.ok()) return "build: " + text(engine.error());
  auto context = engine->context();
  if (!context.ok()) return text(context.error());
  std::vector<float> x(6, 1);
  std::vector<int64_t> p = run.integers;
  for (const PortInfo& port : engine->inputs()) {
    const bool scalar = port.shape.empty();
    const auto bound =
        port.name == "x"
            ? context->bind("x", {DType::F32, {2, 3}, x.data()})
            : context->bind("p", {DType::I64, scalar ? std::vector<int64_t>() : std::vector{std::ssize(p)}, p.data()});
    if (!bound.ok()) return text(bound.error());
  }
  const auto ran = context->run();
  return ran.ok() ? "done" : text(ran.error());
}

class RunErrors : public ::testing::TestWithParam<HostileRun> {};

TEST_P(RunErrors, EndWith) {
  const std::string said = outcome_in_child([&] { return outcome(GetParam()); });
  EXPECT_EQ(said.substr(0, GetParam().message.size()), GetParam().message) << said;
}

std::string model_of(const Message& made, const onnx::testing::Shape& integers,
                     std::vector<Message> initializers = {}) {
  return model({.graph = graph({.nodes = {made},
                                .initializers = std::move(initializers),
                                .inputs = {value_info("x", DType::F32, {2, 3}), value_info("p", DType::I64, integers)},
                                .outputs = {value_info("y", unranked_type(DType::F32))}}),
                .opsets = {opset("", 19)}});
}

std::vector<HostileRun> hostile_shapes() {
  const int64_t huge = int64_t{1} << 62;
  const std::string expand = model_of(node("Expand", {"x", "p"}, {"y"}, {}, "e"), {3});
  const std::string reshape = model_of(node("Reshape", {"x", "p"}, {"y"}, {}, "r"), {3});
  const std::string fill = model_of(node("ConstantOfShape", {"p"}, {"y"}, {}, "f"), {2});
  const std::string tile = model_of(node("Tile", {"x", "p"}, {"y"}, {}, "t"), {2});
  const std::string pad = model_of(node("Pad", {"x", "p"}, {"y"}, {}, "p"), {4});
  const std::string crop = model_of(node("CenterCropPad", {"x", "p"}, {"y"}, {}, "c"), {2});
  const std::string resize =
      model_of(node("Resize", {"x", "", "", "p"}, {"y"}, {string_attr("mode", "nearest")}, "s"), {2});
  return {
      {"expand_negative",
       expand,
       {-2, 1, 1},
       "invalid_model: node 'e' (Expand): (C2) the shape [-2, 1, 1] has a negative dimension"},
      {"expand_huge",
       expand,
       {huge, 1, 1},
       "invalid_model: node 'e' (Expand): [4611686018427387904, 2, 3] is more than 2^40"},
      {"reshape_negative",
       reshape,
       {-2, 1, 1},
       "invalid_model: node 'r' (Reshape): (C2) dimension 0 of the target [-2, 1, 1] is -2"},
      {"fill_negative",
       fill,
       {-2, 1},
       "invalid_model: node 'f' (Fill): (C2) the shape [-2, 1] has a negative dimension"},
      {"fill_huge",
       fill,
       {huge, huge},
       "invalid_model: node 'f' (Fill): [4611686018427387904, 4611686018427387904] is more than 2^40 elements"},
      {"tile_negative", tile, {-1, 1}, "invalid_model: node 't' (Tile): (C2) axis 0 is repeated -1 times"},
      {"tile_huge",
       tile,
       {huge, huge},
       "invalid_model: node 't' (Tile): [2, 3, 4611686018427387904, 4611686018427387904] is more than 2^40 elements"},
      {"pad_negative", pad, {-5, 0, 0, 0}, "invalid_model: node 'p' (Pad): (C4) the pads of axis 0 leave -3 elements"},
      {"pad_huge",
       pad,
       {huge, 0, huge, 0},
       "invalid_model: node 'p' (Pad): [4611686018427387904] is more than 2^40 elements"},
      {"crop_negative",
       crop,
       {-1, 2},
       "invalid_model: node 'c' (CenterCropPad): result 0 would have the shape [-1, 2]"},
      {"resize_negative", resize, {-1, 2}, "invalid_model: node 's' (Resize): (C3) the size -1 is negative"},
  };
}

/// Ones of `x`'s first number … doubled p times.
Message doubling_loop() {
  const Message body = graph(
      {.nodes = {node("Identity", {"c"}, {"co"}), node("Concat", {"v", "v"}, {"w"}, {int_attr("axis", 0)}, "double")},
       .initializers = {},
       .inputs = {value_info("i", DType::I64, {}), value_info("c", DType::Bool, {}),
                  value_info("v", DType::F32, {DimSpec(), 3})},
       .outputs = {value_info("co", DType::Bool, {}), value_info("w", DType::F32, {DimSpec(), 3})}});
  return node("Loop", {"p", "", "x"}, {"y"}, {graph_attr("body", body)}, "loop");
}

std::vector<HostileRun> greedy_runs() {
  const std::string loop = model_of(doubling_loop(), {});
  const std::string fixed_loop = model_of(doubling_loop(), {}, {i64_tensor("p", {}, {60})});
  const std::string fill = model_of(node("ConstantOfShape", {"p"}, {"y"}, {}, "f"), {2});
  const std::string range = model_of(node("Expand", {"x", "p"}, {"y"}, {}, "e"), {3});
  const std::string draw = model(ModelSpec{
      graph({.nodes = {node("Multinomial", {"x"}, {"y"}, {int_attr("sample_size", int64_t{1} << 30)}, "draw")},
             .initializers = {},
             .inputs = {value_info("x", DType::F32, {2, 3})},
             .outputs = {value_info("y", unranked_type(DType::I32))}})});
  return {
      {"loop_that_doubles", loop, {60}, "out_of_memory: node 'loop' (Loop): "},
      {"loop_that_may_double", loop, {10}, "done"},
      {"fill", fill, {1 << 20, 1 << 10}, "out_of_memory: node 'f' (Fill): "},
      {"expand", range, {1 << 26, 1, 1}, "out_of_memory: node 'e' (Expand): "},
      {"multinomial", draw, {}, "out_of_memory: "},
      {"loop_of_constants", fixed_loop, {}, "out_of_memory: node 'loop' (Loop): "},
  };
}

std::string name_of(const ::testing::TestParamInfo<HostileRun>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Shapes, RunErrors, ::testing::ValuesIn(hostile_shapes()), name_of);
INSTANTIATE_TEST_SUITE_P(Greedy, RunErrors, ::testing::ValuesIn(greedy_runs()), name_of);

}  // namespace
}  // namespace strop::tests
