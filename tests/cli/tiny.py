"""Making tiny models, and running the command on them."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

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
