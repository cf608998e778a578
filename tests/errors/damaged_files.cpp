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
      damaged("text", "hello, world", "damaged at byte 3 (in ModelProto, field 13): wire type 4 is not used by ONNX"),
      damaged("cut_short", good.substr(0, good.size() / 2),
              "damaged at byte 21 (in ModelProto, field 7): a length of 61 bytes where 20 are left"),
      damaged("cut_in_a_length", good.substr(0, 3),
              "damaged at byte 3 (in ModelProto, field 8): the data end inside a number"),
      damaged("length_beyond_32_bits", huge_length,
              "damaged at byte 8 (in ModelProto, field 7): a length of 4294967300 bytes where 4 are left"),
      damaged("endless_number", Message().tag(1, 0).bytes() + std::string(16, '\xff'),
              "damaged at byte 1 (in ModelProto, field 1): a number longer than 64 bits"),
      damaged("name_not_utf8", model(bad_name),
              "damaged at byte 49 (in GraphProto, field 2): a name that is not UTF-8"),
      damaged("graphs_nested_deeply", nested_ifs(60),
              "damaged at byte 1046 (in GraphProto, field 0): messages nested too deeply"),
      damaged("types_nested_deeply", model(deep_type),
              "damaged at byte 201 (in TypeProto, field 0): messages nested too deeply"),
      damaged("graph_is_a_number", Message().integer(1, 8).integer(7, 5).bytes(),
              "damaged at byte 3 (in ModelProto, field 7): wire type 0 where 2 belongs"),
      damaged("field_zero", std::string(4, '\0'),
              "damaged at byte 1 (in ModelProto, field 0): 0 is not a field number"),
      damaged("element_type_too_large", model([] {
                GraphSpec spec = identity_graph();
                spec.inputs = {value_info("x", Message().message(1, Message().integer(1, int64_t{1} << 40)))};
                return spec;
              }()),
              "damaged at byte 64 (in TypeProto.Tensor, field 1): 1099511627776 does not fit 32 bits"),
  };
}

}  // namespace strop::tests
