#include "errors/hostile.h"
#include "errors/small_models.h"

namespace strop::tests {
namespace {

using namespace onnx::testing;  // NOLINT: the model writer's vocabulary

HostileModel damaged(std::string name, std::string bytes, std::string what) {
  return {std::move(name), std::move(bytes), "invalid_model", "the model file is " + what};
}

/// Ifs in Ifs.
std::string nested_ifs(int depth) {
  Message inner = graph(identity_graph());
  for (int i = 0; i < depth; ++i) {
    inner =
        graph({.nodes = {node("If", {"c"}, {"y"},
                              {graph_attr("then_branch", inner), graph_attr("else_branch", graph(identity_graph()))})},
               .initializers = {},
               .inputs = {},
               .outputs = {value_info("y", DType::F32, {2})}});
  }
  return model(ModelSpec{inner});
}

/// Sequences of sequences of …
Message nested_sequence(int depth) {
  Message type = tensor_type(DType::F32, {});
  for (int i = 0; i < depth; ++i) type = sequence_type(type);
  return type;
}

}  // namespace

std::vector<HostileModel> damaged_files() {
  const std::string good = model(identity_graph());
  const std::string huge_length =
      Message().integer(1, 8).tag(7, 2).raw_varint((uint64_t{1} << 32) + 4).bytes() + "abcd";
  GraphSpec bad_name = identity_graph();
  bad_name.name = "\xc3\x28";
  GraphSpec deep_type = identity_graph();
  deep_type.inputs = {value_info("x", nested_sequence(40))};
  return {
      {"empty", "", "invalid_model", "the file is not an ONNX model: it has no IR version"},
      damaged("text", "hello, world", ""),
      damaged("cut_short", good.substr(0, good.size() / 2), ""),
      damaged("cut_in_a_length", good.substr(0, 3), ""),
      damaged("length_beyond_32_bits", huge_length, ""),
      damaged("endless_number", Message().tag(1, 0).bytes() + std::string(16, '\xff'), ""),
      damaged("name_not_utf8", model(bad_name), ""),
      damaged("graphs_nested_deeply", nested_ifs(60), ""),
      damaged("types_nested_deeply", model(deep_type), ""),
      damaged("graph_is_a_number", Message().integer(1, 8).integer(7, 5).bytes(), ""),
      damaged("field_zero", std::string(4, '\0'), ""),
      damaged("element_type_too_large", model([] {
                GraphSpec spec = identity_graph();
                spec.inputs = {value_info("x", Message().message(1, Message().integer(1, int64_t{1} << 40)))};
                return spec;
              }()),
              ""),
  };
}

}  // namespace strop::tests
