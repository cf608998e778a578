"""A sentence encoder of MiniLM-L6's size (6 layers, width 384, 12 heads), batch and length dynamic.

Three forms of its linear layers: float32; dynamically quantized (DynamicQuantizeLinear, MatMulInteger); statically
quantized (QuantizeLinear/DequantizeLinear pairs around MatMul, activation ranges measured on the float32 model). The
parameters are seeded, or those of the trained all-MiniLM-L6-v2; their names are those of its checkpoint.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto

from .builder import FLOAT, INT64, GraphBuilder
from .calibrate import measure_ranges, quantize_weight, uint8_parameters

LAYERS, WIDTH, HEADS, FEED_FORWARD, VOCABULARY, POSITIONS = 6, 384, 12, 1536, 30522, 512
OPSET = 17
SEED = 11

# Writes one linear layer: (builder, layer's name, input, weight [in, out], bias [out]) -> output.
Linear = Callable[[GraphBuilder, str, str, np.ndarray, np.ndarray], str]
# The parameter of a name and shape; weights of linear layers are [out, in].
Parameters = Callable[..., np.ndarray]


def seeded_parameters(seed: int) -> Parameters:
    """Normal numbers, the scales of normalisations around 1."""
    rng = np.random.default_rng(seed)

    def parameter(name: str, *shape: int) -> np.ndarray:
        mean = 1.0 if name.endswith("LayerNorm.weight") else 0.0
        return (mean + 0.05 * rng.standard_normal(shape)).astype(np.float32)

    return parameter


def trained_parameters(checkpoint: Path) -> Parameters:
    """Those of a float32 safetensors file: eight bytes of header length, a JSON header, then the tensors' bytes."""
    stored = checkpoint.read_bytes()
    start = 8 + int.from_bytes(stored[:8], "little")
    header = json.loads(stored[8:start])

    def parameter(name: str, *shape: int) -> np.ndarray:
        entry = header[name]
        begin, end = entry["data_offsets"]
        if entry["dtype"] != "F32" or entry["shape"] != list(shape):
            raise ValueError(f"{checkpoint}: {name} is {entry['dtype']} {entry['shape']}; expected F32 {list(shape)}")
        return np.frombuffer(stored[start + begin : start + end], np.float32).reshape(shape)

    return parameter


def float_linear(graph: GraphBuilder, name: str, x: str, weight: np.ndarray, bias: np.ndarray) -> str:
    """MatMul, Add."""
    product = graph.node("MatMul", x, graph.constant(f"{name}.weight", weight))
    return graph.node("Add", product, graph.constant(f"{name}.bias", bias))


def dynamic_linear(graph: GraphBuilder, name: str, x: str, weight: np.ndarray, bias: np.ndarray) -> str:
    """DynamicQuantizeLinear, MatMulInteger with int8 weights (one scale), Cast, Mul, Add."""
    quantized, scale = quantize_weight(weight, axis=None)
    x_quantized, x_scale, x_zero = graph.node("DynamicQuantizeLinear", x, outputs=3)
    product = graph.node(
        "MatMulInteger",
        x_quantized,
        graph.constant(f"{name}.weight_q", quantized),
        x_zero,
        graph.constant(f"{name}.weight_zero", np.int8(0)),
    )
    combined = graph.node("Mul", x_scale, graph.constant(f"{name}.weight_scale", scale))
    scaled = graph.node("Mul", graph.node("Cast", product, to=TensorProto.FLOAT), combined)
    return graph.node("Add", scaled, graph.constant(f"{name}.bias", bias))


def static_linear(ranges: dict[str, tuple[float, float]]) -> Linear:
    """uint8 activations (one scale and zero point), int8 weights (scale per column); `ranges` by layer name."""

    def linear(graph: GraphBuilder, name: str, x: str, weight: np.ndarray, bias: np.ndarray) -> str:
        quantized, scale = quantize_weight(weight, axis=1)
        x_scale, x_zero = uint8_parameters(*ranges[name])
        activation = [graph.constant(f"{name}.x_scale", x_scale), graph.constant(f"{name}.x_zero", x_zero)]
        x_restored = graph.node("DequantizeLinear", graph.node("QuantizeLinear", x, *activation), *activation)
        weight_restored = graph.node(
            "DequantizeLinear",
            graph.constant(f"{name}.weight_q", quantized),
            graph.constant(f"{name}.weight_scale", scale),
            graph.constant(f"{name}.weight_zero", np.zeros(len(scale), np.int8)),
            axis=1,
        )
        product = graph.node("MatMul", x_restored, weight_restored)
        return graph.node("Add", product, graph.constant(f"{name}.bias", bias))

    return linear


