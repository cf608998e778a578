"""Convolutional nets beyond the standard's own: MobileNetV2-style, a U-Net, a convolutional-recurrent tagger."""

from __future__ import annotations

import math

import numpy as np
import onnx

from .builder import FLOAT, GraphBuilder

# MobileNetV2's table: (expansion, channels, repeats, stride of the first).
_MOBILE_STAGES = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
]


def make_mobilenet_v2() -> onnx.ModelProto:
    """Inverted residuals with Clip(0, 6), linear bottlenecks, dynamic batch; image x [batch, 3, 224, 224]."""
    graph = GraphBuilder("mobilenet_v2_like", seed=21)
    x = graph.input("x", FLOAT, ["batch", 3, 224, 224])
    x = _mobile_conv(graph, "stem", x, (3, 32), 3, strides=[2, 2])
    channels = 32
    for stage, (expansion, width, repeats, stride) in enumerate(_MOBILE_STAGES):
        for index in range(repeats):
            x = _inverted_residual(
                graph, f"stage{stage}.{index}", x, (channels, width), expansion, stride if index == 0 else 1
            )
            channels = width
    x = _mobile_conv(graph, "head", x, (channels, 1280), 1)
    x = graph.node("Flatten", graph.node("GlobalAveragePool", x), axis=1)
    weight = graph.normal("classifier.weight", 1000, 1280, std=1.0 / math.sqrt(1280))
    logits = graph.node("Gemm", x, weight, graph.normal("classifier.bias", 1000, std=0.05), transB=1)
    graph.output(logits, "logits", FLOAT, ["batch", 1000])
    return graph.model(13)


def _mobile_conv(graph: GraphBuilder, name: str, x: str, channels: tuple[int, int], kernel: int, **attributes) -> str:
    """Conv, BatchNormalization, Clip to [0, 6]."""
    convolved = graph.conv(f"{name}.conv", x, channels, kernel, **attributes)
    normed = graph.batch_norm(f"{name}.norm", convolved, channels[1])
    return graph.node("Clip", normed, graph.scalar(0.0), graph.scalar(6.0))


def _inverted_residual(
    graph: GraphBuilder, name: str, x: str, channels: tuple[int, int], expansion: int, stride: int
) -> str:
    """Widen, depthwise 3×3, narrow; added to the input where the shapes agree."""
    wide = channels[0] * expansion
    y = x if expansion == 1 else _mobile_conv(graph, f"{name}.expand", x, (channels[0], wide), 1)
    y = _mobile_conv(graph, f"{name}.depthwise", y, (wide, wide), 3, group=wide, strides=[stride, stride])
    y = graph.batch_norm(f"{name}.project.norm", graph.conv(f"{name}.project", y, (wide, channels[1]), 1), channels[1])
    return graph.node("Add", x, y) if stride == 1 and channels[0] == channels[1] else y


def make_unet() -> onnx.ModelProto:
    """Segmentation at any size that 8 divides: SiLU, GroupNorm as exporters write it, ConvTranspose, Resize, Concat."""
    graph = GraphBuilder("unet_like", seed=23)
    x = graph.input("image", FLOAT, ["batch", 3, "height", "width"])
    widths = [16, 32, 64, 96]
    skips: list[str] = []
    channels = 3
    for level, width in enumerate(widths):
        if level:
            x = graph.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
        x = _unet_block(graph, f"down{level}", x, (channels, width))
        skips.append(x)
        channels = width
    for level in reversed(range(len(widths) - 1)):
        width = widths[level]
        x = _upsample(graph, f"up{level}.grow", x, (channels, width), transposed=level % 2 == 0)
        x = _unet_block(graph, f"up{level}", graph.node("Concat", x, skips[level], axis=1), (2 * width, width))
        channels = width
    mask = graph.node("Sigmoid", graph.conv("mask", x, (channels, 2), 1))
    graph.output(mask, "mask", FLOAT, ["batch", 2, "height", "width"])
    return graph.model(17)


