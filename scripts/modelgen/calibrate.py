"""Ranges of activations, measured with ONNX Runtime, and the integer parameters that follow from them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import onnx
import onnxruntime


def measure_ranges(
    model: onnx.ModelProto, values: list[str], samples: Iterable[dict[str, np.ndarray]]
) -> dict[str, tuple[float, float]]:
    """Lowest and highest number that each of `values` takes over the samples; graph inputs may be among them."""
    probed = onnx.ModelProto()
    probed.CopyFrom(model)
    inputs = {i.name for i in model.graph.input}
    inner = [v for v in values if v not in inputs]
    del probed.graph.output[:]
    probed.graph.output.extend(onnx.ValueInfoProto(name=v) for v in inner)
    options = onnxruntime.SessionOptions()
    # Unoptimised: fusing would remove values that are asked for.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(probed.SerializeToString(), options, providers=["CPUExecutionProvider"])
    ranges: dict[str, tuple[float, float]] = {}
    for feeds in samples:
        arrays = dict(zip(inner, session.run(inner, feeds)))
        arrays.update({name: array for name, array in feeds.items() if name in values})
        for name, array in arrays.items():
            low, high = ranges.get(name, (0.0, 0.0))
            ranges[name] = (min(low, float(array.min())), max(high, float(array.max())))
    return ranges


def uint8_parameters(low: float, high: float) -> tuple[np.float32, np.uint8]:
    """Scale and zero point that map [low, high] (0 within) to 0..255; a range that starts at 0 has zero point 0."""
    scale = np.float32(max(high - low, 1e-6) / 255.0)
    return scale, np.uint8(np.clip(np.rint(-low / scale), 0, 255))


# Weights use seven bits. On x86 without VNNI, vpmaddubsw adds two u8·s8 products in 16 bits: 2·255·63 fits, 2·255·127
# saturates, and then ONNX Runtime's answer depends on the machine. Quantizers call this "reduced range".
_LARGEST_WEIGHT = 63


def quantize_weight(weight: np.ndarray, axis: int | None) -> tuple[np.ndarray, np.ndarray]:
    """int8 weights, symmetric, and their scale: one for all, or a vector along `axis`."""
    others = None if axis is None else tuple(d for d in range(weight.ndim) if d != axis)
    scale = np.maximum(np.abs(weight).max(axis=others) / _LARGEST_WEIGHT, 1e-12).astype(np.float32)
    shape = [1] * weight.ndim
    if axis is not None:
        shape[axis] = -1
    return np.clip(np.rint(weight / scale.reshape(shape)), -_LARGEST_WEIGHT, _LARGEST_WEIGHT).astype(np.int8), scale
