"""Building under a memory limit: it is kept, or the message says which step needs how much."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import strop_command
from catalogue import MODELS

MODEL = next(model for model in MODELS if model.name == "resnet50")
SHAPES = MODEL.cases[0].shapes_argument()


def peak_anonymous_mib(command: list[str]) -> float:
    """The largest RssAnon seen while the command runs, which must end with exit code 0."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    peak = 0
    while process.poll() is None:
        try:
            found = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
        except (FileNotFoundError, ProcessLookupError):
            break
        peak = max(peak, int(found[1]) if found else 0)
        time.sleep(0.005)
    assert process.wait() == 0, process.stderr.read()
    return peak / 1024


def test_a_limit_that_is_enough_is_kept(tmp_path: Path) -> None:
    limit_mib = 400
    command = [str(strop_command.STROP), "build", str(MODEL.path), "-o", str(tmp_path / "x.strop")]
    command += ["--shapes", SHAPES, "--effort", "1", "--memory-limit", f"{limit_mib}MiB"]
    assert peak_anonymous_mib(command) <= limit_mib


def test_too_little_names_the_node(tmp_path: Path) -> None:
    def build(limit: str) -> strop_command.Outcome:
        return strop_command.strop(
            "build", MODEL.path, "-o", tmp_path / "x.strop", "--shapes", SHAPES, "--memory-limit", limit
        )

    outcome = build("30MiB")
    assert outcome.code == 3
    assert re.search(r"the graph after all passes takes \d+ bytes, over the memory limit of 31457280", outcome.stderr)
    outcome = build("200MiB")
    assert outcome.code == 3
    assert re.search(
        r"node '[^']+': packing its weights needs \d+ bytes beside the \d+ that are in use, "
        r"over the memory limit of 209715200: raise it",
        outcome.stderr,
    ), outcome.stderr
    assert not (tmp_path / "x.strop").exists()
    assert build("much").code == 2
