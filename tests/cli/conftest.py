"""The tiny models that the tests of the command use."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from tiny import BIAS, WEIGHT, call, save


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="session")
def dense_model(folder: Path) -> Path:
    """y = relu(x W + b), x of [batch, 4]."""
    return save(
        folder / "dense.onnx",
        [
            helper.make_node("MatMul", ["x", "w"], ["h"], "multiply"),
            helper.make_node("Add", ["h", "b"], ["s"], "shift"),
            helper.make_node("Relu", ["s"], ["y"], "clip"),
        ],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])],
        (("w", WEIGHT), ("b", BIAS)),
    )


@pytest.fixture(scope="session")
def named_model(folder: Path) -> Path:
    """sum = a:0 + b/c: names that file systems and option syntax mind."""
    port = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3])  # noqa: E731
    return save(
        folder / "named.onnx",
        [helper.make_node("Add", ["a:0", "b/c"], ["sum/1:0"], "n")],
        [port("a:0"), port("b/c")],
        [port("sum/1:0")],
    )


@pytest.fixture(scope="session")
def unsupported_model(folder: Path) -> Path:
    """One operator that no one has."""
    node = helper.make_node("Frobnicate", ["x"], ["y"], "frob", domain="org.example")
    path = folder / "unsupported.onnx"
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("org.example", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


@pytest.fixture(scope="session")
def dense_engine(folder: Path, dense_model: Path) -> Path:
    path = folder / "dense.strop"
    ended = call("build", dense_model, "-o", path, "--device", "cpu")
    assert ended.code == 0, ended.err
    return path
