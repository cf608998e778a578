"""CNNs with the graphs of the ONNX standard's `light` models and seeded weights of a trained net's magnitude.

The `light` models make their weights with ConstantOfShape, so that the files stay small. Here every such node becomes
an initializer whose distribution depends on where it is used, so that activations keep their scale through the net.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from .builder import IR_VERSION
from .calibrate import measure_ranges

# Logits reach about ±4: softmax neither saturates, which would hide every error, nor is flat.
_LARGEST_LOGIT = 4.0

# BatchNormalization's inputs 1 to 4: (lowest, highest) of a uniform distribution.
_BATCH_NORM_RANGES = {1: (0.8, 1.2), 2: (-0.2, 0.2), 3: (-0.2, 0.2), 4: (0.8, 1.2)}


def make_light_cnn(source: Path, seed: int) -> onnx.ModelProto:
    """The model of `source` (a light_*.onnx file) with dense weights drawn with `seed`."""
    model = onnx.load(source)
    graph = model.graph
    shapes = {i.name: [int(d) for d in numpy_helper.to_array(i)] for i in graph.initializer if i.data_type == 7}
    rng = np.random.default_rng(seed)

    fillers = [n for n in graph.node if n.op_type == "ConstantOfShape"]
    weights = [
        numpy_helper.from_array(_draw(rng, shapes[n.input[0]], *_use_of(graph, n.output[0])), n.output[0])
        for n in fillers
    ]
    _replace(graph.node, [n for n in graph.node if n.op_type != "ConstantOfShape"])
    used = {name for n in graph.node for name in n.input}
    _replace(graph.initializer, [i for i in graph.initializer if i.name in used] + weights)
    held = {i.name for i in graph.initializer}
    _replace(graph.input, [i for i in graph.input if i.name in used and i.name not in held])
    model.ir_version = IR_VERSION
    _scale_logits(model, rng)
    onnx.checker.check_model(model)
    return model


def _scale_logits(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    """Scales the weights of a Gemm that feeds the final Softmax so that the logits of a random image are moderate."""
    graph = model.graph
    softmax = graph.node[-1]
    gemm = next(n for n in graph.node if softmax.input[0] in n.output)
    if softmax.op_type != "Softmax" or gemm.op_type != "Gemm":
        return
    image = graph.input[0]
    shape = [d.dim_value for d in image.type.tensor_type.shape.dim]
    sample = {image.name: rng.standard_normal(shape, dtype=np.float32)}
    low, high = measure_ranges(model, [gemm.output[0]], [sample])[gemm.output[0]]
    for tensor in graph.initializer:
        if tensor.name in gemm.input[1:3]:
            scaled = numpy_helper.to_array(tensor) * np.float32(_LARGEST_LOGIT / max(high, -low))
            tensor.CopyFrom(numpy_helper.from_array(scaled, tensor.name))


def _replace(field, values: list) -> None:
    """Sets a repeated protobuf field."""
    kept = list(values)
    del field[:]
    field.extend(kept)


def _use_of(graph: onnx.GraphProto, value: str) -> tuple[str, int]:
    """(operator, input index) that consumes `value`, looking through the Unsqueeze that shapes per-channel factors."""
    for node in graph.node:
        if value in node.input:
            if node.op_type == "Unsqueeze":
                return _use_of(graph, node.output[0])
            return node.op_type, list(node.input).index(value)
    raise ValueError(f"{value} is not used in {graph.name}")


def _draw(rng: np.random.Generator, shape: list[int], op: str, index: int) -> np.ndarray:
    """Weights of `shape` for input `index` of operator `op`."""
    if op == "Conv" and index == 1:
        drawn = rng.standard_normal(shape) * math.sqrt(2.0 / math.prod(shape[1:]))
    elif op == "Gemm" and index == 1:
        drawn = rng.standard_normal(shape) * math.sqrt(1.0 / max(shape))
    elif op == "BatchNormalization":
        drawn = rng.uniform(*_BATCH_NORM_RANGES[index], shape)
    elif op == "Mul":
        drawn = rng.uniform(0.8, 1.2, shape)
    else:
        drawn = rng.standard_normal(shape) * 0.05
    return np.asarray(drawn, np.float32)
