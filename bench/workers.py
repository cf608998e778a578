"""Long-lived processes that run a model when told to, and are stopped at all other times."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx

HERE = Path(__file__).resolve().parent


class Worker:
    """One process that speaks the protocol of strop_worker.cpp.

    Outside of a request it is stopped (SIGSTOP), so that no thread of it runs, or spins, while another is timed.
    """

    def __init__(self, name: str, command: list[str]):
        self.name = name
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self._read() != "ready":
            raise RuntimeError(f"{name} did not start: {' '.join(command)}")
        self._stop()

    def run(self, count: int) -> np.ndarray:
        """Durations of `count` runs, in nanoseconds."""
        return np.array(self._ask(f"run {count}").split(), np.int64)

    def peak_bytes(self) -> int:
        """Largest resident memory so far."""
        return int(self._ask("peak")) * 1024

    def step_times_us(self) -> dict[int, float]:
        """Time of each step of one run, by its index in `strop inspect` (Strop's worker only)."""
        return {int(step): float(us) for step, us in (pair.split(":") for pair in self._ask("steps").split())}

    def _ask(self, request: str) -> str:
        os.kill(self._process.pid, signal.SIGCONT)
        self._process.stdin.write(request + "\n")
        self._process.stdin.flush()
        answer = self._read()
        self._stop()
        return answer

    def _read(self) -> str:
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with exit code {self._process.wait()}")
        return line.strip()

    def _stop(self) -> None:
        os.kill(self._process.pid, signal.SIGSTOP)
        os.waitpid(self._process.pid, os.WUNTRACED)

    def close(self) -> None:
        """Ends the process."""
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_) -> None:
        self.close()


def save_feeds(feeds: dict[str, np.ndarray], folder: Path) -> list[str]:
    """Writes the arrays to `folder` and returns NAME=FILE for each."""
    folder.mkdir(parents=True, exist_ok=True)
    specs = []
    for index, (name, array) in enumerate(feeds.items()):
        path = folder / f"input_{index}.npy"
        np.save(path, array)
        specs.append(f"{name}={path}")
    return specs


def strop_worker(program: Path, engine: Path, threads: int, inputs: list[str]) -> Worker:
    """Strop on an engine file."""
    return Worker("strop", [str(program), str(engine), str(threads), *inputs])


def ort_worker(model: Path, threads: int, feeds: dict[str, np.ndarray], inputs: list[str]) -> Worker:
    """ONNX Runtime on a model file, its symbolic dimensions fixed to those of `feeds`."""
    dimensions = json.dumps(fixed_dimensions(model, feeds))
    command = [sys.executable, str(HERE / "ort_worker.py"), str(model), str(threads), dimensions, *inputs]
    return Worker("onnxruntime", command)


def fixed_dimensions(model: Path, feeds: dict[str, np.ndarray]) -> dict[str, int]:
    """Size of each symbolic dimension that `feeds` decides; one name that stands for two sizes is left open."""
    sizes: dict[str, set[int]] = {}
    for declared in onnx.load(model, load_external_data=False).graph.input:
        if declared.name in feeds:
            for dimension, size in zip(declared.type.tensor_type.shape.dim, feeds[declared.name].shape):
                if dimension.dim_param:
                    sizes.setdefault(dimension.dim_param, set()).add(size)
    return {name: found.pop() for name, found in sizes.items() if len(found) == 1}
