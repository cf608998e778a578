"""Runs every test and ends with one line of counts; tests that were skipped are named, with the reason.

Usage: run_tests.py [--only ctest|pytest] [--jobs N]

C++ tests run under CTest from build/release; Python tests, which run the command on real models and on the ONNX
standard's backend cases, under pytest. Exit 1 if a test failed or a stage ran none.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from catalogue import ROOT

BUILD = ROOT / "build" / "release"
CONFORMANCE = BUILD / "conformance.json"


@dataclass
class Stage:
    """What one runner reported."""

    name: str
    passed: int = 0
    failed: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    exit_code: int = 0
    seconds: float = 0.0

    def add_junit(self, path: Path) -> None:
        """Counts the cases of a JUnit file; CTest and pytest both write one."""
        for case in ElementTree.parse(path).iter("testcase"):
            name = case.get("name", "?")
            skipped = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
                self.failed += 1
            elif skipped is not None or case.get("status") in ("notrun", "disabled"):
                self.skipped[name] = _reason(case, skipped)
            else:
                self.passed += 1


def _reason(case: ElementTree.Element, skipped: ElementTree.Element | None) -> str:
    """Why a case was skipped: pytest says it in the message, GoogleTest on the line after "file:line: Skipped"."""
    lines = (case.findtext("system-out") or "").splitlines()
    for line, following in itertools.pairwise(lines):
        if line.endswith(": Skipped") and following and not following.startswith("["):
            return following.strip()
    if case.get("status") == "disabled":
        return "disabled"
    return (skipped.get("message") if skipped is not None else "") or "no reason given"


def run_stage(name: str, command: list[str], junit: Path) -> Stage:
    """Runs one runner, its output shown as it comes."""
    print(f"== {name}", flush=True)
    junit.unlink(missing_ok=True)
    stage, started = Stage(name), time.monotonic()
    stage.exit_code = subprocess.run(command, cwd=ROOT, check=False).returncode
    stage.seconds = time.monotonic() - started
    if junit.is_file():
        stage.add_junit(junit)
    return stage


def conformance_stage() -> Stage | None:
    """The backend cases that the Python tests ran through `strop conformance`, from the file they left."""
    if not CONFORMANCE.is_file():
        return None
    counts = Counter()
    for suite in json.loads(CONFORMANCE.read_text()).values():
        counts.update(suite)
    stage = Stage("backend cases", counts["passed"], counts["failed"])
    stage.skipped = {f"{counts[kind]} backend cases": kind for kind in ("unsupported", "skipped") if counts[kind]}
    return stage


def summarise(stages: list[Stage]) -> int:
    """Prints what was skipped and the counts; returns the exit code."""
    print("== summary")
    for stage in stages:
        for name, reason in stage.skipped.items():
            print(f"skipped: {stage.name}: {name}: {reason}")
    for stage in stages:
        print(f"{stage.name}: {stage.passed} passed, {stage.failed} failed, {len(stage.skipped)} skipped "
              f"({stage.seconds:.0f} s)")  # fmt: skip
    broken = [s for s in stages if s.exit_code != 0 or s.passed == 0]
    for stage in broken:
        print(f"FAILED: {stage.name} ended with exit code {stage.exit_code} and {stage.passed} passed tests")
    passed, failed = sum(s.passed for s in stages), sum(s.failed for s in stages)
    print(f"{passed} passed, {failed} failed, {sum(len(s.skipped) for s in stages)} skipped")
    return 1 if broken or failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["ctest", "pytest"])
    parser.add_argument("--jobs", type=int, default=2, help="tests that CTest runs at a time")
    arguments = parser.parse_args()
    ctest_junit, pytest_junit = BUILD / "ctest.xml", BUILD / "pytest.xml"
    ctest = ["ctest", "--test-dir", str(BUILD), "-j", str(arguments.jobs), "--output-on-failure",
             "--timeout", "600", "--output-junit", str(ctest_junit)]  # fmt: skip
    pytest = [sys.executable, "-m", "pytest", "-q", "tests", f"--junitxml={pytest_junit}"]
    CONFORMANCE.unlink(missing_ok=True)
    stages = []
    if arguments.only != "pytest":
        stages.append(run_stage("C++ tests", ctest, ctest_junit))
    if arguments.only != "ctest":
        stages.append(run_stage("Python tests", pytest, pytest_junit))
        stages.extend(filter(None, [conformance_stage()]))
    return summarise(stages)


if __name__ == "__main__":
    sys.exit(main())