def _unet_block(graph: GraphBuilder, name: str, x: str, channels: tuple[int, int]) -> str:
    """Conv 3×3, group normalisation through InstanceNormalization, x · sigmoid(x)."""
    groups, width = 4, channels[1]
    x = graph.conv(f"{name}.conv", x, channels, 3)
    grouped = graph.node("Reshape", x, graph.ints(0, groups, -1))
    normed = graph.node(
        "InstanceNormalization",
        grouped,
        graph.constant("group_scale", np.ones(groups, np.float32)),
        graph.constant("group_shift", np.zeros(groups, np.float32)),
        epsilon=1e-5,
    )
    normed = graph.node("Reshape", normed, graph.node("Shape", x))
    scaled = graph.node("Mul", normed, graph.normal(f"{name}.scale", width, 1, 1, std=0.1, mean=1.0))
    shifted = graph.node("Add", scaled, graph.normal(f"{name}.shift", width, 1, 1, std=0.1))
    return graph.node("Mul", shifted, graph.node("Sigmoid", shifted))


def _upsample(graph: GraphBuilder, name: str, x: str, channels: tuple[int, int], transposed: bool) -> str:
    """Twice the size: ConvTranspose 2×2, or Resize (bilinear, half-pixel) and a 1×1 convolution."""
    if transposed:
        weight = graph.normal(f"{name}.weight", channels[0], channels[1], 2, 2, std=1.0 / math.sqrt(channels[0]))
        return graph.node(
            "ConvTranspose",
            x,
            weight,
            graph.normal(f"{name}.bias", channels[1], std=0.05),
            kernel_shape=[2, 2],
            strides=[2, 2],
        )
    scales = graph.constant("resize_scales", np.array([1, 1, 2, 2], np.float32))
    resized = graph.node("Resize", x, "", scales, mode="linear", coordinate_transformation_mode="half_pixel")
    return graph.conv(f"{name}.conv", resized, channels, 1)


def make_crnn() -> onnx.ModelProto:
    """A line recogniser: convolutions, then a bidirectional LSTM and a GRU over the width (dynamic), log-softmax."""
    graph = GraphBuilder("crnn_like", seed=25)
    x = graph.input("line", FLOAT, ["batch", 1, 32, "width"])
    channels = 1
    for index, width in enumerate([32, 64, 128]):
        x = graph.node("Relu", graph.conv(f"conv{index}", x, (channels, width), 3))
        x = graph.node(
            "MaxPool", x, kernel_shape=[2, 2], strides=[2, 2 if index < 2 else 1], pads=[0, 0, 0, 0 if index < 2 else 1]
        )
        channels = width
    x = graph.node("ReduceMean", x, axes=[2], keepdims=0)
    x = graph.node("Transpose", x, perm=[2, 0, 1])
    x = _recurrent(graph, "LSTM", x, (channels, 96), directions=2)
    x = _recurrent(graph, "GRU", x, (192, 64), directions=1)
    scores = graph.node("LogSoftmax", graph.linear("scores", x, 64, 80), axis=-1)
    graph.output(scores, "log_probabilities", FLOAT, ["steps", "batch", 80])
    return graph.model(14)


def _recurrent(graph: GraphBuilder, op: str, x: str, sizes: tuple[int, int], directions: int) -> str:
    """LSTM or GRU over [steps, batch, size]; the directions' outputs are joined: [steps, batch, directions·hidden]."""
    gates = {"LSTM": 4, "GRU": 3}[op]
    name, (size, hidden) = op.lower(), sizes
    weight = graph.normal(f"{name}.W", directions, gates * hidden, size, std=1.0 / math.sqrt(size))
    recurrence = graph.normal(f"{name}.R", directions, gates * hidden, hidden, std=1.0 / math.sqrt(hidden))
    bias = graph.normal(f"{name}.B", directions, 2 * gates * hidden, std=0.1)
    attributes = {"hidden_size": hidden, "direction": "bidirectional" if directions == 2 else "forward"}
    if op == "GRU":
        attributes["linear_before_reset"] = 1
    every_step = graph.node(op, x, weight, recurrence, bias, **attributes)
    joined = graph.node("Transpose", every_step, perm=[0, 2, 1, 3])
    return graph.node("Reshape", joined, graph.ints(0, 0, directions * hidden))
