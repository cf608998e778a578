// Each hostile engine has digests that fit and goes through the public API, in a process of its own with limits.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "engine/engine_file.h"
#include "errors/limited_process.h"
#include "kernels/cpu_target.h"
#include "onnx/model_writer.h"
#include "strop/strop.h"

namespace strop::tests {
namespace {

using engine::EngineImage;
using plan::kNone;

/// y = Relu(x · w) for x: f32[n, 4]; z = x or -x, as c says.
std::string model_bytes() {
  using namespace onnx::testing;  // NOLINT: the model writer's vocabulary
  const auto branch = [](const char* op) {
    return graph({.nodes = {node(op, {"x"}, {"r"})},
                  .initializers = {},
                  .inputs = {},
                  .outputs = {value_info("r", unranked_type(DType::F32))}});
  };
  const std::vector<float> w = {1, -2, 3, 4, -5, 6, 7, 8, -9, 10, -11, 12};
  return model(GraphSpec{
      .nodes = {node("MatMul", {"x", "w"}, {"m"}, {}, "product"), node("Relu", {"m"}, {"y"}),
                node("If", {"c"}, {"z"},
                     {graph_attr("then_branch", branch("Abs")), graph_attr("else_branch", branch("Neg"))}, "choice")},
      .initializers = {f32_tensor("w", {4, 3}, w)},
      .inputs = {value_info("x", DType::F32, {"n", 4}), value_info("c", DType::Bool, {})},
      .outputs = {value_info("y", DType::F32, {"n", 3}), value_info("z", unranked_type(DType::F32))}});
}

/// The engine of that model, to be changed.
struct Changed {
  EngineImage& image;
  plan::Plan& plan;
  plan::Block& main;
  plan::Step& matmul;
  plan::Step& choice;
  plan::Variant& variant;  ///< of matmul
};

struct HostileEngine {
  std::string name;
  std::function<void(Changed&)> change;
  std::string message;
};

void PrintTo(const HostileEngine& engine, std::ostream* out) { *out << engine.name; }

plan::Step& step_of(plan::Block& block, std::string_view op) {
  for (plan::Step& step : block.steps) {
    if (step.op == op) return step;
  }
  throw std::runtime_error("no such step");
}

const std::vector<HostileEngine>& hostile_engines() {
  static const std::vector<HostileEngine> list = {
      {"nothing_changed", [](Changed&) {}, "accepted"},
      {"no_blocks", [](Changed& c) { c.plan.blocks.clear(); }, "plan: it has no block: build the engine again"},
      {"no_device", [](Changed& c) { c.plan.devices.clear(); }, "plan: it names no device: build the engine again"},
      {"operand_out_of_range", [](Changed& c) { c.matmul.inputs[0] = 1000; },
       "plan, block 0, step 1: operand 1000 of 5 values: build the engine again"},
      {"result_is_an_input", [](Changed& c) { c.matmul.outputs[0] = c.main.inputs[0].value; },
       "plan, block 0, step 1: result 0 would overwrite an input or a weight: build the engine again"},
      {"register_out_of_range",
       [](Changed& c) { (*c.main.values[0].type.dims)[0] = 1 << 20, (*c.main.inputs[0].type.dims)[0] = 1 << 20; },
       "plan, block 0: binding 0: register 1048576: build the engine again"},
      {"symbol_bound_by_an_axis_that_is_not_there", [](Changed& c) { c.main.bindings[0].axis = 7; },
       "plan, block 0: binding 0: axis 7: build the engine again"},
      {"symbols_from_outside_the_model", [](Changed& c) { c.main.inherited[0] = 0; },
       "plan, block 0: 'n' inherits symbol 0, and there are 0 outside: build the engine again"},
      {"input_that_tells_no_size", [](Changed& c) { c.main.inputs[0].type.dims->pop_back(), c.main.bindings.clear(); },
       "plan, block 0, value 4: the size of an output buffer must be known before the run: build the engine again"},
      {"profile_upside_down",
       [](Changed& c) {
         c.main.ranges[0] = {9, 2};
       },
       "plan, block 0: 'n' has the range 9..2: build the engine again"},
      {"unknown_operator", [](Changed& c) { c.matmul.op = "Mystery"; },
       "step for node 'product': operator 'Mystery' is not part of this build of Strop: build the engine again"},
      {"another_operator", [](Changed& c) { c.matmul.op = "Softmax", c.matmul.attrs = kNone; },
       "step for node 'product': operator Softmax: result 0 is f32[n, 4], not f32[n, 3]: build the engine again"},
      {"unknown_attribute", [](Changed& c) { c.plan.attrs[static_cast<size_t>(c.matmul.attrs)][0].name = "colour"; },
       "step for node 'product': operator MatMul has no attribute 'colour': build the engine again"},
      {"attribute_of_another_kind",
       [](Changed& c) { c.plan.attrs[static_cast<size_t>(c.matmul.attrs)][0].text = "green"; },
       "step for node 'product': operator MatMul, attribute 'trans_a': expected true or false, found 'green'"},
      {"attributes_out_of_range", [](Changed& c) { c.matmul.attrs = 77; },
       "plan, block 0, step 1: attributes 77 of 3: build the engine again"},
      {"operand_missing", [](Changed& c) { c.matmul.inputs.resize(1), c.variant.packed.resize(1); },
       "step for node 'product': operator MatMul: operand 1 is missing: build the engine again"},
      {"operand_absent", [](Changed& c) { c.matmul.inputs[0] = kNone; },
       "step for node 'product': operator MatMul: operand 0 is missing: build the engine again"},
      {"unknown_tactic", [](Changed& c) { c.variant.tactic = "MatMul.cpu.magic"; },
       "step for node 'product': tactic 'MatMul.cpu.magic' is not part of this build of Strop: build the engine again"},
      {"tactic_of_another_operator",
       [](Changed& c) { c.variant.tactic = "Softmax.cpu.rows", c.variant.tactic_version = 1; },
       "step for node 'product': tactic 'Softmax.cpu.rows' is for operator Softmax, not MatMul: build the engine "
       "again"},
      {"tactic_of_another_version", [](Changed& c) { c.variant.tactic_version = 9; },
       "step for node 'product': tactic 'MatMul.cpu.packed_gemm' has version 2 here but the engine was built with "
       "version 9: build the engine again"},
      {"parameters_that_are_no_numbers", [](Changed& c) { c.variant.config = "nr=many"; },
       "step for node 'product': tactic 'MatMul.cpu.packed_gemm': tactic parameters: expected 'name=integer', found "
       "'nr=many'"},
      {"parameters_that_nobody_offered", [](Changed& c) { c.variant.config = "nr=3,mr=1000000"; },
       "step for node 'product': tactic 'MatMul.cpu.packed_gemm' has no parameters 'nr=3,mr=1000000': build the engine "
       "again"},
      {"packed_weight_missing", [](Changed& c) { c.variant.packed[1] = kNone; },
       "plan, block 0, step 1: operand 2 has no storage: build the engine again"},
      {"packed_weight_too_short",
       [](Changed& c) {
         c.plan.weights[static_cast<size_t>(c.variant.packed[1])].dims = {40},
         c.image.weights[static_cast<size_t>(c.variant.packed[1])] = Tensor(DType::U8, {40});
       },
       "step for node 'product': tactic 'MatMul.cpu.packed_gemm' wants operand 1 packed in BYTES bytes, not 40: build "
       "the engine again"},
      {"packed_weight_for_the_reference", [](Changed& c) { c.variant.tactic = "MatMul.cpu.reference"; },
       "step for node 'product': tactic 'MatMul.cpu.reference' wants operand 1 as it is: build the engine again"},
      {"packed_weight_out_of_range", [](Changed& c) { c.variant.packed[1] = 5; },
       "plan, block 0, step 1: packed weight 5 of 1: build the engine again"},
      {"no_variant", [](Changed& c) { c.matmul.variants.clear(); },
       "plan, block 0, step 1: a launch has no variant: build the engine again"},
      {"variant_with_an_unknown_relation",
       [](Changed& c) {
         c.matmul.variants.insert(c.matmul.variants.begin(), c.variant),
             c.matmul.variants[0].when = {{0, static_cast<plan::Relation>(9), 0}};
       },
       "plan, block 0, step 1: relation 9 is not known: build the engine again"},
      {"regions_gone", [](Changed& c) { c.choice.blocks = {}; },
       "plan: no step before block 1 runs it: build the engine again"},
      {"one_region_too_few", [](Changed& c) { c.choice.blocks.pop_back(), c.plan.blocks.pop_back(); },
       "step for node 'choice': operator If: it needs a region 1: build the engine again"},
      {"region_runs_itself", [](Changed& c) { c.choice.blocks[0] = 0; },
       "plan: block 0 runs block 0 of 3: build the engine again"},
      {"region_takes_other_values", [](Changed& c) { c.choice.inputs.push_back(c.choice.inputs[0]); },
       "step for node 'choice': operator If: region 0 takes 1 values, not 2: build the engine again"},
      {"launched_control_flow",
       [](Changed& c) {
         c.choice.kind = plan::StepKind::Launch,
         c.choice.variants = {{{}, "If.cpu.reference", 1, "", std::vector<int32_t>(c.choice.inputs.size(), kNone)}};
       },
       "plan, block 0, step 0: result 3 of a launch has no buffer: build the engine again"},
      {"output_of_another_size",
       [](Changed& c) {
         c.main.values[static_cast<size_t>(c.main.outputs[0].value)].type.dims = c.main.inputs[0].type.dims,
         c.main.outputs[0].type.dims = c.main.inputs[0].type.dims;
       },
       "step for node 'product': operator MatMul: result 0 is f32[n, 3], not f32[n, 4]: build the engine again"},
      {"view_beyond_its_buffer",
       [](Changed& c) {
         c.main.values.push_back(c.main.values[static_cast<size_t>(c.main.outputs[0].value)]),
             c.main.values.back().storage = plan::Storage::View, c.main.values.back().index = kNone,
             c.main.values.back().base = c.main.inputs[1].value;
       },
       "plan, block 0, value 5: a view with elements of another width: build the engine again"},
      {"sizes_beyond_64_bits",
       [](Changed& c) {
         c.main.shapes.instrs.push_back({plan::ShapeOp::Constant, INT64_MAX}),
             c.main.shapes.instrs.push_back({plan::ShapeOp::Mul, 0,
                                             static_cast<plan::Reg>(c.main.shapes.instrs.size() - 1),
                                             static_cast<plan::Reg>(c.main.shapes.instrs.size() - 1)});
       },
       "plan, block 0: sizes that leave 64 bits"},
      {"expressions_that_double",
       [](Changed& c) {
         for (int i = 0; i < 100000; ++i) {
           const auto last = static_cast<plan::Reg>(c.main.shapes.instrs.size() - 1);
           c.main.shapes.instrs.push_back({plan::ShapeOp::Mul, 0, last, 0});
           c.main.shapes.instrs.push_back({plan::ShapeOp::Max, 0, last + 1, last});
           c.main.shapes.instrs.push_back({plan::ShapeOp::Add, 0, last + 2, last + 2});
         };
       },
       "accepted"},
  };
  return list;
}

class Engines : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder() = std::filesystem::path(::testing::TempDir()) / ("strop_hostile_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder());
    std::ofstream(folder() / "m.onnx", std::ios::binary) << model_bytes();
    const auto built = build((folder() / "m.onnx").string(), {}, Runtime({.threads = 1}));
    ASSERT_TRUE(built.ok()) << built.error().message;
    ASSERT_TRUE(built->save((folder() / "good.strop").string()).ok());
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder()); }
  static std::string path() { return (folder() / "bad.strop").string(); }
  static EngineImage good_image() {
    SingleThread thread;
    return engine::read_engine((folder() / "good.strop").string(), thread).value().image;
  }
  /// What loading the image from a file says.
  static std::string outcome_of(const EngineImage& image) {
    SingleThread thread;
    EXPECT_TRUE(engine::write_engine(image, path(), thread).ok());
    return outcome_in_child([&]() -> std::string {
      const auto loaded = Engine::load(path(), Runtime({.threads = 1}));
      return loaded.ok() ? "accepted" : std::string(to_string(loaded.error().code)) + ": " + loaded.error().message;
    });
  }
  static std::filesystem::path& folder() {
    static std::filesystem::path path;
    return path;
  }
};

