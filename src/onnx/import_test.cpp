#include "onnx/import.h"

#include <gmock/gmock.h>

#include <fstream>

#include "onnx/known_attributes.h"
#include "onnx/model_writer.h"

namespace strop::onnx {
namespace {

using namespace testing;  // NOLINT: the model writer's vocabulary
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Result<ImportedModel> import(const std::string& bytes, const ImportOptions& options = {}) {
  auto owner = std::make_shared<const std::string>(bytes);
  return import_bytes(*owner, owner, options);
}

std::string failure(const std::string& bytes, const ImportOptions& options = {}) {
  const auto result = import(bytes, options);
  return result.ok() ? "" : result.error().message;
}

/// Runs the reference interpreter on the graph.
std::vector<Value> run(const ImportedModel& imported, std::vector<Value> inputs) {
  SingleThread thread;
  auto results = ir::interpret(*imported.graph, std::move(inputs), thread);
  EXPECT_TRUE(results.ok()) << results.error().message;
  return results.ok() ? std::move(results).value() : std::vector<Value>();
}

std::vector<double> numbers(const Value& value) { return load_f64(value.tensor()); }

Value f32(std::vector<int64_t> dims, std::vector<float> values) {
  return Tensor::of<float>(DType::F32, std::move(dims), values);
}
Value boolean(bool value) { return Tensor::scalar(DType::Bool, value ? 1 : 0); }

Message x_info(const char* dim = "n") { return value_info("x", DType::F32, {dim}); }
Message y_info() { return value_info("y", DType::F32, {"m"}); }

/// y = concat(x, w)
GraphSpec concat_graph() {
  return {.nodes = {node("Concat", {"x", "w"}, {"y"}, {int_attr("axis", 0)}, "join")},
          .initializers = {f32_tensor("w", {2}, {7, 8})},
          .inputs = {x_info()},
          .outputs = {y_info()}};
}

TEST(Import, ASmallModel) {
  const auto imported = import(model(concat_graph()));
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  EXPECT_EQ(imported->ir_version, 8);
  EXPECT_EQ(imported->opsets.at(""), 17);
  EXPECT_THAT(imported->initializers, ElementsAre("w"));
  EXPECT_EQ(imported->bytes, model(concat_graph()));
  const ir::Graph& graph = *imported->graph;
  ASSERT_EQ(graph.order().size(), 1u);
  EXPECT_THAT(graph.node(graph.order()[0]).sources, ElementsAre("join"));
  EXPECT_EQ(to_string(graph.value(graph.outputs[0].value).type), "f32[n + 2]");
  EXPECT_EQ(graph.value(graph.outputs[0].value).name, "y");
  const ir::ValueId weight = graph.node(graph.order()[0]).inputs[1];
  EXPECT_THAT(graph.value(weight).constant->origins, ElementsAre("w"));
  EXPECT_THAT(numbers(run(*imported, {f32({1}, {5})})[0]), ElementsAre(5, 7, 8));
  EXPECT_TRUE(ir::verify(graph).ok());
}

TEST(Import, FromAFile) {
  const auto folder = std::filesystem::temp_directory_path() / ("strop_import_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  GraphSpec spec = concat_graph();
  spec.initializers = {external_tensor("w", {2}, "w.bin")};
  std::ofstream(folder / "m.onnx", std::ios::binary) << model(spec);
  std::ofstream(folder / "w.bin", std::ios::binary) << std::string("\0\0\x80\x3f\0\0\0\x40", 8);
  {
    const auto imported = import_model(folder / "m.onnx");
    ASSERT_TRUE(imported.ok()) << imported.error().message;
    EXPECT_THAT(numbers(run(*imported, {f32({1}, {5})})[0]), ElementsAre(5, 1, 2));
  }
  std::filesystem::remove_all(folder);
  EXPECT_EQ(import_model(folder / "m.onnx").error().code, ErrorCode::NotFound);
}

// One initializer of more than 4 GiB, in a file that is almost all hole: nothing reads it, let alone copies it.
TEST(Import, FilesBeyond4GiB) {
  const auto path = std::filesystem::temp_directory_path() / ("strop_large_" + std::to_string(::getpid()) + ".onnx");
  constexpr int64_t kBytes = (int64_t{1} << 32) + 5;
  const Message before = Message().packed(1, {kBytes}).integer(2, static_cast<int64_t>(DType::U8)).text(8, "w");
  const std::string tensor_head = before.bytes() + Message().tag(9, 2).raw_varint(kBytes).bytes();
  const Message rest = graph({.nodes = {node("Identity", {"w"}, {"y"})},
                              .initializers = {},
                              .inputs = {},
                              .outputs = {value_info("y", DType::U8, {kBytes})}});
  const uint64_t tensor_size = tensor_head.size() + static_cast<uint64_t>(kBytes);
  const std::string graph_head = rest.bytes() + Message().tag(5, 2).raw_varint(tensor_size).bytes();
  const std::string head =
      Message().integer(1, 8).message(8, opset("", 17)).tag(7, 2).raw_varint(graph_head.size() + tensor_size).bytes();
  {
    std::ofstream file(path, std::ios::binary);
    file << head << graph_head << tensor_head;
    file.seekp(kBytes - 1, std::ios::cur);
    file << 'z';
    if (!file) GTEST_SKIP() << "no room for a file of 4 GiB";
  }
  const auto imported = import_model(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const Tensor* tensor = imported->graph->constant_tensor(imported->graph->outputs[0].value);
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->count(), kBytes);
  EXPECT_EQ(tensor->data<char>()[kBytes - 1], 'z');
}

// An output may be an input, an initializer, or the same value as another output.
TEST(Import, OutputsThatNoNodeMakes) {
  const auto imported =
      import(model({.nodes = {node("Identity", {"x"}, {"a"}), node("Identity", {"x"}, {"b"})},
                    .initializers = {f32_tensor("w", {1}, {3})},
                    .inputs = {x_info()},
                    .outputs = {x_info(), value_info("w", DType::F32, {1}), value_info("a", DType::F32, {"n"}),
                                value_info("b", DType::F32, {"n"})}}));
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const auto results = run(*imported, {f32({2}, {1, 2})});
  EXPECT_THAT(numbers(results[0]), ElementsAre(1, 2));
  EXPECT_THAT(numbers(results[1]), ElementsAre(3));
  EXPECT_THAT(numbers(results[2]), ElementsAre(1, 2));
  EXPECT_EQ(imported->graph->outputs[2].value, imported->graph->outputs[3].value);
}

TEST(Import, DefaultedInputsAreConstants) {
  GraphSpec spec = concat_graph();
  spec.inputs.push_back(value_info("w", DType::F32, {2}));
  const auto imported = import(model(spec));
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  EXPECT_THAT(imported->defaulted_inputs, ElementsAre("w"));
  EXPECT_EQ(imported->graph->inputs.size(), 1u);
}

TEST(Import, AskedForOutputs) {
  GraphSpec spec = concat_graph();
  spec.nodes.push_back(node("Concat", {"y", "y"}, {"z"}, {int_attr("axis", 0)}));
  spec.outputs = {value_info("z", DType::F32, {"k"})};
  ImportOptions options;
  options.outputs = {"y", "x"};
  const auto imported = import(model(spec), options);
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  EXPECT_EQ(imported->graph->outputs[0].name, "y");
  EXPECT_EQ(imported->graph->outputs[1].value, imported->graph->inputs[0].value);
  options.outputs = {"q"};
  EXPECT_EQ(failure(model(spec), options), "output 'q': the model has no value of that name");
  options.outputs = {"y", "y"};
  EXPECT_EQ(failure(model(spec), options), "output 'y' is asked for twice");
}

std::string input_types(const std::vector<Message>& inputs, const FixedShapes& shapes = {}) {
  GraphSpec spec{.nodes = {},
                 .initializers = {f32_tensor("w", {1}, {3})},
                 .inputs = inputs,
                 .outputs = {value_info("w", DType::F32, {1})}};
  ImportOptions options;
  options.shapes = shapes;
  const auto imported = import(model(spec), options);
  if (!imported.ok()) return imported.error().message;
  std::string text;
  for (const ir::Port& port : imported->graph->inputs) {
    text += (text.empty() ? "" : ", ") + to_string(imported->graph->value(port.value).type);
  }
  return text;
}

TEST(Import, NamesOfDimensions) {
  EXPECT_EQ(input_types({value_info("x", DType::F32, {"batch", 3, DimSpec(), -1})}), "f32[batch, 3, x.2, x.3]");
  EXPECT_EQ(input_types({value_info("a b", DType::F32, {DimSpec(), "dyn size", "dyn_size"})}),
            "f32[a_b.0, dyn_size_2, dyn_size]");
  EXPECT_EQ(input_types({value_info("x", DType::F32, {"past + 1"}), value_info("y", DType::F32, {"past"})}),
            "f32[past + 1], f32[past]");
  EXPECT_EQ(input_types({value_info("x", DType::F32, {"past + 1"})}), "f32[past___1]");
  EXPECT_EQ(input_types({value_info("x", DType::F32, {"224"})}), "f32[224]");
  EXPECT_EQ(input_types({value_info("x", DType::F32, {"x.0", DimSpec()}), value_info("x.0", DType::F32, {})}),
            "f32[x.0, x.1], f32[]");
  EXPECT_EQ(input_types({value_info("x", unranked_type(DType::I64))}), "i64[*]");
  EXPECT_EQ(input_types({value_info("x", sequence_type(unranked_type(DType::I64)))}), "seq(i64[*])");
}

TEST(Import, FixedShapes) {
  const std::vector<Message> inputs = {value_info("x", DType::F32, {"b", 3, DimSpec()}),
                                       value_info("y", DType::F32, {"b", "b + 1"})};
  EXPECT_EQ(input_types(inputs, {{{"x", {2, 3, 4}}}, {}}), "f32[2, 3, 4], f32[2, 3]");
  EXPECT_EQ(input_types(inputs, {{{"x", {-1, -1, 4}}}, {}}), "f32[b, 3, 4], f32[b, b + 1]");
  EXPECT_EQ(input_types(inputs, {{}, {{"b", 8}}}), "f32[8, 3, x.2], f32[8, 9]");
  EXPECT_EQ(input_types({value_info("x", unranked_type(DType::F32))}, {{{"x", {2, -1}}}, {}}), "f32[2, x.1]");
  EXPECT_EQ(input_types(inputs, {{{"x", {2, 4, 4}}}, {}}),
            "shape of input 'x': dimension 1 is to be 4, but the model fixes it to 3");
  EXPECT_EQ(input_types(inputs, {{{"x", {2, 3}}}, {}}), "shape of input 'x': 2 dimensions are given, but it has 3");
  EXPECT_EQ(input_types(inputs, {{{"z", {2}}}, {}}), "shape of 'z': the model has no input of that name");
  EXPECT_EQ(input_types(inputs, {{{"x", {2, 3, 4}}}, {{"b", 3}}}),
            "shape of input 'x': dimension 'b' is to be 2, but is also fixed to 3");
  EXPECT_EQ(input_types(inputs, {{{"y", {2, 7}}}, {}}),
            "shape of input 'y': dimension 1 is to be 7, but other dimensions make it 3");
  EXPECT_EQ(input_types(inputs, {{{"x", {2, 3, -7}}}, {}}), "shape of input 'x': [2, 3, -7] is not a shape");
  EXPECT_EQ(input_types(inputs, {{}, {{"c", 3}}}), "shape of 'c': the model has no dimension of that name");
}

// Shape arithmetic on constants is done while importing; what depends on a symbol is known symbolically.
TEST(Import, SeesThroughConstants) {
  const auto imported =
      import(model({.nodes = {node("Shape", {"x"}, {"s"}), node("Concat", {"s", "one"}, {"t"}, {int_attr("axis", 0)}),
                              node("Reshape", {"x", "t"}, {"y"})},
                    .initializers = {i64_tensor("one", {1}, {1})},
                    .inputs = {value_info("x", DType::F32, {"n", 4})},
                    .outputs = {value_info("y", DType::F32, {"a", "b", "c"})}}));
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  EXPECT_EQ(to_string(imported->graph->value(imported->graph->outputs[0].value).type), "f32[n, 4, 1]");
  const auto folded = import(model({.nodes = {node("Concat", {"a", "b"}, {"y"}, {int_attr("axis", 0)})},
                                    .initializers = {f32_tensor("a", {1}, {1}), f32_tensor("b", {1}, {2})},
                                    .inputs = {},
                                    .outputs = {value_info("y", DType::F32, {2})}}));
  ASSERT_TRUE(folded.ok()) << folded.error().message;
  const ir::Graph& graph = *folded->graph;
  ASSERT_TRUE(graph.is_constant(graph.outputs[0].value));
  EXPECT_THAT(graph.value(graph.outputs[0].value).constant->origins, ElementsAre("a", "b"));
  EXPECT_EQ(graph.value(graph.outputs[0].value).constant->recipe, "fold(Concat)");
}

TEST(Import, DeclaredTypes) {
  GraphSpec spec = concat_graph();
  spec.outputs = {value_info("y", DType::I64, {"m"})};
  EXPECT_EQ(failure(model(spec)), "node 'join' (Concat): value 'y' is declared as i64[unknown.0], but is f32[n + 2]");
  spec.outputs = {value_info("y", DType::F32, {"m", 2})};
  EXPECT_EQ(failure(model(spec)),
            "node 'join' (Concat): value 'y' is declared as f32[unknown.0, 2], but is f32[n + 2]");
  spec.outputs = {value_info("y", Message())};
  EXPECT_EQ(failure(model(spec)), "");
}

// -- Functions --

/// twice(a; axis) = concat(a, a), and four(a) = twice(twice(a)).
std::vector<Message> functions() {
  return {function({.name = "twice",
                    .domain = "local",
                    .inputs = {"a"},
                    .outputs = {"r"},
                    .nodes = {node("Concat", {"a", "a"}, {"r"}, {reference_attr("axis", "where", 2)})},
                    .attributes = {"where"}}),
          function(
              {.name = "four",
               .domain = "local",
               .inputs = {"a"},
               .outputs = {"r"},
               .nodes = {in_domain("local", node("twice", {"a"}, {"b"}, {reference_attr("where", "at", 2)})),
                         in_domain("local", node("twice", {"b"}, {"r"}, {reference_attr("where", "at", 2)}, "second"))},
               .attribute_defaults = {int_attr("at", 0)}})};
}

TEST(Import, FunctionsAreWrittenOut) {
  const auto imported =
      import(model({.graph = graph({.nodes = {in_domain("local", node("four", {"x"}, {"y"}, {}, "call"))},
                                    .initializers = {},
                                    .inputs = {x_info()},
                                    .outputs = {y_info()}}),
                    .functions = functions()}));
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const ir::Graph& graph = *imported->graph;
  ASSERT_EQ(graph.order().size(), 2u);
  EXPECT_THAT(graph.node(graph.order()[0]).sources, ElementsAre("call/#0/#0"));
  EXPECT_THAT(graph.node(graph.order()[1]).sources, ElementsAre("call/second/#0"));
  EXPECT_EQ(graph.value(graph.outputs[0].value).name, "y");
  EXPECT_THAT(numbers(run(*imported, {f32({1}, {5})})[0]), ElementsAre(5, 5, 5, 5));
}

TEST(Import, FunctionAttributesAtTheCall) {
  const auto imported = import(
      model({.graph = graph({.nodes = {in_domain("local", node("four", {"x"}, {"y"}, {int_attr("at", 1)}, "call"))},
                             .initializers = {},
                             .inputs = {value_info("x", DType::F32, {2, 1})},
                             .outputs = {value_info("y", DType::F32, {2, 4})}}),
             .functions = functions()}));
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  EXPECT_THAT(numbers(run(*imported, {f32({2, 1}, {5, 6})})[0]), ElementsAre(5, 5, 5, 5, 6, 6, 6, 6));
}

// 2^30 nodes from a file of a kilobyte.
TEST(Import, FunctionsThatExplodeAreRefused) {
  std::vector<Message> all;
  for (int i = 0; i < 30; ++i) {
    const std::string inner = i == 0 ? "Identity" : "f" + std::to_string(i - 1);
    const std::string domain = i == 0 ? "" : "local";
    all.push_back(function(
        {.name = "f" + std::to_string(i),
         .domain = "local",
         .inputs = {"a"},
         .outputs = {"r"},
         .nodes = {in_domain(domain, node(inner, {"a"}, {"b"})), in_domain(domain, node(inner, {"b"}, {"r"}))}}));
  }
  EXPECT_EQ(failure(model({.graph = graph({.nodes = {in_domain("local", node("f29", {"x"}, {"y"}))},
                                           .initializers = {},
                                           .inputs = {x_info()},
                                           .outputs = {y_info()}}),
                           .functions = all})),
            "the model expands to more than 1000000 nodes");
}

// -- Subgraphs --

/// y = condition ? concat(x, w) : x, where w is an outer constant.
GraphSpec if_graph() {
  const Message on_true = graph({.nodes = {node("Concat", {"x", "w"}, {"t"}, {int_attr("axis", 0)})},
                                 .initializers = {},
                                 .inputs = {},
                                 .outputs = {value_info("t", unranked_type(DType::F32))}});
  const Message on_false = graph({.nodes = {node("Identity", {"x"}, {"f"})},
                                  .initializers = {},
                                  .inputs = {},
                                  .outputs = {value_info("f", unranked_type(DType::F32))}});
  return {.nodes = {node("If", {"c"}, {"y"}, {graph_attr("then_branch", on_true), graph_attr("else_branch", on_false)},
                         "choose")},
          .initializers = {f32_tensor("w", {2}, {7, 8})},
          .inputs = {x_info(), value_info("c", DType::Bool, {})},
          .outputs = {y_info()}};
}

TEST(Import, If) {
  const auto imported = import(model(if_graph()));
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const ir::Graph& graph = *imported->graph;
  ASSERT_EQ(graph.order().size(), 1u);
  const ir::Node& node = graph.node(graph.order()[0]);
  EXPECT_EQ(node.inputs.size(), 2u);  // the condition and x; w is repeated inside
  EXPECT_EQ(node.regions[0]->inputs.size(), 1u);
  const Type& type = graph.value(graph.outputs[0].value).type;
  EXPECT_EQ(type.tensor.rank(), 1);
  EXPECT_TRUE(type.tensor.dim(0).is_unbacked());
  EXPECT_THAT(numbers(run(*imported, {f32({1}, {5}), boolean(true)})[0]), ElementsAre(5, 7, 8));
  EXPECT_THAT(numbers(run(*imported, {f32({1}, {5}), boolean(false)})[0]), ElementsAre(5));
  EXPECT_TRUE(ir::verify(graph).ok()) << ir::verify(graph).error().message;
}

TEST(Import, IfOnAConstantIsTheBranch) {
  GraphSpec spec = if_graph();
  spec.inputs.pop_back();
  spec.initializers.push_back(tensor<uint8_t>("c", DType::Bool, {}, {1}));
  const auto imported = import(model(spec));
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const ir::Graph& graph = *imported->graph;
  ASSERT_EQ(graph.order().size(), 1u);
  EXPECT_EQ(graph.node(graph.order()[0]).op->name, "Concat");
  EXPECT_THAT(graph.node(graph.order()[0]).sources, ElementsAre("choose/then_branch/#0"));
  EXPECT_EQ(graph.value(graph.outputs[0].value).name, "y");
}

/// A loop that appends x to what it carries and collects the iteration's number.
GraphSpec loop_graph(bool with_condition) {
  Message body = graph({.nodes = {node("Concat", {"carried", "x"}, {"next"}, {int_attr("axis", 0)}),
                                  node("Identity", {"again"}, {"again_out"}), node("Identity", {"i"}, {"i_out"})},
                        .initializers = {},
                        .inputs = {value_info("i", DType::I64, {}), value_info("again", DType::Bool, {}),
                                   value_info("carried", DType::F32, {DimSpec()})},
                        .outputs = {value_info("again_out", DType::Bool, {}),
                                    value_info("next", DType::F32, {DimSpec()}), value_info("i_out", DType::I64, {})}});
  GraphSpec spec{.nodes = {node("Loop", {"trips", with_condition ? "c" : "", "start"}, {"y", "numbers"},
                                {graph_attr("body", body)}, "repeat")},
                 .initializers = {f32_tensor("start", {1}, {1})},
                 .inputs = {value_info("x", DType::F32, {2}), value_info("trips", DType::I64, {})},
                 .outputs = {y_info(), value_info("numbers", DType::I64, {"k"})}};
  if (with_condition) spec.inputs.push_back(value_info("c", DType::Bool, {}));
  return spec;
}

TEST(Import, LoopWithACarriedValueThatGrows) {
  const auto imported = import(model(loop_graph(false)));
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const ir::Graph& graph = *imported->graph;
  EXPECT_TRUE(graph.value(graph.outputs[0].value).type.tensor.dim(0).is_unbacked());
  EXPECT_TRUE(ir::verify(graph).ok()) << ir::verify(graph).error().message;
  const auto two = run(*imported, {f32({2}, {5, 6}), Tensor::of_i64({2}).reshaped({})});
  EXPECT_THAT(numbers(two[0]), ElementsAre(1, 5, 6, 5, 6));
  EXPECT_THAT(load_i64(two[1].tensor()), ElementsAre(0, 1));
  const auto none = run(*imported, {f32({2}, {5, 6}), Tensor::of_i64({0}).reshaped({})});
  EXPECT_THAT(numbers(none[0]), ElementsAre(1));
  EXPECT_EQ(none[1].tensor().dtype(), DType::I64);
  EXPECT_THAT(none[1].tensor().dims(), ElementsAre(0));
}

TEST(Import, LoopWithACondition) {
  const auto imported = import(model(loop_graph(true)));
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const auto never = run(*imported, {f32({2}, {5, 6}), Tensor::of_i64({3}).reshaped({}), boolean(false)});
  EXPECT_THAT(numbers(never[0]), ElementsAre(1));
}

TEST(Import, LoopWithAKnownNumberOfTrips) {
  GraphSpec spec = loop_graph(false);
  spec.inputs.pop_back();
  spec.initializers.push_back(i64_tensor("trips", {}, {3}));
  const auto imported = import(model(spec));
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  EXPECT_EQ(to_string(imported->graph->value(imported->graph->outputs[1].value).type), "i64[3]");
}

TEST(Import, Scan) {
  // Carries the concatenation of what it has seen; collects each slice, backwards.
  Message body = graph(
      {.nodes = {node("Concat", {"seen", "slice"}, {"seen_out"}, {int_attr("axis", 0)}),
                 node("Identity", {"slice"}, {"slice_out"})},
       .initializers = {},
       .inputs = {value_info("seen", DType::F32, {DimSpec()}), value_info("slice", DType::F32, {DimSpec()})},
       .outputs = {value_info("seen_out", DType::F32, {DimSpec()}), value_info("slice_out", DType::F32, {DimSpec()})}});
  const auto imported =
      import(model({.nodes = {node("Scan", {"start", "x"}, {"y", "z"},
                                   {graph_attr("body", body), int_attr("num_scan_inputs", 1),
                                    ints_attr("scan_input_axes", {1}), ints_attr("scan_output_directions", {1})})},
                    .initializers = {f32_tensor("start", {1}, {0})},
                    .inputs = {value_info("x", DType::F32, {2, "n"})},
                    .outputs = {y_info(), value_info("z", DType::F32, {"n", 2})}}));
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const ir::Graph& graph = *imported->graph;
  EXPECT_EQ(to_string(graph.value(graph.outputs[1].value).type), "f32[n, 2]");
  const auto results = run(*imported, {f32({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_THAT(numbers(results[0]), ElementsAre(0, 1, 4, 2, 5, 3, 6));
  EXPECT_THAT(numbers(results[1]), ElementsAre(3, 6, 2, 5, 1, 4));
}

// Truncated anywhere and with any byte changed, a model is imported or refused, and nothing worse.
TEST(Import, DamagedModels) {
  const std::vector<std::string> models = {
      model(if_graph()), model(loop_graph(true)),
      model({.graph = graph({.nodes = {in_domain("local", node("four", {"x"}, {"y"}, {}, "call"))},
                             .initializers = {},
                             .inputs = {x_info()},
                             .outputs = {y_info()}}),
             .functions = functions()})};
  int accepted = 0;
  for (const std::string& good : models) {
    for (size_t length = 0; length < good.size(); ++length) {
      const auto result = import(good.substr(0, length));
      if (result.ok()) {
        ++accepted;
      } else {
        EXPECT_NE(result.error().code, ErrorCode::Internal) << result.error().message;
      }
    }
    for (size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      for (const int change : {1, 0x80, 0xff}) {
        bad[at] = static_cast<char>(good[at] ^ change);
        const auto result = import(bad);
        if (result.ok()) continue;
        EXPECT_NE(result.error().code, ErrorCode::Internal) << result.error().message;
      }
    }
  }
  EXPECT_EQ(accepted, 0);  // the graph comes last, so a shorter file has lost some of it
}

TEST(Attributes, ThoseOfTheStandardAndNoOthers) {
  EXPECT_EQ(why_not_attribute("Squeeze", "axes", 12), "");
  EXPECT_EQ(why_not_attribute("Squeeze", "axes", 13), "belongs to opsets until 12, and the model's is 13");
  EXPECT_EQ(why_not_attribute("LSTM", "layout", 13), "belongs to opsets from 14, and the model's is 13");
  EXPECT_EQ(why_not_attribute("LSTM", "layout", 14), "");
  EXPECT_EQ(why_not_attribute("Relu", "alpha", 17), "is not known; it has none");
  EXPECT_EQ(why_not_attribute("Concat", "axes", 17), "is not known; did you mean 'axis'?; it has axis");
  EXPECT_EQ(why_not_attribute("OfSomebody", "anything", 17), "");
  const auto refused = import(model({.nodes = {node("Relu", {"x"}, {"y"}, {int_attr("axis", 0)}, "r")},
                                     .inputs = {value_info("x", DType::F32, {2})},
                                     .outputs = {value_info("y", DType::F32, {2})}}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "node 'r' (Relu): attribute 'axis' is not known; it has none");
}

TEST(Outputs, SizesOtherThanDeclaredAreAWarning) {
  const auto imported = import(model({.nodes = {node("Relu", {"x"}, {"y"})},
                                      .inputs = {value_info("x", DType::F32, {2, "n"})},
                                      .outputs = {value_info("y", DType::F32, {3, 4})}}));
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  EXPECT_THAT(imported->warnings, ElementsAre("output 'y' is declared with shape [3, 4], but is f32[2, n]: the "
                                              "declaration is ignored"));
}

}  // namespace
}  // namespace strop::onnx
