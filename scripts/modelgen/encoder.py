"""A sentence encoder of MiniLM-L6's size (6 layers, width 384, 12 heads), batch and length dynamic.

Three forms of its linear layers: float32; dynamically quantized (DynamicQuantizeLinear, MatMulInteger); statically
quantized (QuantizeLinear/DequantizeLinear pairs around MatMul, activation ranges measured on the float32 model).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto

from .builder import FLOAT, INT64, GraphBuilder
from .calibrate import measure_ranges, quantize_weight, uint8_parameters

LAYERS, WIDTH, HEADS, FEED_FORWARD, VOCABULARY, POSITIONS = 6, 384, 12, 1536, 30522, 512
OPSET = 17

# Writes one linear layer: (builder, layer's name, input, weight [in, out], bias [out]) -> output.
Linear = Callable[[GraphBuilder, str, str, np.ndarray, np.ndarray], str]


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
    return _encoder(float_linear)[0]


def make_dynamic_int8_encoder() -> onnx.ModelProto:
    """The same net with dynamically quantized linear layers."""
    return _encoder(dynamic_linear)[0]


def make_static_int8_encoder() -> onnx.ModelProto:
    """The same net with Q/DQ around its linear layers, calibrated on four seeded sentences."""
    model, linear_inputs = _encoder(float_linear)
    rng = np.random.default_rng(99)
    samples = [encoder_feeds(rng, batch=1, length=128) for _ in range(4)]
    measured = measure_ranges(model, sorted(set(linear_inputs.values())), samples)
    ranges = {layer: measured[value] for layer, value in linear_inputs.items()}
    return _encoder(static_linear(ranges))[0]


def encoder_feeds(rng: np.random.Generator, batch: int, length: int) -> dict[str, np.ndarray]:
    """Seeded token ids; the last eighth of the sentence is padding."""
    ids = rng.integers(0, VOCABULARY, (batch, length), dtype=np.int64)
    mask = np.ones((batch, length), np.int64)
    mask[:, length - length // 8 :] = 0
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros((batch, length), np.int64)}


def _encoder(linear: Linear) -> tuple[onnx.ModelProto, dict[str, str]]:
    """The encoder with its linear layers written by `linear`, and the input value of each of those layers."""
    graph = GraphBuilder("minilm_like", seed=11)
    linear_inputs: dict[str, str] = {}

    def dense(name: str, x: str, size_in: int, size_out: int) -> str:
        linear_inputs[name] = x
        weight = graph.normal_array(size_in, size_out, std=0.05)
        return linear(graph, name, x, weight, graph.normal_array(size_out, std=0.05))

    mask = _attention_bias(graph)
    x = _embeddings(graph)
    for index in range(LAYERS):
        layer = f"layer.{index}"
        attended = _attention(graph, dense, f"{layer}.attention", x, mask)
        x = graph.layer_norm(f"{layer}.attention.norm", graph.node("Add", attended, x), WIDTH, epsilon=1e-12)
        hidden = _gelu(graph, dense(f"{layer}.intermediate", x, WIDTH, FEED_FORWARD))
        shrunk = dense(f"{layer}.output", hidden, FEED_FORWARD, WIDTH)
        x = graph.layer_norm(f"{layer}.output.norm", graph.node("Add", shrunk, x), WIDTH, epsilon=1e-12)
    graph.output(x, "last_hidden_state", FLOAT, ["batch", "seq", WIDTH])
    return graph.model(OPSET), linear_inputs


def _attention_bias(graph: GraphBuilder) -> str:
    """[batch, 1, 1, seq]: 0 where attention_mask is 1, -10000 where it is 0. Declares the graph's inputs."""
    for name in ("input_ids", "attention_mask", "token_type_ids"):
        graph.input(name, INT64, ["batch", "seq"])
    mask = graph.node("Unsqueeze", graph.node("Cast", "attention_mask", to=TensorProto.FLOAT), graph.ints(1, 2))
    return graph.node("Mul", graph.node("Sub", graph.scalar(1.0), mask), graph.scalar(-10000.0))


def _embeddings(graph: GraphBuilder) -> str:
    """Sum of token, type and position embeddings, normalised."""
    length = graph.node("Gather", graph.node("Shape", "input_ids"), graph.constant("one", np.int64(1)), axis=0)
    ids = graph.constant("position_ids", np.arange(POSITIONS, dtype=np.int64)[None])
    position_ids = graph.node(
        "Slice", ids, graph.ints(0), graph.node("Unsqueeze", length, graph.ints(0)), graph.ints(1)
    )
    tokens = graph.node("Gather", graph.normal("embeddings.token", VOCABULARY, WIDTH, std=0.05), "input_ids")
    types = graph.node("Gather", graph.normal("embeddings.type", 2, WIDTH, std=0.05), "token_type_ids")
    positions = graph.node("Gather", graph.normal("embeddings.position", POSITIONS, WIDTH, std=0.05), position_ids)
    total = graph.node("Add", graph.node("Add", tokens, types), positions)
    return graph.layer_norm("embeddings.norm", total, WIDTH, epsilon=1e-12)


def _attention(graph: GraphBuilder, dense: Callable[[str, str, int, int], str], name: str, x: str, mask: str) -> str:
    """Multi-head self-attention with an additive mask, and its output projection."""
    split = graph.ints(0, 0, HEADS, WIDTH // HEADS)

    def heads(part: str, permutation: list[int]) -> str:
        projected = dense(f"{name}.{part}", x, WIDTH, WIDTH)
        return graph.node("Transpose", graph.node("Reshape", projected, split), perm=permutation)

    query, key, value = heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1]), heads("value", [0, 2, 1, 3])
    scores = graph.node("Div", graph.node("MatMul", query, key), graph.scalar(math.sqrt(WIDTH // HEADS)))
    weights = graph.node("Softmax", graph.node("Add", scores, mask), axis=-1)
    context = graph.node("Transpose", graph.node("MatMul", weights, value), perm=[0, 2, 1, 3])
    return dense(f"{name}.output", graph.node("Reshape", context, graph.ints(0, 0, WIDTH)), WIDTH, WIDTH)


def _gelu(graph: GraphBuilder, x: str) -> str:
    """x · (1 + erf(x / √2)) · ½, as exporters wrote it before opset 20."""
    erf = graph.node("Erf", graph.node("Div", x, graph.scalar(math.sqrt(2.0))))
    return graph.node("Mul", graph.node("Mul", x, graph.node("Add", erf, graph.scalar(1.0))), graph.scalar(0.5))