def make_encoder() -> onnx.ModelProto:
    """The float32 encoder."""
    return _encoder(float_linear, seeded_parameters(SEED))[0]


def make_trained_encoder(checkpoint: Path) -> onnx.ModelProto:
    """The float32 encoder with trained parameters, and a second output: the sentence's embedding, of length 1."""
    return _encoder(float_linear, trained_parameters(checkpoint), pooled=True)[0]


def make_dynamic_int8_encoder() -> onnx.ModelProto:
    """The same net with dynamically quantized linear layers."""
    return _encoder(dynamic_linear, seeded_parameters(SEED))[0]


def make_static_int8_encoder() -> onnx.ModelProto:
    """The same net with Q/DQ around its linear layers, calibrated on four seeded sentences."""
    model, linear_inputs = _encoder(float_linear, seeded_parameters(SEED))
    rng = np.random.default_rng(99)
    samples = [encoder_feeds(rng, batch=1, length=128) for _ in range(4)]
    measured = measure_ranges(model, sorted(set(linear_inputs.values())), samples)
    ranges = {layer: measured[value] for layer, value in linear_inputs.items()}
    return _encoder(static_linear(ranges), seeded_parameters(SEED))[0]


def encoder_feeds(rng: np.random.Generator, batch: int, length: int) -> dict[str, np.ndarray]:
    """Seeded token ids; the last eighth of the sentence is padding."""
    ids = rng.integers(0, VOCABULARY, (batch, length), dtype=np.int64)
    mask = np.ones((batch, length), np.int64)
    mask[:, length - length // 8 :] = 0
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros((batch, length), np.int64)}


class _Layers:
    """Writes the encoder's building blocks into a graph, and remembers the input of each linear layer."""

    def __init__(self, linear: Linear, parameters: Parameters):
        self.graph = GraphBuilder("minilm_like", seed=0)
        self.linear_inputs: dict[str, str] = {}
        self._linear = linear
        self._parameters = parameters

    def parameter(self, name: str, *shape: int) -> str:
        """An initializer."""
        return self.graph.constant(name, self._parameters(name, *shape))

    def dense(self, name: str, x: str, size_in: int, size_out: int) -> str:
        """A linear layer, in the encoder's form."""
        self.linear_inputs[name] = x
        weight = np.ascontiguousarray(self._parameters(f"{name}.weight", size_out, size_in).T)
        return self._linear(self.graph, name, x, weight, self._parameters(f"{name}.bias", size_out))

    def norm(self, name: str, x: str) -> str:
        """LayerNormalization over the width."""
        scale, shift = (self.parameter(f"{name}.LayerNorm.{part}", WIDTH) for part in ("weight", "bias"))
        return self.graph.node("LayerNormalization", x, scale, shift, axis=-1, epsilon=1e-12)


def _encoder(linear: Linear, parameters: Parameters, pooled: bool = False) -> tuple[onnx.ModelProto, dict[str, str]]:
    """The encoder, its linear layers written by `linear`, and the input value of each of those layers."""
    layers = _Layers(linear, parameters)
    graph = layers.graph
    for name in ("input_ids", "attention_mask", "token_type_ids"):
        graph.input(name, INT64, ["batch", "seq"])
    mask = _attention_bias(graph)
    x = _embeddings(layers)
    for index in range(LAYERS):
        name = f"encoder.layer.{index}"
        attended = _attention(layers, f"{name}.attention", x, mask)
        x = layers.norm(f"{name}.attention.output", graph.node("Add", attended, x))
        hidden = _gelu(graph, layers.dense(f"{name}.intermediate.dense", x, WIDTH, FEED_FORWARD))
        shrunk = layers.dense(f"{name}.output.dense", hidden, FEED_FORWARD, WIDTH)
        x = layers.norm(f"{name}.output", graph.node("Add", shrunk, x))
    graph.output(x, "last_hidden_state", FLOAT, ["batch", "seq", WIDTH])
    if pooled:
        graph.output(_sentence_embedding(graph, x), "sentence_embedding", FLOAT, ["batch", WIDTH])
    return graph.model(OPSET), layers.linear_inputs


