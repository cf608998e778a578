#include "errors/hostile.h"
#include "errors/small_models.h"

namespace strop::tests {
namespace {

using namespace onnx::testing;  // NOLINT: the model writer's vocabulary

HostileModel greedy(std::string name, const ModelSpec& spec, std::string code, std::string message) {
  return {std::move(name), model(spec), std::move(code), std::move(message)};
}

ModelSpec of(const GraphSpec& spec) { return ModelSpec{graph(spec)}; }

/// f<n> calls f<n-1> twice.
ModelSpec doubling_functions(int count) {
  std::vector<Message> functions;
  for (int i = 0; i < count; ++i) {
    const std::string inner = i == 0 ? "Identity" : "f" + std::to_string(i - 1);
    const std::string domain = i == 0 ? "" : "local";
    functions.push_back(function(
        {.name = "f" + std::to_string(i),
         .domain = "local",
         .inputs = {"a"},
         .outputs = {"r"},
         .nodes = {in_domain(domain, node(inner, {"a"}, {"b"})), in_domain(domain, node(inner, {"b"}, {"r"}))}}));
  }
  const Message call = in_domain("local", node("f" + std::to_string(count - 1), {"x"}, {"y"}, {}, "call"));
  return {.graph = graph(graph_of({call})), .functions = functions};
}

/// A loop in a loop in …: each level's body is imported anew when its types widen.
Message growing_loops(int depth) {
  Message body_node = node("Concat", {"v", "v"}, {"w"}, {int_attr("axis", 0)});
  Message result;
  for (int i = 0; i < depth; ++i) {
    const Message body =
        graph({.nodes = {node("Identity", {"c"}, {"co"}), body_node},
               .initializers = {},
               .inputs = {value_info("i", DType::I64, {}), value_info("c", DType::Bool, {}),
                          value_info("v", DType::F32, {DimSpec()})},
               .outputs = {value_info("co", DType::Bool, {}), value_info("w", DType::F32, {DimSpec()})}});
    body_node = node("Loop", {"n", "", "v"}, {"w"}, {graph_attr("body", body)});
    result = node("Loop", {"n", "", "x"}, {"y"}, {graph_attr("body", body)}, "outer");
  }
  return result;
}

GraphSpec sparse_bomb() {
  GraphSpec spec = identity_graph();
  spec.sparse_initializers = {Message()
                                  .message(1, f32_tensor("s", {1}, {1}))
                                  .message(2, i64_tensor("", {1}, {0}))
                                  .packed(3, {1 << 20, 1 << 18})};
  return spec;
}

GraphSpec typed_input(const Message& type) {
  GraphSpec spec = identity_graph();
  spec.inputs = {value_info("x", type)};
  return spec;
}

GraphSpec constant_of_shape(std::vector<int64_t> shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  GraphSpec spec = graph_of({node("ConstantOfShape", {"s"}, {"y"}, {}, "fill")});
  spec.initializers = {i64_tensor("s", {rank}, shape)};
  spec.outputs = {value_info("y", unranked_type(DType::F32))};
  return spec;
}

GraphSpec loops(int depth) {
  GraphSpec spec = graph_of({growing_loops(depth)});
  spec.inputs.push_back(value_info("n", DType::I64, {}));
  spec.outputs = {value_info("y", unranked_type(DType::F32))};
  return spec;
}

}  // namespace

std::vector<HostileModel> greedy_models() {
  const Message map_type = Message().message(5, Message().integer(1, 7));
  return {
      greedy("operator_unknown", of(graph_of({node("Frobnicate", {"x"}, {"y"}, {}, "odd")})), "unsupported",
             "node 'odd' (Frobnicate, domain ''): operator is not supported"),
      greedy("operator_misspelt", of(graph_of({node("Reshap", {"x"}, {"y"}, {}, "odd")})), "unsupported",
             "node 'odd' (Reshap, domain ''): operator is not supported; did you mean 'Reshape'?"),
      greedy("operators_unknown",
             of(graph_of({node("Frobnicate", {"x"}, {"t"}, {}, "odd"), node("Twiddle", {"t"}, {"y"})})), "unsupported",
             "2 operators are not supported: Frobnicate (domain '', opset 17, node 'odd'), Twiddle (domain '', opset "
             "17, node '#1')"),
      greedy("operator_of_another_domain",
             ModelSpec{.graph = graph(graph_of({in_domain("com.example", node("Identity", {"x"}, {"y"}, {}, "odd"))})),
                       .opsets = {opset("", 17), opset("com.example", 1)}},
             "unsupported", "node 'odd' (Identity, domain 'com.example'): operator is not supported"),
      greedy("operator_too_old",
             ModelSpec{.graph = graph(graph_of({node("Scan", {"x"}, {"y"}, {}, "old")})), .opsets = {opset("", 7)}},
             "unsupported",
             "node 'old' (Scan, domain ''): opset 7 of this operator is not supported, only 8 and later"),
      greedy("opset_from_the_future", ModelSpec{.graph = graph(identity_graph()), .opsets = {opset("", 999)}},
             "unsupported", "the model needs opset 999; the newest that is known here is 27"),
      greedy("ir_version_from_the_future", ModelSpec{.graph = graph(identity_graph()), .ir_version = 99}, "unsupported",
             "the model's IR version is 99; the newest that is known here is 13"),
      greedy("map_as_input", of(typed_input(map_type)), "unsupported",
             "input 'x' has a type that is not supported: map"),
      greedy("sparse_bomb", of(sparse_bomb()), "unsupported",
             "initializer 's' is sparse with 274877906944 elements; at most 268435456 are made dense"),
      greedy("functions_that_double", doubling_functions(40), "unsupported",
             "the model expands to more than 1000000 nodes"),
      greedy("loops_that_widen", of(loops(30)), "unsupported",
             "node 'outer/body/#1/body/#1/body/#1/body/#1/body/#1/body/#1' (Loop): loops are nested more than 6 deep"),
      greedy("constant_of_absurd_shape", of(constant_of_shape({1 << 30, 1 << 30})), "invalid_model",
             "node 'fill' (ConstantOfShape): [1073741824, 1073741824] is more than 2^40 elements"),
      greedy("constant_of_negative_shape", of(constant_of_shape({-4})), "invalid_model",
             "node 'fill' (ConstantOfShape): (C2) the shape [-4] has a negative dimension"),
  };
}

}  // namespace strop::tests
