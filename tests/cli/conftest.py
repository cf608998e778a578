"""Tiny models, and the command run on them."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from strop_command import STROP

WEIGHT = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
BIAS = np.array([0.5, -0.25, 0.125], np.float32)


@dataclass(frozen=True)
class Ended:
    """How one call ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict | list:
        """The one JSON document on stdout."""
        return json.loads(self.out)


def call(*arguments: object, timeout_s: float = 120) -> Ended:
    """Runs `strop ARGUMENTS` as typed."""
    done = subprocess.run(
        [str(STROP), *map(str, arguments)], capture_output=True, text=True, timeout=timeout_s, check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def dense(x: np.ndarray) -> np.ndarray:
    """What the model `dense` computes."""
    return np.maximum(x @ WEIGHT + BIAS, 0)


def save(path: Path, nodes: list, inputs: list, outputs: list, initializers: tuple = ()) -> Path:
    """Writes a model of opset 17."""
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(a, n) for n, a in initializers])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


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
