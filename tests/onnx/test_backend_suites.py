"""The ONNX standard's own backend tests through `strop conformance`, suite by suite."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import onnx
import pytest

import strop_command

DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
# Left for the summary of scripts/run_tests.py.
COUNTS = strop_command.ROOT / "build" / "release" / "conformance.json"


@dataclass(frozen=True)
class Suite:
    """A folder of the standard's data: how many cases it has, and how many must pass."""

    name: str
    cases: int
    least_passed: int


SUITES = (
    Suite("node", cases=1765, least_passed=1000),
    Suite("light", cases=9, least_passed=9),
    Suite("simple", cases=23, least_passed=1),
    Suite("pytorch-converted", cases=82, least_passed=74),
    Suite("pytorch-operator", cases=35, least_passed=32),
)


def test_the_data_are_those_of_the_pinned_release() -> None:
    assert version("onnx") == "1.22.0"


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_suite(suite: Suite) -> None:
    outcome = strop_command.strop("conformance", DATA / suite.name, timeout_s=1200)
    assert outcome.code in (0, 1), outcome.stderr[-2000:]
    cases = outcome.document["cases"]
    counts = Counter(case["result"] for case in cases)
    _record(suite, counts)
    print(suite.name, dict(counts))

    failed = [f"{case['name']}: {case['reason']}" for case in cases if case["result"] == "failed"]
    assert not failed, "\n".join(failed)
    assert len({case["name"] for case in cases}) == len(cases) == suite.cases
    for result in ("passed", "failed", "unsupported", "skipped"):
        assert outcome.document[result] == counts[result]
    assert counts["passed"] >= suite.least_passed
    assert all(case["reason"] for case in cases if case["result"] in ("unsupported", "skipped"))
    assert outcome.code == 0


def _record(suite: Suite, counts: Counter) -> None:
    known = json.loads(COUNTS.read_text()) if COUNTS.is_file() else {}
    COUNTS.write_text(json.dumps(known | {suite.name: dict(counts)}, indent=1))