class EngineErrors : public Engines, public ::testing::WithParamInterface<HostileEngine> {};

TEST_P(EngineErrors, AreRefusedWith) {
  EngineImage image = good_image();
  plan::Plan plan = *image.plan;
  plan::Block& main = plan.blocks[0];
  plan::Step& matmul = step_of(main, "MatMul");
  Changed changed{image, plan, main, matmul, step_of(main, "If"), matmul.variants[0]};
  // How large a packed weight is depends on the machine.
  const auto packed = static_cast<size_t>(matmul.variants[0].packed[1]);
  const std::string bytes = std::to_string(image.weights[packed].bytes());
  GetParam().change(changed);
  image.plan = std::make_shared<const plan::Plan>(plan);
  std::string expected = GetParam().message;
  if (const size_t at = expected.find("BYTES"); at != std::string::npos) expected.replace(at, 5, bytes);
  if (expected != "accepted") expected = "invalid_engine: engine '" + path() + "': " + expected;
  EXPECT_EQ(outcome_of(image), expected);
}

TEST_F(Engines, ForAnotherMachineAreRefused) {
  EngineImage image = good_image();
  plan::Plan plan = *image.plan;
  plan.devices[0].target = "avx1024";
  image.plan = std::make_shared<const plan::Plan>(plan);
  EXPECT_EQ(outcome_of(image), "invalid_engine: engine '" + path() + "' needs avx1024, this CPU offers " +
                                   kernels::to_string(kernels::best_cpu_target()) + ": build it again here");
  plan.devices[0] = {"cuda", "sm_90a"};
  image.plan = std::make_shared<const plan::Plan>(plan);
  EXPECT_EQ(outcome_of(image),
            "invalid_engine: engine '" + path() + "' is for device 'cuda', which this Strop cannot use");
}

std::string name_of(const ::testing::TestParamInfo<HostileEngine>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Forged, EngineErrors, ::testing::ValuesIn(hostile_engines()), name_of);

}  // namespace
}  // namespace strop::tests
