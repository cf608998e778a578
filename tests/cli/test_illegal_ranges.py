"""Ranges of shapes whose optimum is not legal for the model: nothing is measured there, and runs say what does not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import strop_command

CONSTANT = numpy_helper.from_array(np.ones((8, 5), np.float32), "c")

# Node, dimensions of x, minimum, maximum (which is the optimum), a legal shape, one that is not, and what is said.
CASES = {
    "MatMul": (helper.make_node("MatMul", ["x", "c"], ["y"]), "1x1", "300x300", "4x8", "4x9", "(MatMul)"),
    "Concat": (helper.make_node("Concat", ["c", "x"], ["y"], axis=0), "1x1", "2000x2000", "3x5", "3x4", "(Concat)"),
    "MaxPool": (
        helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[5, 5]),
        "1x1x1x1",
        "1x1x2x2",
        None,
        "1x1x2x2",
        "shape [1, 1, -2, -2]",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_measured_where_the_operator_is_not_legal(name: str, tmp_path: Path) -> None:
    node, least, most, legal, illegal, message = CASES[name]
    dims = [f"d{axis}" for axis in range(len(least.split("x")))]
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [CONSTANT] if "c" in node.input else [],
    )
    model, engine = tmp_path / "m.onnx", tmp_path / "e.strop"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), model)
    built = strop_command.strop("build", model, "-o", engine, "--min-shapes", f"x:{least}", "--max-shapes", f"x:{most}")
    assert built.code == 0, built.stderr
    assert not any(c.get("time_us") for step in strop_command.inspect(engine)["steps"] for c in step["candidates"])
    if legal is not None:
        ran = strop_command.strop("run", engine, "--shapes", f"x:{legal}")
        assert ran.code == 0, ran.stderr
    refused = strop_command.strop("run", engine, "--shapes", f"x:{illegal}")
    assert refused.code == 2, refused.stderr
    assert message in refused.stderr
