"""For developers: writes a small model for each version of each ONNX operator, as seeds for the importer's fuzzer.

Usage: write_operator_models.py FOLDER

Operands are f32[2, 3, 4, 4] or what the operator's type constraint asks for; attributes get plain values. Whether the
shapes suit the operator does not matter: a refusal is a seed too.
"""

import sys
from pathlib import Path

import onnx
from onnx import TensorProto, defs, helper

ELEMENT_TYPES = {
    "tensor(float)": TensorProto.FLOAT,
    "tensor(int64)": TensorProto.INT64,
    "tensor(bool)": TensorProto.BOOL,
    "tensor(string)": TensorProto.STRING,
    "tensor(uint8)": TensorProto.UINT8,
}
PREFERRED = [*ELEMENT_TYPES, "seq(tensor(float))", "optional(tensor(float))"]


def type_of(name: str, shape: list) -> onnx.TypeProto:
    if name.startswith("seq("):
        return helper.make_sequence_type_proto(type_of(name[4:-1], shape))
    if name.startswith("optional("):
        return helper.make_optional_type_proto(type_of(name[9:-1], shape))
    return helper.make_tensor_type_proto(ELEMENT_TYPES.get(name, TensorProto.FLOAT), shape)


def body() -> onnx.GraphProto:
    value = helper.make_tensor_value_info("b", TensorProto.FLOAT, [2])
    node = helper.make_node("Constant", [], ["b"], value=helper.make_tensor("v", TensorProto.FLOAT, [2], [1, 2]))
    return helper.make_graph([node], "body", [], [value])


def attribute(spec: defs.OpSchema.Attribute) -> object:
    kinds = defs.OpSchema.AttrType
    plain = {kinds.INT: 1, kinds.FLOAT: 0.5, kinds.STRING: "linear", kinds.INTS: [1, 1], kinds.FLOATS: [0.5, 2.0],
             kinds.STRINGS: ["a", "b"], kinds.GRAPH: body(),
             kinds.TENSOR: helper.make_tensor("t", TensorProto.FLOAT, [2], [1.0, 2.0])}  # fmt: skip
    return plain.get(spec.type)


def model(schema: defs.OpSchema, with_attributes: bool) -> onnx.ModelProto:
    inputs, outputs = [], []
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    for i in range(max(schema.min_input, min(schema.max_input, 4))):
        formal = schema.inputs[min(i, len(schema.inputs) - 1)]
        types = allowed.get(formal.type_str, [formal.type_str])
        chosen = next((name for name in PREFERRED if name in types), sorted(types)[0])
        shape = ["n", 3, 4, 4] if chosen == "tensor(float)" else [2]
        inputs.append(helper.make_value_info(f"x{i}", type_of(chosen, shape)))
    for i in range(max(schema.min_output, min(schema.max_output, 3))):
        outputs.append(onnx.ValueInfoProto(name=f"y{i}"))
    given = {}
    for name, spec in schema.attributes.items():
        value = attribute(spec)
        if value is not None and (with_attributes or spec.required):
            given[name] = value
    node = helper.make_node(
        schema.name, [v.name for v in inputs], [v.name for v in outputs], domain=schema.domain, **given
    )
    graph = helper.make_graph([node], "g", inputs, outputs)
    opsets = [helper.make_opsetid(schema.domain, schema.since_version)]
    if schema.domain:
        opsets.append(helper.make_opsetid("", 17))
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def main() -> None:
    folder = Path(sys.argv[1])
    for schema in defs.get_all_schemas_with_history():
        if schema.domain not in ("", "ai.onnx.ml") or schema.deprecated:
            continue
        for with_attributes in {False, bool(schema.attributes)}:
            name = f"{schema.domain}{schema.name}_{schema.since_version}{'_attributes' if with_attributes else ''}"
            (folder / name).write_bytes(model(schema, with_attributes).SerializeToString())


if __name__ == "__main__":
    main()
