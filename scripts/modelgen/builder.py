"""A small ONNX graph builder: seeded weights, unique names, one method to add a node."""

from __future__ import annotations

import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# The oldest IR versions that go with the opsets used here, so that any runtime of the last years reads the models.
IR_VERSION = 8
IR_VERSION_FROM_OPSET_19 = 9


class GraphBuilder:
    """Collects nodes and initializers; `model()` closes the graph and checks it."""

    def __init__(self, name: str, seed: int):
        self.name = name
        self.rng = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: dict[str, onnx.TensorProto] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, dtype: int, shape: list[int | str]) -> str:
        """Declares a graph input; strings in `shape` are symbolic dimensions."""
        self._inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, value: str, name: str, dtype: int, shape: list[int | str]) -> None:
        """Declares graph output `name`, a copy of `value`."""
        self._nodes.append(helper.make_node("Identity", [value], [name], name=f"output_{name}"))
        self._outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def constant(self, name: str, array: np.ndarray) -> str:
        """Adds initializer `name` once; a second call with that name returns it, and must hold the same value."""
        tensor = numpy_helper.from_array(np.asarray(array), name)
        known = self._initializers.setdefault(name, tensor)
        if known is not tensor and known.raw_data != tensor.raw_data:
            raise ValueError(f"initializer {name} was added twice with different values")
        return name

    def ints(self, *values: int) -> str:
        """An int64 vector, shared by value."""
        return self.constant("i64_" + "_".join(map(str, values)).replace("-", "m"), np.array(values, np.int64))

    def scalar(self, value: float) -> str:
        """A float32 scalar, shared by value."""
        return self.constant(f"f32_{value!r}", np.array(value, np.float32))

    def normal(self, name: str, *shape: int, std: float, mean: float = 0.0) -> str:
        """A float32 initializer of seeded normal numbers."""
        return self.constant(name, self.normal_array(*shape, std=std, mean=mean))

    def normal_array(self, *shape: int, std: float, mean: float = 0.0) -> np.ndarray:
        """The next seeded normal numbers, float32."""
        return (mean + std * self.rng.standard_normal(shape)).astype(np.float32)

    def node(self, op: str, *inputs: str, outputs: int = 1, **attributes):
        """Adds a node and returns its output name (a list of names if `outputs` is above 1)."""
        name = f"{op}_{len(self._nodes)}"
        names = [name + (f"_{i}" if outputs > 1 else "_out") for i in range(outputs)]
        self._nodes.append(helper.make_node(op, list(inputs), names, name=name, **attributes))
        return names if outputs > 1 else names[0]

    def conv(self, name: str, x: str, channels: tuple[int, int], kernel: int, **attributes) -> str:
        """Conv with bias and He-normal weights, channels = (in, out), padded to keep the size at stride 1."""
        group = attributes.get("group", 1)
        fan_in = channels[0] // group * kernel * kernel
        weight = self.normal(
            f"{name}.weight", channels[1], channels[0] // group, kernel, kernel, std=math.sqrt(2.0 / fan_in)
        )
        bias = self.normal(f"{name}.bias", channels[1], std=0.05)
        attributes.setdefault("pads", [kernel // 2] * 4)
        return self.node("Conv", x, weight, bias, kernel_shape=[kernel, kernel], **attributes)

    def batch_norm(self, name: str, x: str, channels: int) -> str:
        """BatchNormalization with parameters near those of a trained net."""
        scale = self.constant(f"{name}.scale", self.rng.uniform(0.8, 1.2, channels).astype(np.float32))
        shift = self.normal(f"{name}.shift", channels, std=0.1)
        mean = self.normal(f"{name}.mean", channels, std=0.1)
        variance = self.constant(f"{name}.var", self.rng.uniform(0.8, 1.2, channels).astype(np.float32))
        return self.node("BatchNormalization", x, scale, shift, mean, variance, epsilon=1e-5)

    def linear(self, name: str, x: str, size_in: int, size_out: int) -> str:
        """MatMul and Add, as exporters write a linear layer on a tensor of rank 3."""
        weight = self.normal(f"{name}.weight", size_in, size_out, std=1.0 / math.sqrt(size_in))
        return self.node("Add", self.node("MatMul", x, weight), self.normal(f"{name}.bias", size_out, std=0.05))

    def layer_norm(self, name: str, x: str, size: int, epsilon: float = 1e-5) -> str:
        """LayerNormalization over the last axis (opset 17)."""
        scale = self.normal(f"{name}.weight", size, std=0.05, mean=1.0)
        shift = self.normal(f"{name}.bias", size, std=0.05)
        return self.node("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon)

    def model(self, opset: int) -> onnx.ModelProto:
        """The finished model, checked."""
        graph = helper.make_graph(
            self._nodes, self.name, self._inputs, self._outputs, list(self._initializers.values())
        )
        made = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", opset)], producer_name="strop-make-models"
        )
        made.ir_version = IR_VERSION if opset < 19 else IR_VERSION_FROM_OPSET_19
        onnx.checker.check_model(made)
        return made


FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
