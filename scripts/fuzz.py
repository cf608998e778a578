"""Runs the libFuzzer targets, each on its kept corpus, and tells how many inputs it executed.

Usage: fuzz.py [--seconds S] [--record]     S is shared equally by the targets; --record writes docs/results/fuzz.json

Targets are the programs fuzz_NAME under build/fuzz; the corpus of fuzz_NAME is tests/fuzz/corpus/NAME (kept, read only
here) and .cache/fuzz/NAME (grows). An input that fails is left in .cache/fuzz/failures, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from catalogue import ROOT

BUILD = ROOT / "build" / "fuzz"
CACHE = ROOT / ".cache" / "fuzz"
KEPT = ROOT / "tests" / "fuzz" / "corpus"
RECORD = ROOT / "docs" / "results" / "fuzz.json"

# No input may take longer or need more memory than this.
INPUT_SECONDS, INPUT_MIB = 10, 2048


def fuzz(target: Path, seconds: int) -> dict:
    """One target's run: executions, new inputs, whether it found a failure."""
    name = target.name.removeprefix("fuzz_")
    grown, failures, kept = CACHE / name, CACHE / "failures", KEPT / name
    for folder in (grown, failures):
        folder.mkdir(parents=True, exist_ok=True)
    command = [
        str(target),
        f"-max_total_time={seconds}",
        f"-timeout={INPUT_SECONDS}",
        f"-rss_limit_mb={INPUT_MIB}",
        f"-artifact_prefix={failures}/{name}-",
        "-print_final_stats=1",
        "-max_len=1048576",
        str(grown),
        *([str(kept)] if kept.is_dir() else []),
    ]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False
    )
    found = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stdout)
    result = {"target": name, "seconds": seconds, "executions": int(found[1]) if found else 0,
              "failed": done.returncode != 0}  # fmt: skip
    print(f"fuzz: {name}: {result['executions']} executions in {seconds} s: {'FAILED' if result['failed'] else 'ok'}")
    if result["failed"]:
        print("\n".join(done.stdout.splitlines()[-60:]))
    return result


def record(results: list[dict]) -> None:
    """Adds this run to RECORD: sums by target, and each run with its date."""
    known = json.loads(RECORD.read_text()) if RECORD.is_file() else {"total": {}, "runs": []}
    for result in results:
        sums = known["total"].setdefault(result["target"], {"seconds": 0, "executions": 0, "failures": 0})
        sums["seconds"] += result["seconds"]
        sums["executions"] += result["executions"]
        sums["failures"] += result["failed"]
    known["runs"].append({"date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M"), "results": results})
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(json.dumps(known, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=300, help="for all targets together")
    parser.add_argument("--record", action="store_true", help=f"add the counts to {RECORD.relative_to(ROOT)}")
    arguments = parser.parse_args()
    targets = sorted(p for p in BUILD.rglob("fuzz_*") if p.is_file() and os.access(p, os.X_OK))
    if not targets:
        print(f"fuzz: no program fuzz_* under {BUILD.relative_to(ROOT)}", file=sys.stderr)
        return 3
    each = max(1, arguments.seconds // len(targets))
    results = [fuzz(target, each) for target in targets]
    if arguments.record:
        record(results)
    return 1 if any(result["failed"] for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
