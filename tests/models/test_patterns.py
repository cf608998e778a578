"""Normalisations and softmax as exporters write them: fewer steps, the same answers.

Each pattern is a small ONNX model in the spelling of torch, tf2onnx or Keras. It is compared with ONNX Runtime and with
the engine that has `match_normalization` and `fuse_reductions` switched off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import strop_command
from catalogue import rel_l2

LIMIT = 1e-4
WITHOUT = "passes.match_normalization=off passes.fuse_reductions=off"


class Writer:
    """Writes one ONNX graph, node by node."""

    def __init__(self, opset: int, seed: int) -> None:
        self.opset = opset
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: list[int | str], kind: int = TensorProto.FLOAT) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def constant(self, array: np.ndarray | float) -> str:
        if not isinstance(array, np.ndarray):
            array = np.array(array, np.float32)
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def weights(self, *shape: int) -> str:
        return self.constant(self.random.normal(1, 0.5, shape).astype(np.float32))

    def op(self, name: str, *operands: str, **attributes: object) -> str:
        result = f"v{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(name, list(operands), [result], name=f"{name}_{len(self.nodes)}", **attributes)
        )
        return result

    def reduce(self, name: str, operand: str, axes: list[int]) -> str:
        """Axes are an attribute before opset 18 (ReduceSum: 13), an operand since."""
        if self.opset < (13 if name == "ReduceSum" else 18):
            return self.op(name, operand, axes=axes, keepdims=1)
        return self.op(name, operand, self.constant(np.array(axes, np.int64)), keepdims=1)

    def model(self, *results: str) -> onnx.ModelProto:
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results]
        graph = helper.make_graph(self.nodes, "pattern", self.inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)


def layer_norm_torch(w: Writer, x: str, axes: list[int], *shape: int) -> str:
    """(x - mean) / sqrt(var + eps) * scale + bias with Pow, as torch before opset 17."""
    deviation = w.op("Sub", x, w.reduce("ReduceMean", x, axes))
    variance = w.reduce("ReduceMean", w.op("Pow", deviation, w.constant(2.0)), axes)
    normal = w.op("Div", deviation, w.op("Sqrt", w.op("Add", variance, w.constant(1e-5))))
    return w.op("Add", w.op("Mul", normal, w.weights(*shape)), w.weights(*shape))


def layer_norm_twice(w: Writer, x: str, channels: int) -> str:
    """The deviation computed twice, a product for the square, a reciprocal."""
    mean = w.reduce("ReduceMean", x, [-1])
    first, second = w.op("Sub", x, mean), w.op("Sub", x, mean)
    variance = w.reduce("ReduceMean", w.op("Mul", second, second), [-1])
    inverse = w.op("Reciprocal", w.op("Sqrt", w.op("Add", w.constant(1e-3), variance)))
    return w.op("Add", w.op("Mul", w.weights(channels), w.op("Mul", first, inverse)), w.weights(channels))


def layer_norm_keras(w: Writer, x: str, channels: int, negated: bool) -> str:
    """x * factor + (bias - mean * factor), as tf2onnx writes tf.nn.batch_normalization."""
    mean = w.reduce("ReduceMean", x, [2])
    difference = w.op("Sub", x, mean)
    variance = w.reduce("ReduceMean", w.op("Mul", difference, difference), [2])
    inverse = w.op("Reciprocal", w.op("Sqrt", w.op("Add", variance, w.constant(np.full(1, 1e-3, np.float32)))))
    factor, bias = w.op("Mul", inverse, w.weights(channels)), w.weights(channels)
    if negated:
        shift = w.op("Add", w.op("Mul", w.op("Neg", mean), factor), bias)
    else:
        shift = w.op("Sub", bias, w.op("Mul", mean, factor))
    return w.op("Add", w.op("Mul", x, factor), shift)


def rms_norm(w: Writer, x: str, channels: int, inverse: str) -> str:
    """x * rsqrt(mean(x²) + eps) * weight; `inverse` says how the root is inverted."""
    biased = w.op("Add", w.reduce("ReduceMean", w.op("Pow", x, w.constant(2.0)), [-1]), w.constant(1e-6))
    if inverse == "pow":
        normal = w.op("Mul", x, w.op("Pow", biased, w.constant(-0.5)))
    elif inverse == "one":
        normal = w.op("Mul", x, w.op("Div", w.constant(1.0), w.op("Sqrt", biased)))
    else:
        normal = w.op("Div", x, w.op("Sqrt", biased))
    return w.op("Mul", w.weights(channels), normal)


def softmax(w: Writer, x: str, axis: int, log: bool) -> str:
    """exp(x - max) / sum, or its logarithm."""
    shifted = w.op("Sub", x, w.reduce("ReduceMax", x, [axis]))
    exponential = w.op("Exp", shifted)
    total = w.reduce("ReduceSum", exponential, [axis])
    return w.op("Sub", shifted, w.op("Log", total)) if log else w.op("Div", exponential, total)


def group_norm_torch(w: Writer, x: str, groups: int, channels: int, shape: list[int]) -> str:
    """Instance normalisation of reshaped groups, scale and bias per channel, SiLU."""
    split = w.op("Reshape", x, w.constant(np.array([0, groups, -1], np.int64)))
    ones, zeros = w.constant(np.ones(groups, np.float32)), w.constant(np.zeros(groups, np.float32))
    normal = w.op("InstanceNormalization", split, ones, zeros, epsilon=1e-5)
    back = w.op("Reshape", normal, w.constant(np.array(shape, np.int64)))
    y = w.op("Add", w.op("Mul", back, w.weights(channels, 1, 1)), w.weights(channels, 1, 1))
    return w.op("Mul", y, w.op("Sigmoid", y))


def instance_norm(w: Writer, x: str, channels: int) -> str:
    return layer_norm_torch(w, x, [2, 3], channels, 1, 1)


def in_half(w: Writer, x: str, channels: int) -> str:
    """Half precision outside, the normalisation in f32 between two conversions."""
    half = w.op("Cast", x, to=TensorProto.FLOAT16)
    single = w.op("Cast", half, to=TensorProto.FLOAT)
    back = w.op("Cast", layer_norm_torch(w, single, [-1], channels), to=TensorProto.FLOAT16)
    return w.op("Cast", back, to=TensorProto.FLOAT)


def masked_softmax(w: Writer, x: str, mask: str) -> str:
    """Scale and mask before, a product behind."""
    scaled = w.op("Div", x, w.constant(8.0))
    weights = w.op("Softmax", w.op("Add", scaled, mask), axis=-1)
    return w.op("Mul", weights, mask)


def residual(w: Writer, x: str, r: str, channels: int) -> str:
    """A residual sum that is used again behind the normalisation."""
    total = w.op("Add", x, r)
    return w.op("Add", total, w.op("Relu", layer_norm_torch(w, total, [-1], channels)))


@dataclass(frozen=True)
class Pattern:
    """A model: what writes it from inputs of these shapes, and how many steps its engine may have."""

    name: str
    shapes: dict[str, list[int]]
    steps: int
    write: Callable[[Writer, list[str]], str]
    tolerance: float = LIMIT


PATTERNS = (
    Pattern("layer_norm", {"x": [3, 7, 96]}, 1, lambda w, x: layer_norm_torch(w, x[0], [-1], 96)),
    Pattern("layer_norm_two_axes", {"x": [3, 5, 24]}, 1, lambda w, x: layer_norm_torch(w, x[0], [-2, -1], 5, 24)),
    Pattern("layer_norm_twice", {"x": [11, 65]}, 1, lambda w, x: layer_norm_twice(w, x[0], 65)),
    Pattern("layer_norm_keras", {"x": [2, 9, 130]}, 1, lambda w, x: layer_norm_keras(w, x[0], 130, False)),
    Pattern("layer_norm_keras_3", {"x": [2, 9, 64]}, 1, lambda w, x: layer_norm_keras(w, x[0], 64, True)),
    Pattern("layer_norm_half", {"x": [4, 80]}, 1, lambda w, x: in_half(w, x[0], 80), 2e-3),
    Pattern("rms_norm_div", {"x": [3, 7, 96]}, 1, lambda w, x: rms_norm(w, x[0], 96, "div")),
    Pattern("rms_norm_one", {"x": [1, 17, 70]}, 1, lambda w, x: rms_norm(w, x[0], 70, "one")),
    Pattern("rms_norm_pow", {"x": [5, 128]}, 1, lambda w, x: rms_norm(w, x[0], 128, "pow")),
    Pattern("softmax", {"x": [4, 6, 33]}, 1, lambda w, x: softmax(w, x[0], 2, False)),
    Pattern("softmax_middle", {"x": [4, 33, 6]}, 1, lambda w, x: softmax(w, x[0], 1, False)),
    Pattern("log_softmax", {"x": [19, 100]}, 1, lambda w, x: softmax(w, x[0], -1, True)),
    Pattern("group_norm", {"x": [2, 16, 9, 11]}, 1, lambda w, x: group_norm_torch(w, x[0], 8, 16, [2, 16, 9, 11])),
    Pattern("instance_norm", {"x": [2, 12, 9, 13]}, 1, lambda w, x: instance_norm(w, x[0], 12)),
    Pattern("masked_softmax", {"x": [2, 3, 40, 72], "m": [2, 1, 1, 72]}, 1, lambda w, x: masked_softmax(w, x[0], x[1])),
    Pattern("residual", {"x": [3, 9, 80], "r": [3, 9, 80]}, 2, lambda w, x: residual(w, x[0], x[1], 80)),
)


def write(pattern: Pattern, opset: int, path: Path) -> dict[str, np.ndarray]:
    """Writes the model and returns inputs for it, some rows constant (no variance)."""
    writer = Writer(opset, len(pattern.name))
    names = [writer.input(name, list(shape)) for name, shape in pattern.shapes.items()]
    onnx.save(writer.model(pattern.write(writer, names)), path)
    feeds = {name: writer.random.normal(1, 2, shape).astype(np.float32) for name, shape in pattern.shapes.items()}
    feeds["x"][0, 0] = 2.5
    return feeds


def answers(model: Path, engine: Path, feeds: dict[str, np.ndarray], folder: Path, *options: object) -> np.ndarray:
    strop_command.build(model, engine, *options)
    (result,) = strop_command.run(engine, feeds, folder).values()
    return result


def step_count(engine: Path) -> int:
    return len(strop_command.inspect(engine)["steps"])


@pytest.mark.parametrize("opset", [13, 18])
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_pattern_becomes_few_steps_with_the_same_answers(pattern: Pattern, opset: int, tmp_path: Path) -> None:
    model, engine, plain = tmp_path / "model.onnx", tmp_path / "fused.strop", tmp_path / "plain.strop"
    feeds = write(pattern, opset, model)
    fused = answers(model, engine, feeds, tmp_path / "fused")
    unfused = answers(model, plain, feeds, tmp_path / "plain", "--route", WITHOUT)
    options = onnxruntime.SessionOptions()
    # Its own matching of patterns is what should not be compared with (and fails on conversions around them).
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    (wanted,) = session.run(None, feeds)
    assert fused.shape == wanted.shape and fused.dtype == wanted.dtype
    assert rel_l2(fused, wanted) <= pattern.tolerance
    assert rel_l2(fused, unfused) <= pattern.tolerance
    assert step_count(engine) == pattern.steps < step_count(plain)


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_special_values_come_out_as_they_did(pattern: Pattern, tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    feeds = write(pattern, 18, model)
    flat = feeds["x"].reshape(-1, feeds["x"].shape[-1])
    flat[1, 2], flat[2, 1] = np.nan, np.inf
    if flat.shape[0] > 5:
        flat[3, 0], flat[4], flat[5] = -np.inf, 0, -np.inf
    fused = answers(model, tmp_path / "fused.strop", feeds, tmp_path / "fused")
    unfused = answers(model, tmp_path / "plain.strop", feeds, tmp_path / "plain", "--route", WITHOUT)
    np.testing.assert_allclose(fused, unfused, rtol=1e-3, atol=max(1e-4, pattern.tolerance))
