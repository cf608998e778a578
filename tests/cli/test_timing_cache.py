"""The timing cache through the command: what is measured once is not measured again, and gives the same engine."""

from __future__ import annotations

import json
from pathlib import Path

import strop_command
from catalogue import MODELS

SMALL = next(model for model in MODELS if model.name == "ppocr_cls")


def build(engine: Path, *options: object) -> strop_command.Outcome:
    """Builds SMALL at fixed shapes."""
    shapes = SMALL.cases[0].shapes_argument()
    return strop_command.strop("build", SMALL.path, "-o", engine, "--shapes", shapes, "--verbose", *options)


def test_a_warm_build_measures_nothing_and_gives_the_same_bytes(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cold = build(tmp_path / "cold.strop", "--timing-cache", cache)
    assert cold.code == 0, cold.stderr
    assert " 0 problems measured" not in cold.stderr
    measured = cache.read_bytes()

    (tmp_path / "elsewhere").mkdir()
    for options in ([], ["--timing-cache-only"]):
        warm = build(tmp_path / "elsewhere" / "warm.strop", "--timing-cache", cache, *options)
        assert warm.code == 0, warm.stderr
        assert " 0 problems measured" in warm.stderr
        assert (tmp_path / "cold.strop").read_bytes() == (tmp_path / "elsewhere" / "warm.strop").read_bytes()
    assert cache.read_bytes() == measured

    steps = strop_command.inspect(tmp_path / "cold.strop")["steps"]
    timed = [step for step in steps if any(c.get("time_us") for c in step["candidates"])]
    assert len(timed) > len(steps) // 2
    assert all(step["why"] for step in steps)


def test_only_the_cache_says_what_is_missing(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    outcome = build(tmp_path / "x.strop", "--timing-cache", cache, "--timing-cache-only")
    assert outcome.code == 2
    assert "lacks" in outcome.stderr and "problems on this device" in outcome.stderr
    assert not (tmp_path / "x.strop").exists()
    outcome = build(tmp_path / "x.strop", "--timing-cache-only")
    assert outcome.code == 2
    assert "timing_cache_only needs a timing cache: name its file" in outcome.stderr


def test_foreign_entries_are_ignored_and_kept(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    foreign = {"problem": "p", "threads": 1, "candidates": [], "device": "another", "software": "another"}
    cache.write_text('{"strop_timing_cache":1}\n' + json.dumps(foreign) + "\ndamaged\n")
    outcome = build(tmp_path / "x.strop", "--timing-cache", cache)
    assert outcome.code == 0
    assert "1 lines cannot be used and were ignored" in outcome.stderr
    assert '"another"' in cache.read_text()


def test_another_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    wrong = tmp_path / "notes.txt"
    wrong.write_text("my notes\n")
    outcome = build(tmp_path / "x.strop", "--timing-cache", wrong)
    assert outcome.code == 2
    assert "is not a timing cache" in outcome.stderr
    assert wrong.read_text() == "my notes\n"


def test_a_newer_cache_is_neither_used_nor_changed(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.write_text('{"strop_timing_cache":2}\n{"something":"new"}\n')
    before = cache.read_bytes()
    outcome = build(tmp_path / "x.strop", "--timing-cache", cache)
    assert outcome.code == 0
    assert f"timing cache '{cache}' is a newer Strop's: it is neither used nor added to" in outcome.stderr
    assert cache.read_bytes() == before


def test_effort_0_measures_nothing(tmp_path: Path) -> None:
    outcome = build(tmp_path / "x.strop", "--effort", 0)
    assert outcome.code == 0
    assert "selection: 0 problems measured, 0 from the timing cache" in outcome.stderr


def test_merge_and_show(tmp_path: Path) -> None:
    build(tmp_path / "x.strop", "--timing-cache", tmp_path / "one", "--effort", 1)
    build(tmp_path / "x.strop", "--timing-cache", tmp_path / "two", "--effort", 1, "--threads", 1)
    counts = [strop_command.must("cache", "show", tmp_path / name)["entries"] for name in ("one", "two")]
    merged = strop_command.must("cache", "merge", tmp_path / "one", tmp_path / "two", "-o", tmp_path / "both")
    assert merged["entries"] == sum(counts)
    shown = strop_command.must("cache", "show", tmp_path / "both")
    assert {problem["threads"] for problem in shown["problems"]} == {1, 2}
    assert all(item["us"] > 0 for problem in shown["problems"] for item in problem["candidates"])
    warm = build(tmp_path / "x.strop", "--timing-cache", tmp_path / "both", "--timing-cache-only")
    assert warm.code == 0, warm.stderr
    missing = strop_command.strop("cache", "show", tmp_path / "none")
    assert missing.code == 2 and "there is no timing cache" in missing.stderr