def _attention_bias(graph: GraphBuilder) -> str:
    """[batch, 1, 1, seq]: 0 where attention_mask is 1, -10000 where it is 0."""
    mask = graph.node("Unsqueeze", graph.node("Cast", "attention_mask", to=TensorProto.FLOAT), graph.ints(1, 2))
    return graph.node("Mul", graph.node("Sub", graph.scalar(1.0), mask), graph.scalar(-10000.0))


def _embeddings(layers: _Layers) -> str:
    """Sum of token, type and position embeddings, normalised."""
    graph = layers.graph
    length = graph.node("Gather", graph.node("Shape", "input_ids"), graph.constant("one", np.int64(1)), axis=0)
    ids = graph.constant("position_ids", np.arange(POSITIONS, dtype=np.int64)[None])
    position_ids = graph.node(
        "Slice", ids, graph.ints(0), graph.node("Unsqueeze", length, graph.ints(0)), graph.ints(1)
    )
    tables = {
        "word": (VOCABULARY, "input_ids"),
        "token_type": (2, "token_type_ids"),
        "position": (POSITIONS, position_ids),
    }
    words, types, positions = (
        graph.node("Gather", layers.parameter(f"embeddings.{name}_embeddings.weight", rows, WIDTH), index)
        for name, (rows, index) in tables.items()
    )
    return layers.norm("embeddings", graph.node("Add", graph.node("Add", words, types), positions))


def _attention(layers: _Layers, name: str, x: str, mask: str) -> str:
    """Multi-head self-attention with an additive mask, and its output projection."""
    graph = layers.graph
    split = graph.ints(0, 0, HEADS, WIDTH // HEADS)

    def heads(part: str, permutation: list[int]) -> str:
        projected = layers.dense(f"{name}.self.{part}", x, WIDTH, WIDTH)
        return graph.node("Transpose", graph.node("Reshape", projected, split), perm=permutation)

    query, key, value = heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1]), heads("value", [0, 2, 1, 3])
    scores = graph.node("Div", graph.node("MatMul", query, key), graph.scalar(math.sqrt(WIDTH // HEADS)))
    weights = graph.node("Softmax", graph.node("Add", scores, mask), axis=-1)
    context = graph.node("Transpose", graph.node("MatMul", weights, value), perm=[0, 2, 1, 3])
    return layers.dense(f"{name}.output.dense", graph.node("Reshape", context, graph.ints(0, 0, WIDTH)), WIDTH, WIDTH)


def _gelu(graph: GraphBuilder, x: str) -> str:
    """x · (1 + erf(x / √2)) · ½, as exporters wrote it before opset 20."""
    erf = graph.node("Erf", graph.node("Div", x, graph.scalar(math.sqrt(2.0))))
    return graph.node("Mul", graph.node("Mul", x, graph.node("Add", erf, graph.scalar(1.0))), graph.scalar(0.5))


def _sentence_embedding(graph: GraphBuilder, x: str) -> str:
    """Mean of the tokens that are not padding, scaled to length 1: [batch, width]."""
    mask = graph.node("Cast", graph.node("Unsqueeze", "attention_mask", graph.ints(-1)), to=TensorProto.FLOAT)
    total = graph.node("ReduceSum", graph.node("Mul", x, mask), graph.ints(1), keepdims=0)
    count = graph.node("Clip", graph.node("ReduceSum", mask, graph.ints(1), keepdims=0), graph.scalar(1e-9))
    mean = graph.node("Div", total, count)
    length = graph.node("ReduceL2", mean, axes=[1], keepdims=1)
    return graph.node("Div", mean, graph.node("Max", length, graph.scalar(1e-12)))
