"""Files that a call would destroy, or could not write, are refused before any work and left as they are."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from tiny import call


@pytest.fixture
def place(tmp_path: Path, dense_model: Path, dense_engine: Path) -> Path:
    """A folder of its own with a model, an engine, an input and caches."""
    shutil.copy(dense_model, tmp_path / "m.onnx")
    shutil.copy(dense_engine, tmp_path / "e.strop")
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.onnx").symlink_to("m.onnx")
    (tmp_path / "dangling").symlink_to("new")
    os.link(tmp_path / "m.onnx", tmp_path / "hard.onnx")
    np.save(tmp_path / "y.npy", np.zeros((1, 4), np.float32))
    (tmp_path / "sets" / "0").mkdir(parents=True)
    np.save(tmp_path / "sets" / "0" / "x.npy", np.zeros((1, 4), np.float32))
    (tmp_path / "sets" / "0" / "y.npy").symlink_to("x.npy")
    (tmp_path / "cache").write_text('{"strop_timing_cache":1}\n')
    (tmp_path / "notes").write_text("my notes")
    (tmp_path / "weights.data").write_bytes(b"\0" * 64)
    done = call("build", tmp_path / "m.onnx", "-o", tmp_path / "l.strop", "--write-lockfile", tmp_path / "lock")
    assert done.code == 0, done.err
    return tmp_path


# Arguments, {f}: the folder → what stderr says.
REFUSED = {
    "engine over model": (["build", "{f}/m.onnx", "-o", "{f}/m.onnx"], "m.onnx' is there and is not an engine"),
    "engine over linked model": (["build", "{f}/m.onnx", "-o", "{f}/link.onnx"], "is not an engine"),
    "engine over external data": (
        ["build", "{f}/m.onnx", "-o", "{f}/weights.data"],
        "is not an engine: it is left alone",
    ),
    "lockfile over model": (
        ["build", "{f}/m.onnx", "-o", "{f}/o", "--write-lockfile", "{f}/m.onnx"],
        "is not a lockfile",
    ),
    "lockfile over notes": (
        ["build", "{f}/m.onnx", "-o", "{f}/o", "--write-lockfile", "{f}/notes"],
        "is not a lockfile",
    ),
    "cache over model": (
        ["build", "{f}/m.onnx", "-o", "{f}/o", "--timing-cache", "{f}/m.onnx"],
        "is not a timing cache",
    ),
    "engine is lockfile": (
        ["build", "{f}/m.onnx", "-o", "{f}/o", "--write-lockfile", "{f}/sub/../o"],
        "o' are one file: name another for --write-lockfile",
    ),
    "engine is cache": (
        ["build", "{f}/m.onnx", "-o", "{f}/new", "--timing-cache", "{f}/dangling"],
        "are one file: name another for --timing-cache",
    ),
    "cache is lockfile": (
        ["run", "{f}/m.onnx", "--timing-cache", "{f}/c", "--write-lockfile", "{f}//c"],
        "are one file: name another for --write-lockfile",
    ),
    "lockfile read and written": (
        ["build", "{f}/m.onnx", "-o", "{f}/o", "--lockfile", "{f}/lock", "--write-lockfile", "{f}/lock"],
        "--lockfile '{f}/lock' and --write-lockfile '{f}/lock' are one file",
    ),
    "engine over lockfile": (["build", "{f}/m.onnx", "-o", "{f}/lock", "--lockfile", "{f}/lock"], "is not an engine"),
    "output over input": (
        ["run", "{f}/e.strop", "--input", "x={f}/y.npy", "--output-dir", "{f}"],
        "--input '{f}/y.npy' and output '{f}/y.npy' are one file",
    ),
    "output over input of a set": (
        ["run", "{f}/e.strop", "--inputs", "{f}/sets", "--output-dir", "{f}/sets/0"],
        "are one file: name another for output",
    ),
    "merge into a source": (
        ["cache", "merge", "{f}/cache", "-o", "{f}/cache"],
        "are one file: name another for --output",
    ),
    "merge over notes": (["cache", "merge", "{f}/cache", "-o", "{f}/notes"], "is not a timing cache"),
    "bench writes over the other": (
        ["bench", "{f}/m.onnx", "--vs", "{f}/hard.onnx", "--write-lockfile", "{f}/hard.onnx"],
        "is not a lockfile",
    ),
    "two builds, one lockfile": (
        ["bench", "{f}/m.onnx", "--vs", "{f}/m.onnx", "--write-lockfile", "{f}/o"],
        "--vs with --write-lockfile",
    ),
    "folder as engine": (["build", "{f}/m.onnx", "-o", "{f}"], "is a folder: name a file in it"),
    "folder that is not there": (["build", "{f}/m.onnx", "-o", "{f}/o/"], "is a folder: name a file in it"),
    "device as engine": (["build", "{f}/m.onnx", "-o", "/dev/null"], "is not a regular file"),
    "empty name": (["build", "{f}/m.onnx", "-o", ""], "--output: name a file"),
    "folder as lockfile": (["build", "{f}/m.onnx", "-o", "{f}/o", "--write-lockfile", "{f}"], "is a folder"),
    "folder as cache": (["build", "{f}/m.onnx", "-o", "{f}/o", "--timing-cache", "{f}/sub"], "is a folder"),
    "cache in no folder": (["build", "{f}/m.onnx", "-o", "{f}/o", "--timing-cache", "{f}/no/c"], "there is no folder"),
    "lockfile in no folder": (
        ["build", "{f}/m.onnx", "-o", "{f}/o", "--write-lockfile", "{f}/no/c"],
        "there is no folder",
    ),
    "folder as model": (["build", "{f}", "-o", "{f}/o"], "MODEL '{f}' is a folder: name a file"),
    "folder as engine to run": (["run", "{f}"], "is a folder: name a file"),
    "folder to bench": (["bench", "{f}"], "is a folder: name a file"),
    "folder to inspect": (["inspect", "{f}"], "Is a directory"),
    "folder to verify": (["verify", "{f}", "--model", "{f}/m.onnx"], "Is a directory"),
    "folder to verify with": (["verify", "{f}/e.strop", "--model", "{f}"], "Is a directory"),
    "folder as input": (["run", "{f}/e.strop", "--input", "x={f}"], "is a folder: name a file"),
    "folder as cache to show": (["cache", "show", "{f}"], "Is a directory"),
    "device as output folder": (["run", "{f}/e.strop", "--output-dir", "/dev/null"], "'/dev/null' is not a folder"),
    "file as output folder": (["run", "{f}/e.strop", "--output-dir", "{f}/notes/x"], "notes' is not a folder"),
}


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_before_any_work(name: str, place: Path) -> None:
    arguments, message = REFUSED[name]
    before = _contents(place)
    ended = call(*(argument.format(f=place) for argument in arguments))
    assert ended.code == 2, ended.err
    assert message.format(f=place) in ended.err
    assert ended.err.count("\n") == 1 and ended.out == "", "something was done first"
    assert _contents(place) == before


def test_what_is_of_its_own_kind_is_replaced(place: Path) -> None:
    (place / "empty").write_bytes(b"")
    for engine in ("e.strop", "empty"):
        options = ["--write-lockfile", place / "lock", "--timing-cache", place / "cache"]
        ended = call("build", place / "m.onnx", "-o", place / engine, *options)
        assert ended.code == 0, ended.err
    assert (place / "empty").read_bytes()[:8] == b"STROPENG"
    assert json.loads((place / "lock").read_text())["strop_lockfile"] == 1


def test_outputs_of_the_last_run_are_replaced(place: Path) -> None:
    (place / "sets" / "0" / "y.npy").unlink()
    for _ in range(2):
        ended = call("run", place / "e.strop", "--inputs", place / "sets", "--output-dir", place / "sets" / "out")
        assert ended.code == 0, ended.err
