"""Lockfiles: an engine is rebuilt byte for byte, or the build says why not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import strop_command
from catalogue import MODELS

BY_NAME = {model.name: model for model in MODELS}
SMALL = BY_NAME["ppocr_cls"]


@pytest.mark.parametrize("name", ["ppocr_cls", "mobilenet_v2", "silero_vad_if"])
def test_the_same_bytes_again(name: str, tmp_path: Path) -> None:
    model = BY_NAME[name]
    lock = tmp_path / "model.lock"
    shapes = model.cases[0].shapes_argument()
    strop_command.build(model.path, tmp_path / "first.strop", "--shapes", shapes, "--write-lockfile", lock)
    # Other threads, another folder, no measuring: all that counts is in the lockfile.
    (tmp_path / "elsewhere").mkdir()
    again = tmp_path / "elsewhere" / "again.strop"
    strop_command.build(model.path, again, "--lockfile", lock, "--threads", 1)
    assert again.read_bytes() == (tmp_path / "first.strop").read_bytes()
    document = json.loads(lock.read_text())
    assert document["strop_lockfile"] == 1 and document["times"]


@pytest.fixture(scope="module")
def lock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lockfile of SMALL."""
    folder = tmp_path_factory.mktemp("lock")
    shapes = SMALL.cases[0].shapes_argument()
    strop_command.build(SMALL.path, folder / "x.strop", "--shapes", shapes, "--write-lockfile", folder / "lock")
    return folder / "lock"


def refused(tmp_path: Path, lock: Path, *options: object, model: Path = SMALL.path) -> str:
    """What building from the lockfile says, which must end with code 2 and leave no engine."""
    outcome = strop_command.strop("build", model, "-o", tmp_path / "x.strop", "--lockfile", lock, *options)
    assert outcome.code == 2, outcome.stderr
    assert not (tmp_path / "x.strop").exists()
    return outcome.stderr


def test_options_that_the_lockfile_decides_are_refused(lock: Path, tmp_path: Path) -> None:
    message = refused(tmp_path, lock, "--route", "plan.in_place=off", "--effort", 1)
    assert "decides route, effort: leave that out" in message


def test_another_model_is_refused(lock: Path, tmp_path: Path) -> None:
    message = refused(tmp_path, lock, model=BY_NAME["ppocr_rec"].path)
    assert "is another model than the lockfile's: its SHA-256 is " in message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"software": "strop 0.0.1"}, "is of 'strop 0.0.1', this is 'strop "),
        ({"strop_lockfile": 2}, "is the lockfile of a newer Strop: rebuild with that"),
        ({"times": []}, "rebuilding gave another engine than lockfile"),
        ({"times": [{"problem": 1}]}, "is damaged: 1 of its times cannot be read"),
        ({"threads": "two"}, "changed.lock' is damaged: 'threads' is not a whole number: write it again with"),
        ({"threads": 2.5}, "'threads' is not a whole number"),
        ({"threads": -1}, "'threads' is -1, not from 1 to 1024"),
        ({"software": None}, "'software' is not a text"),
        ({"options": []}, "'options' is not an object"),
        (
            {"options": {"route": "", "outputs": [1], "shapes": {}, "io": {}}},
            "'options.outputs' is not a list of names",
        ),
        (
            {"options": {"route": "", "outputs": [], "shapes": {"x": 1}, "io": {}}},
            "'options.shapes.x' is not an object",
        ),
        (
            {"options": {"route": "", "outputs": [], "shapes": {"x": {"min": "a"}}, "io": {}}},
            "'options.shapes.x.min' is not a list of sizes",
        ),
        (
            {"options": {"route": "", "outputs": [], "shapes": {}, "io": {"x": {"layout": "", "dtype": "f7"}}}},
            "'options.io.x.dtype' is not an element type",
        ),
        ({"options": {"route": ""}}, "'options.outputs' is missing"),
        ({"times": 3}, "'times' is not a list"),
    ],
)
def test_changed_lockfiles_are_refused(change: dict, message: str, lock: Path, tmp_path: Path) -> None:
    document = json.loads(lock.read_text())
    document.update(change)
    changed = tmp_path / "changed.lock"
    changed.write_text(json.dumps(document))
    said = refused(tmp_path, changed)
    assert message in said and "json" not in said and "exception" not in said


def test_another_file_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "notes"
    other.write_text("my notes")
    assert "is not a lockfile: --write-lockfile makes them" in refused(tmp_path, other)
    assert "x.lock" in refused(tmp_path, tmp_path / "x.lock")
