#include "errors/hostile.h"
#include "errors/small_models.h"

namespace strop::tests {
namespace {

using namespace onnx::testing;  // NOLINT: the model writer's vocabulary

HostileModel illegal(std::string name, const GraphSpec& spec, std::string message) {
  return {std::move(name), model(spec), "invalid_model", std::move(message)};
}

HostileModel illegal(std::string name, const ModelSpec& spec, std::string message) {
  return {std::move(name), model(spec), "invalid_model", std::move(message)};
}

GraphSpec with_inputs(std::vector<Message> inputs) {
  GraphSpec spec = identity_graph();
  spec.inputs = std::move(inputs);
  return spec;
}

GraphSpec with_outputs(std::vector<Message> outputs) {
  GraphSpec spec = identity_graph();
  spec.outputs = std::move(outputs);
  return spec;
}

Message branch(std::vector<Message> nodes, const Message& output) {
  return graph({.nodes = std::move(nodes), .initializers = {}, .inputs = {}, .outputs = {output}});
}

Message good_branch() { return branch({node("Identity", {"x"}, {"t"})}, value_info("t", DType::F32, {2})); }

GraphSpec if_with(const std::vector<Message>& attrs) {
  GraphSpec spec = graph_of({node("If", {"c"}, {"y"}, attrs, "choose")});
  spec.inputs.push_back(value_info("c", DType::Bool, {}));
  return spec;
}

GraphSpec loop_with(const Message& body) {
  GraphSpec spec = graph_of({node("Loop", {"n", "", "x"}, {"y"}, {graph_attr("body", body)}, "repeat")});
  spec.inputs.push_back(value_info("n", DType::I64, {}));
  return spec;
}

ModelSpec with_functions(std::vector<Message> functions, const Message& call) {
  return {.graph = graph(graph_of({call})), .functions = std::move(functions)};
}

/// One node "odd" on strings x [2, 3, 4] (and s [3] of f32, t [3] of strings).
GraphSpec of_strings(const Message& node) {
  GraphSpec spec = graph_of({node});
  spec.inputs = {value_info("x", DType::String, {2, 3, 4}), value_info("f", DType::F32, {2, 3, 4}),
                 value_info("s", DType::F32, {3}), value_info("t", DType::String, {3})};
  spec.outputs = {value_info("y", DType::F32, {2, 3, 4})};
  return spec;
}

std::vector<HostileModel> wrong_operands() {
  return {
      illegal("dropout_of_strings", of_strings(node("Dropout", {"x"}, {"y", "mask"}, {}, "odd")),
              "node 'odd' (Dropout): operand 0 must be floating point, not string"),
      illegal("pooled_strings", of_strings(node("GlobalLpPool", {"x"}, {"y"}, {int_attr("p", 3)}, "odd")),
              "node 'odd' (GlobalLpPool): operand 0 must be floating point, not string"),
      illegal("reverse_sequence_along_a_far_axis",
              of_strings(node("ReverseSequence", {"f", "s"}, {"y"},
                              {int_attr("batch_axis", INT64_MAX), int_attr("time_axis", 1)}, "odd")),
              "node 'odd' (ReverseSequence): (C1) batch axis 9223372036854775807 and time axis 1 are not 0 and 1"),
      illegal("rotary_embedding_without_angles",
              ModelSpec{.graph = graph(of_strings(
                            node("RotaryEmbedding", {"f", "", ""}, {"y"}, {int_attr("num_heads", 1)}, "odd"))),
                        .opsets = {opset("", 23)}},
              "node 'odd' (RotaryEmbedding): operand 1 is missing"),
      illegal("running_mean_of_strings",
              of_strings(node("BatchNormalization", {"f", "s", "s", "t", "s"}, {"y", "m", "v"},
                              {int_attr("training_mode", 1)}, "odd")),
              "node 'odd' (BatchNormalization): operand 3 must be floating point, not string"),
  };
}

std::vector<HostileModel> bad_names() {
  return {
      illegal("two_results_of_one_name",
              graph_of({node("Identity", {"x"}, {"y"}, {}, "a"), node("Identity", {"x"}, {"y"}, {}, "b")}),
              "node 'b' (Identity): its result 'y' is also made by node 'a' (Identity)"),
      illegal("result_named_as_input",
              graph_of({node("Identity", {"x"}, {"y"}), node("Identity", {"y"}, {"x"}, {}, "back")}),
              "node 'back' (Identity): its result 'x' is also an input or initializer of the graph"),
      illegal("input_twice", with_inputs({value_info("x", DType::F32, {2}), value_info("x", DType::F32, {2})}),
              "input 'x' of the graph is declared twice"),
      illegal("input_without_name", with_inputs({value_info("", DType::F32, {2})}),
              "an input of the graph has no name"),
      illegal("operand_undefined", graph_of({node("Identity", {"nowhere"}, {"y"}, {}, "copy")}),
              "node 'copy' (Identity): operand 'nowhere' is not defined anywhere"),
      illegal("nodes_out_of_order",
              graph_of({node("Identity", {"t"}, {"y"}, {}, "second"), node("Identity", {"x"}, {"t"}, {}, "first")}),
              "node 'second' (Identity): operand 't' is used before node 'first' (Identity) makes it; ONNX wants nodes "
              "in the order of execution"),
      illegal("cycle",
              graph_of({node("Concat", {"x", "b"}, {"a"}, {int_attr("axis", 0)}, "one"),
                        node("Identity", {"a"}, {"b"}, {}, "two"), node("Identity", {"a"}, {"y"})}),
              "the graph has a cycle: node 'one' (Concat), node 'two' (Identity)"),
      illegal("node_feeds_itself", graph_of({node("Concat", {"x", "y"}, {"y"}, {int_attr("axis", 0)}, "self")}),
              "the graph has a cycle: node 'self' (Concat)"),
      illegal("output_not_made", with_outputs({value_info("z", DType::F32, {2})}),
              "output 'z' of the graph is not made by any node"),
      illegal("output_twice", with_outputs({value_info("y", DType::F32, {2}), value_info("y", DType::F32, {2})}),
              "output 'y' of the graph is listed twice"),
      illegal("no_outputs", with_outputs({}), "the graph has no outputs"),
      illegal("node_without_operator", graph_of({node("", {"x"}, {"y"}, {}, "blank")}),
              "node 'blank' has no operator type"),
      illegal("name_with_line_ends", graph_of({node("Identity", {"no\nwhere"}, {"y"}, {}, "co\npy")}),
              "node 'co\\x0apy' (Identity): operand 'no\\x0awhere' is not defined anywhere"),
      illegal("subgraph_uses_undefined",
              if_with({graph_attr("then_branch",
                                  branch({node("Identity", {"q"}, {"t"}, {}, "in")}, value_info("t", DType::F32, {2}))),
                       graph_attr("else_branch", good_branch())}),
              "node 'in' (Identity): operand 'q' is not defined anywhere"),
  };
}

std::vector<HostileModel> bad_headers() {
  const Message good = graph(identity_graph());
  return {
      {"no_graph", Message().integer(1, 8).message(8, opset("", 17)).bytes(), "invalid_model",
       "the model has no graph"},
      illegal("ir_version_zero", ModelSpec{.graph = good, .ir_version = 0}, "the model's IR version is 0"),
      illegal("no_opset", ModelSpec{.graph = good, .opsets = {}},
              "node 'copy' (Identity): domain '' has no opset_import"),
      illegal("opset_zero", ModelSpec{.graph = good, .opsets = {opset("", 0)}},
              "the model imports opset 0 of domain ''"),
      illegal("two_opsets", ModelSpec{.graph = good, .opsets = {opset("", 17), opset("ai.onnx", 18)}},
              "the model imports opsets 17 and 18 of domain ''"),
  };
}

std::vector<HostileModel> bad_tensors() {
  return {
      illegal(
          "initializer_twice",
          [] {
            GraphSpec spec = identity_graph();
            spec.initializers = {f32_tensor("w", {1}, {1}), f32_tensor("w", {1}, {1})};
            return spec;
          }(),
          "initializer 'w' of the graph is given twice"),
      illegal("initializer_too_short", graph_with(f32_tensor("w", {3}, {1, 2})),
              "initializer 'w' has 8 bytes of data where its type and shape need 12"),
      illegal("initializer_of_negative_shape", graph_with(f32_tensor("w", {-1}, {})),
              "initializer 'w' has a negative dimension, -1"),
      illegal("initializer_shape_overflows", graph_with(f32_tensor("w", {INT64_MAX, INT64_MAX}, {})),
              "initializer 'w' has more than 2^40 elements"),
      illegal("initializer_of_unknown_type",
              graph_with(Message().packed(1, {1}).integer(2, 77).text(8, "w").text(9, "abcd")),
              "initializer 'w' has element type 77, which ONNX does not define"),
      illegal("external_data_absolute", graph_with(external_tensor("w", {1}, "/etc/passwd")),
              "initializer 'w' is external data in '/etc/passwd'; only relative paths without '..' are allowed"),
      illegal("external_data_climbs", graph_with(external_tensor("w", {1}, "a/../../etc/passwd")),
              "initializer 'w' is external data in 'a/../../etc/passwd'; only relative paths without '..' are allowed"),
      {"external_data_missing", model(graph_with(external_tensor("w", {1}, "strop_no_such_file.bin"))), "not_found",
       "initializer 'w' is external data in 'strop_no_such_file.bin': No such file or directory"},
      illegal("input_without_type", with_inputs({value_info("x", Message())}), "input 'x' has no type"),
      illegal("input_of_negative_shape", with_inputs({value_info("x", DType::F32, {-5})}),
              "input 'x' has a negative dimension, -5"),
      illegal("input_shape_overflows", with_inputs({value_info("x", DType::F32, {int64_t{1} << 40, int64_t{1} << 40})}),
              "input 'x' has more than 2^40 elements"),
      illegal("output_of_another_type", with_outputs({value_info("y", DType::I64, {2})}),
              "node 'copy' (Identity): value 'y' is declared as i64[2], but is f32[2]"),
  };
}

std::vector<HostileModel> bad_nodes() {
  const Message loop_body = graph(
      {.nodes = {node("Identity", {"c"}, {"co"})},
       .initializers = {},
       .inputs = {value_info("i", DType::I64, {}), value_info("c", DType::Bool, {}), value_info("v", DType::F32, {2})},
       .outputs = {value_info("co", DType::Bool, {})}});
  const Message narrow_body = graph({.nodes = {node("Identity", {"i"}, {"co"})},
                                     .initializers = {},
                                     .inputs = {value_info("i", DType::I64, {})},
                                     .outputs = {value_info("co", DType::I64, {})}});
  const Message f = function({.name = "f",
                              .domain = "local",
                              .inputs = {"a"},
                              .outputs = {"r"},
                              .nodes = {in_domain("local", node("g", {"a"}, {"r"}))}});
  const Message g = function({.name = "g",
                              .domain = "local",
                              .inputs = {"a"},
                              .outputs = {"r"},
                              .nodes = {in_domain("local", node("f", {"a"}, {"r"}))}});
  const Message h = function(
      {.name = "h", .domain = "local", .inputs = {"a"}, .outputs = {"r"}, .nodes = {node("Identity", {"a"}, {"r"})}});
  return {
      illegal("attribute_missing", graph_of({node("Concat", {"x"}, {"y"}, {}, "join")}),
              "node 'join' (Concat): attribute 'axis' is missing"),
      illegal("attribute_of_another_kind", graph_of({node("Concat", {"x"}, {"y"}, {float_attr("axis", 0)}, "join")}),
              "node 'join' (Concat): attribute 'axis' must be an integer, but is a number"),
      illegal("attribute_twice",
              graph_of({node("Concat", {"x"}, {"y"}, {int_attr("axis", 0), int_attr("axis", 0)}, "join")}),
              "node 'join' (Concat): attribute 'axis' is given twice"),
      illegal("axis_out_of_range", graph_of({node("Concat", {"x"}, {"y"}, {int_attr("axis", 7)}, "join")}),
              "node 'join' (Concat): (C1) axis 7 is outside [-1, 1) for rank 1"),
      illegal("operand_missing", graph_of({node("Concat", {"x", ""}, {"y"}, {int_attr("axis", 0)}, "join")}),
              "node 'join' (Concat): operand 1 is missing"),
      illegal("absent_operand_passed_on", graph_of({node("Identity", {""}, {"y"}, {}, "copy")}),
              "node 'copy' (Identity): result 'y' passes on an operand that is absent"),
      illegal("operand_with_the_shape_missing", graph_of({node("Reshape", {"x"}, {"y"}, {}, "shape_it")}),
              "node 'shape_it' (Reshape): the operand that gives 'shape' is missing"),
      illegal("result_that_is_not_there", graph_of({node("Identity", {"x"}, {"y", "z"}, {}, "copy")}),
              "node 'copy' (Identity): the operator has no result 1, which is named 'z'"),
      illegal("if_without_else", if_with({graph_attr("then_branch", good_branch())}),
              "node 'choose' (If): attribute 'else_branch' is missing"),
      illegal(
          "branches_of_two_types",
          if_with({graph_attr("then_branch", good_branch()),
                   graph_attr("else_branch", branch({node("Shape", {"x"}, {"t"})}, value_info("t", DType::I64, {1})))}),
          "node 'choose' (If): (C3) result 0 of the branches: f32[2] and i64[1] do not go together"),
      illegal("loop_body_returns_too_little", loop_with(loop_body),
              "node 'repeat' (Loop): the body returns 1 values, fewer than the 2 that it must"),
      illegal("loop_body_takes_too_little", loop_with(narrow_body),
              "node 'repeat' (Loop): 'body' takes 1 values, but is given 3"),
      illegal("function_calls_itself", with_functions({f, g}, in_domain("local", node("f", {"x"}, {"y"}, {}, "call"))),
              "function 'f' calls itself"),
      illegal("function_twice", with_functions({h, h}, in_domain("local", node("h", {"x"}, {"y"}, {}, "call"))),
              "function 'h' is defined twice"),
      illegal("function_with_too_many_operands",
              with_functions({h}, in_domain("local", node("h", {"x", "x"}, {"y"}, {}, "call"))),
              "node 'call' (h): has 2 operands and 1 results, but the function has 1 and 1"),
  };
}

}  // namespace

std::vector<HostileModel> illegal_models() {
  std::vector<HostileModel> all;
  for (const auto& part : {bad_headers(), bad_names(), bad_tensors(), bad_nodes(), wrong_operands()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace strop::tests
