"""The strop command as the Python tests call it: files in, JSON out. Follows the contract of docs/product.md."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
STROP = ROOT / "build" / "release" / "strop"


@dataclass(frozen=True)
class Outcome:
    """How a command ended: exit code, its JSON document (None if it printed none), what it said on stderr."""

    code: int
    document: dict | list | None
    stderr: str


def strop(*arguments: object, timeout_s: float = 600) -> Outcome:
    """Runs `strop ARGUMENTS --json`."""
    if not STROP.is_file():
        raise FileNotFoundError(f"{STROP} is missing: run `make build` first")
    command = [str(STROP), *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    document = json.loads(done.stdout) if done.stdout.strip() else None
    return Outcome(done.returncode, document, done.stderr)


def must(*arguments: object, timeout_s: float = 600) -> dict | list:
    """As strop(), and the command has to end with exit code 0."""
    outcome = strop(*arguments, timeout_s=timeout_s)
    assert outcome.code == 0, (
        f"strop {' '.join(map(str, arguments))}: exit code {outcome.code}: {outcome.stderr[-2000:]}"
    )
    return outcome.document


def build(model: Path, engine: Path, *options: object) -> dict:
    """Compiles for the CPU."""
    return must("build", model, "-o", engine, "--device", "cpu", *options)


def run(engine: Path, feeds: dict[str, np.ndarray], folder: Path) -> dict[str, np.ndarray]:
    """One inference; inputs and outputs go through .npy files in `folder`."""
    arguments: list[object] = ["run", engine, "--output-dir", folder / "out"]
    folder.mkdir(parents=True, exist_ok=True)
    for index, (name, array) in enumerate(feeds.items()):
        path = folder / f"in_{index}.npy"
        np.save(path, array)
        arguments += ["--input", f"{name}={path}"]
    document = must(*arguments)
    return {output["name"]: np.load(output["file"]) for output in document["outputs"]}


def verify(engine: Path, model: Path, feeds: dict[str, np.ndarray], folder: Path, limit: float) -> dict:
    """Compares with the reference interpreter on the given inputs; the document says whether it passed."""
    pairs = folder / "pairs"
    pairs.mkdir(parents=True, exist_ok=True)
    np.savez(pairs / "0.npz", **feeds)
    outcome = strop("verify", engine, "--model", model, "--inputs", pairs, "--metric", "rel_l2", "--limit", limit)
    assert outcome.code in (0, 1), outcome.stderr[-2000:]
    return outcome.document


def inspect(engine: Path) -> dict:
    """Steps, tactics, memory."""
    return must("inspect", engine)
