"""A CNN with Q/DQ pairs as a quantizer writes them: uint8 activations, int8 weights per channel, int32 biases.

Activation scales come from measured ranges. What follows a Relu is never negative, so its zero point is 0 and clamping
to uint8 does the Relu's work: a runtime may drop it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import onnx
from onnx import helper, numpy_helper

from .calibrate import measure_ranges, quantize_weight, uint8_parameters

_QUANTIZED_OPS = ("Conv", "Gemm", "Add", "MaxPool", "AveragePool", "GlobalAveragePool")
# The first opset whose DequantizeLinear has an axis.
OPSET = 13


def quantize_cnn(model: onnx.ModelProto, samples: Iterable[dict[str, np.ndarray]]) -> onnx.ModelProto:
    """A quantized copy of `model` (Conv, BatchNormalization, Relu, Sum, pools, Gemm), calibrated on `samples`."""
    quantized = onnx.ModelProto()
    quantized.CopyFrom(model)
    quantized.opset_import[0].version = OPSET
    for node in quantized.graph.node:
        if node.op_type == "Sum" and len(node.input) == 2:
            node.op_type = "Add"
    _fold_batch_norm(quantized.graph)
    held = {i.name for i in quantized.graph.initializer}
    values = {v for n in quantized.graph.node if n.op_type in _QUANTIZED_OPS for v in _activations(n, held)}
    _Quantizer(quantized.graph, measure_ranges(quantized, sorted(values), samples)).run()
    onnx.checker.check_model(quantized)
    return quantized


def _activations(node: onnx.NodeProto, initializers: set[str]) -> list[str]:
    """The inputs of `node` that are computed."""
    return [v for v in node.input if v not in initializers]


def _fold_batch_norm(graph: onnx.GraphProto) -> None:
    """Folds each BatchNormalization that follows a Conv into that Conv's weights and bias."""
    tensors = {i.name: i for i in graph.initializer}
    producers = {o: n for n in graph.node for o in n.output}
    folded = [n for n in graph.node if n.op_type == "BatchNormalization" and producers[n.input[0]].op_type == "Conv"]
    for norm in folded:
        conv = producers[norm.input[0]]
        scale, shift, mean, variance = (numpy_helper.to_array(tensors[v]) for v in norm.input[1:5])
        epsilon = next((a.f for a in norm.attribute if a.name == "epsilon"), 1e-5)
        factor = scale / np.sqrt(variance + epsilon)
        weight = numpy_helper.to_array(tensors[conv.input[1]]) * factor[:, None, None, None]
        bias = numpy_helper.to_array(tensors[conv.input[2]]) if len(conv.input) > 2 else 0.0
        names = [conv.input[1] + "_folded", conv.input[1] + "_bias"]
        for name, array in zip(names, (weight, (bias - mean) * factor + shift)):
            graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
        del conv.input[1:]
        conv.input.extend(names)
        conv.output[0] = norm.output[0]
        graph.node.remove(norm)
    used = {v for n in graph.node for v in n.input}
    kept = [i for i in graph.initializer if i.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)


class _Quantizer:
    """Rewrites a graph in place."""

    def __init__(self, graph: onnx.GraphProto, ranges: dict[str, tuple[float, float]]):
        self.graph = graph
        self.ranges = ranges
        self.tensors = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
        self.nodes: list[onnx.NodeProto] = []
        self.restored: dict[str, str] = {}

    def run(self) -> None:
        for node in self.graph.node:
            if node.op_type in _QUANTIZED_OPS:
                self._quantize(node)
            self.nodes.append(node)
        used = {v for n in self.nodes for v in n.input}
        for field, kept in (
            (self.graph.node, self.nodes),
            (
                self.graph.initializer,
                [numpy_helper.from_array(a, name) for name, a in self.tensors.items() if name in used],
            ),
        ):
            del field[:]
            field.extend(kept)

    def _quantize(self, node: onnx.NodeProto) -> None:
        """Puts Q/DQ on the node's activations, DQ on its weight and bias."""
        weighted = node.op_type in ("Conv", "Gemm")
        for index, value in enumerate(node.input):
            if value not in self.tensors:
                node.input[index] = self._activation(value)
        if not weighted:
            return
        x_scale = self.tensors[node.input[0].removesuffix("_dq") + "_scale"]
        transposed = any(a.name == "transB" and a.i for a in node.attribute)
        axis = 0 if node.op_type == "Conv" or transposed else 1
        weight = node.input[1]
        quantized, scale = quantize_weight(self.tensors[weight], axis)
        node.input[1] = self._restore(weight, quantized, scale, axis)
        if len(node.input) > 2:
            bias_scale = (x_scale * scale).astype(np.float32)
            bias = np.rint(self.tensors[node.input[2]] / bias_scale).astype(np.int32)
            node.input[2] = self._restore(node.input[2], bias, bias_scale, 0)

    def _activation(self, value: str) -> str:
        """The name of `value` after a Q/DQ pair, made once."""
        if value not in self.restored:
            scale, zero = uint8_parameters(*self.ranges[value])
            names = [f"{value}_scale", f"{value}_zero"]
            self.tensors.update(zip(names, (scale, zero)))
            self.nodes.append(helper.make_node("QuantizeLinear", [value, *names], [f"{value}_q"], name=f"{value}/Q"))
            self.nodes.append(
                helper.make_node("DequantizeLinear", [f"{value}_q", *names], [f"{value}_dq"], name=f"{value}/DQ")
            )
            self.restored[value] = f"{value}_dq"
        return self.restored[value]

    def _restore(self, name: str, quantized: np.ndarray, scale: np.ndarray, axis: int) -> str:
        """A DequantizeLinear of constant `name`, whose integer form is given."""
        parts = [f"{name}_q", f"{name}_q_scale", f"{name}_q_zero"]
        self.tensors.update(zip(parts, (quantized, scale, np.zeros(len(scale), quantized.dtype))))
        self.nodes.append(helper.make_node("DequantizeLinear", parts, [f"{name}_dq"], name=f"{name}/DQ", axis=axis))
        return f"{name}_dq"
