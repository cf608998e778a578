"""Transformers in the form that torch's exporters write: attention as MatMul, Add, Softmax, Where, MatMul.

`make_vit` follows the newer exporter (opset 20: LayerNormalization, Gelu, guarded softmax); `make_gpt` the older one
(opset 18: masks by Where, tanh-GELU from Pow and Tanh, shapes computed in the graph).
"""

from __future__ import annotations

import math

import numpy as np
import onnx

from .builder import BOOL, FLOAT, INT64, GraphBuilder

VIT_WIDTH, VIT_HEADS, VIT_LAYERS, VIT_PATCH, VIT_IMAGE = 192, 3, 4, 16, 224
GPT_WIDTH, GPT_HEADS, GPT_LAYERS, GPT_VOCABULARY, GPT_POSITIONS = 256, 4, 4, 4000, 256


def make_vit() -> onnx.ModelProto:
    """A small vision transformer, dynamic batch; image [batch, 3, 224, 224] to logits [batch, 1000]."""
    graph = GraphBuilder("vit_like", seed=31)
    image = graph.input("image", FLOAT, ["batch", 3, VIT_IMAGE, VIT_IMAGE])
    patches = (VIT_IMAGE // VIT_PATCH) ** 2
    x = graph.conv("patch", image, (3, VIT_WIDTH), VIT_PATCH, strides=[VIT_PATCH] * 2, pads=[0] * 4)
    x = graph.node("Transpose", graph.node("Reshape", x, graph.ints(0, VIT_WIDTH, patches)), perm=[0, 2, 1])
    batch = graph.node("Shape", image, start=0, end=1)
    token_shape = graph.node("Concat", batch, graph.ints(1), graph.ints(VIT_WIDTH), axis=0)
    token = graph.node("Expand", graph.normal("class_token", 1, 1, VIT_WIDTH, std=0.1), token_shape)
    x = graph.node("Concat", token, x, axis=1)
    x = graph.node("Add", x, graph.normal("positions", 1, patches + 1, VIT_WIDTH, std=0.1))
    for index in range(VIT_LAYERS):
        name = f"block{index}"
        normed = graph.layer_norm(f"{name}.norm1", x, VIT_WIDTH)
        x = graph.node("Add", x, _vit_attention(graph, f"{name}.attention", normed, patches + 1))
        hidden = graph.linear(f"{name}.grow", graph.layer_norm(f"{name}.norm2", x, VIT_WIDTH), VIT_WIDTH, 4 * VIT_WIDTH)
        x = graph.node("Add", x, graph.linear(f"{name}.shrink", graph.node("Gelu", hidden), 4 * VIT_WIDTH, VIT_WIDTH))
    x = graph.layer_norm("norm", x, VIT_WIDTH)
    first = graph.node("Gather", x, graph.constant("first", np.int64(0)), axis=1)
    weight = graph.normal("head.weight", 1000, VIT_WIDTH, std=1.0 / math.sqrt(VIT_WIDTH))
    logits = graph.node("Gemm", first, weight, graph.normal("head.bias", 1000, std=0.05), transB=1)
    graph.output(logits, "logits", FLOAT, ["batch", 1000])
    return graph.model(20)


def _vit_attention(graph: GraphBuilder, name: str, x: str, length: int) -> str:
    """One projection for query, key and value; rows whose softmax is NaN become 0, as torch's exporter guards them."""
    size = VIT_WIDTH // VIT_HEADS
    packed = graph.linear(f"{name}.qkv", x, VIT_WIDTH, 3 * VIT_WIDTH)
    packed = graph.node("Reshape", packed, graph.ints(0, length, 3, VIT_HEADS, size))
    packed = graph.node("Transpose", packed, perm=[2, 0, 3, 1, 4])
    parts = graph.node("Split", packed, outputs=3, axis=0, num_outputs=3)
    query, key, value = (graph.node("Squeeze", part, graph.ints(0)) for part in parts)
    root = graph.scalar(size**-0.25)
    scores = graph.node(
        "MatMul",
        graph.node("Mul", query, root),
        graph.node("Mul", graph.node("Transpose", key, perm=[0, 1, 3, 2]), root),
    )
    weights = graph.node("Softmax", scores, axis=-1)
    weights = graph.node("Where", graph.node("IsNaN", weights), graph.scalar(0.0), weights)
    context = graph.node("Transpose", graph.node("MatMul", weights, value), perm=[0, 2, 1, 3])
    return graph.linear(
        f"{name}.project", graph.node("Reshape", context, graph.ints(0, length, VIT_WIDTH)), VIT_WIDTH, VIT_WIDTH
    )


def make_gpt() -> onnx.ModelProto:
    """A small decoder with causal and padding masks, dynamic batch and length; logits share the embedding's weights."""
    graph = GraphBuilder("gpt_like", seed=33)
    ids = graph.input("input_ids", INT64, ["batch", "seq"])
    kept = graph.input("attention_mask", INT64, ["batch", "seq"])
    length = graph.node("Gather", graph.node("Shape", ids), graph.constant("one", np.int64(1)), axis=0)
    embedding = graph.normal("token_embedding", GPT_VOCABULARY, GPT_WIDTH, std=0.5)
    positions = graph.node("Range", graph.constant("zero", np.int64(0)), length, graph.constant("one", np.int64(1)))
    x = graph.node(
        "Add",
        graph.node("Gather", embedding, ids),
        graph.node("Gather", graph.normal("position_embedding", GPT_POSITIONS, GPT_WIDTH, std=0.1), positions),
    )
    mask = _causal_mask(graph, kept, length)
    for index in range(GPT_LAYERS):
        name = f"block{index}"
        normed = graph.layer_norm(f"{name}.norm1", x, GPT_WIDTH)
        x = graph.node("Add", x, _gpt_attention(graph, f"{name}.attention", normed, mask))
        hidden = graph.linear(f"{name}.grow", graph.layer_norm(f"{name}.norm2", x, GPT_WIDTH), GPT_WIDTH, 4 * GPT_WIDTH)
        x = graph.node("Add", x, graph.linear(f"{name}.shrink", _tanh_gelu(graph, hidden), 4 * GPT_WIDTH, GPT_WIDTH))
    x = graph.layer_norm("norm", x, GPT_WIDTH)
    logits = graph.node("MatMul", x, graph.node("Transpose", embedding, perm=[1, 0]))
    graph.output(logits, "logits", FLOAT, ["batch", "seq", GPT_VOCABULARY])
    return graph.model(18)


def _causal_mask(graph: GraphBuilder, kept: str, length: str) -> str:
    """[batch, 1, seq, seq] of 0 and -inf-like: a token sees those before it that are not padding."""
    size = graph.node("Unsqueeze", length, graph.ints(0))
    square = graph.node("Concat", size, size, axis=0)
    ones = graph.node("Expand", graph.constant("true", np.array(True)), square)
    causal = graph.node("Cast", graph.node("Trilu", graph.node("Cast", ones, to=INT64), upper=0), to=BOOL)
    padding = graph.node("Unsqueeze", graph.node("Cast", kept, to=BOOL), graph.ints(1, 2))
    seen = graph.node("And", graph.node("Unsqueeze", causal, graph.ints(0, 1)), padding)
    return graph.node("Where", seen, graph.scalar(0.0), graph.scalar(float(np.finfo(np.float32).min)))


def _gpt_attention(graph: GraphBuilder, name: str, x: str, mask: str) -> str:
    """Three projections by Split; the reshapes read batch and length from the tensor's own shape."""
    size = GPT_WIDTH // GPT_HEADS
    packed = graph.linear(f"{name}.qkv", x, GPT_WIDTH, 3 * GPT_WIDTH)
    parts = graph.node("Split", packed, graph.ints(GPT_WIDTH, GPT_WIDTH, GPT_WIDTH), outputs=3, axis=2)
    shape = graph.node("Shape", x, start=0, end=2)
    split_shape = graph.node("Concat", shape, graph.ints(GPT_HEADS, size), axis=0)
    query, key, value = (
        graph.node("Transpose", graph.node("Reshape", part, split_shape), perm=permutation)
        for part, permutation in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    )
    scores = graph.node("Div", graph.node("MatMul", query, key), graph.scalar(math.sqrt(size)))
    weights = graph.node("Softmax", graph.node("Add", scores, mask), axis=-1)
    context = graph.node("Transpose", graph.node("MatMul", weights, value), perm=[0, 2, 1, 3])
    joined = graph.node("Reshape", context, graph.node("Concat", shape, graph.ints(GPT_WIDTH), axis=0))
    return graph.linear(f"{name}.project", joined, GPT_WIDTH, GPT_WIDTH)


def _tanh_gelu(graph: GraphBuilder, x: str) -> str:
    """½x · (1 + tanh(√(2/π) · (x + 0.044715x³)))."""
    cubic = graph.node("Mul", graph.node("Pow", x, graph.scalar(3.0)), graph.scalar(0.044715))
    inner = graph.node("Mul", graph.node("Add", x, cubic), graph.scalar(math.sqrt(2.0 / math.pi)))
    grown = graph.node("Add", graph.node("Tanh", inner), graph.scalar(1.0))
    return graph.node("Mul", graph.node("Mul", x, graph.scalar(0.5)), grown)
