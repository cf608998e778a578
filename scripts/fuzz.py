"""Runs the libFuzzer targets, each on its kept corpus, and tells how many inputs it executed.

Usage: fuzz.py [--seconds S] [--target NAME ...] [--jobs N] [--record] [--merge]
  S is shared equally by the targets; N targets run at a time.
  --record   adds the counts to docs/results/fuzz.json
  --merge    afterwards, adds those inputs to the kept corpora that reach what no smaller input reaches

Targets are the programs fuzz_NAME under build/fuzz; the corpus of fuzz_NAME is tests/fuzz/corpus/NAME (kept) and
.cache/fuzz/NAME (grows). An input that fails is left in .cache/fuzz/failures, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from catalogue import ROOT

BUILD = ROOT / "build" / "fuzz"
CACHE = ROOT / ".cache" / "fuzz"
KEPT = ROOT / "tests" / "fuzz" / "corpus"
RECORD = ROOT / "docs" / "results" / "fuzz.json"

# No input may take longer or need more memory than this.
INPUT_SECONDS, INPUT_MIB = 10, 2048
# Longer inputs are not made; the kept corpus of a target stays below these limits.
INPUT_BYTES, KEPT_INPUT_BYTES, KEPT_FILES, KEPT_BYTES = 1 << 20, 16 << 10, 400, 1 << 20


def name_of(target: Path) -> str:
    return target.name.removeprefix("fuzz_")


def limits(target: Path) -> list[str]:
    failures = CACHE / "failures"
    failures.mkdir(parents=True, exist_ok=True)
    return [f"-timeout={INPUT_SECONDS}", f"-rss_limit_mb={INPUT_MIB}", f"-max_len={INPUT_BYTES}",
            f"-artifact_prefix={failures}/{name_of(target)}-"]  # fmt: skip


def run(command: list[str]) -> subprocess.CompletedProcess:
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False
    )


def last(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def fuzz(target: Path, seconds: int, seed: int) -> dict:
    """One target's run: executions, edges covered, inputs in both corpora, whether it found a failure."""
    name = name_of(target)
    grown, kept = CACHE / name, KEPT / name
    grown.mkdir(parents=True, exist_ok=True)
    corpora = [str(grown), *([str(kept)] if kept.is_dir() else [])]
    begin = time.monotonic()
    done = run(
        [str(target), f"-max_total_time={seconds}", f"-seed={seed}", "-print_final_stats=1", *limits(target), *corpora]
    )
    result = {
        "target": name,
        "seconds": round(time.monotonic() - begin),
        "executions": last(r"stat::number_of_executed_units:\s*(\d+)", done.stdout),
        "edges": last(r"cov: (\d+)", done.stdout),
        "corpus": last(r"corp: (\d+)", done.stdout),
        "failed": done.returncode != 0,
    }
    print(
        f"fuzz: {name}: {result['executions']} executions in {result['seconds']} s, {result['edges']} edges, "
        f"{result['corpus']} inputs: {'FAILED' if result['failed'] else 'ok'}",
        flush=True,
    )
    if result["failed"]:
        print("\n".join(done.stdout.splitlines()[-60:]))
    return result


def merge(target: Path) -> None:
    """Adds to the kept corpus what it takes to reach all that the grown one does, smallest inputs first."""
    name = name_of(target)
    kept = KEPT / name
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        grown = Path(folder) / "grown"
        grown.mkdir()
        for path in (CACHE / name).iterdir():
            if path.stat().st_size <= KEPT_INPUT_BYTES:
                shutil.copy(path, grown)
        chosen = Path(folder) / "chosen"
        chosen.mkdir()
        for path in kept.iterdir():
            shutil.copy(path, chosen)
        before = set(chosen.iterdir())
        run([str(target), "-merge=1", *limits(target), str(chosen), str(grown)])
        new = sorted(set(chosen.iterdir()) - before, key=lambda path: path.stat().st_size)
        files, size = len(before), sum(path.stat().st_size for path in before)
        added = 0
        for path in new:
            files, size = files + 1, size + path.stat().st_size
            if files > KEPT_FILES or size > KEPT_BYTES:
                break
            shutil.copy(path, kept / hashlib.sha256(path.read_bytes()).hexdigest()[:16])
            added += 1
    print(f"fuzz: {name}: {added} of {len(new)} new inputs kept")


def commit() -> str:
    return run(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]).stdout.strip()


def record(results: list[dict]) -> None:
    """Adds this run to RECORD: sums by target, and each run with its date."""
    known = json.loads(RECORD.read_text()) if RECORD.is_file() else {"total": {}, "runs": []}
    for result in results:
        sums = known["total"].setdefault(result["target"], {"seconds": 0, "executions": 0, "failures": 0})
        sums["seconds"] += result["seconds"]
        sums["executions"] += result["executions"]
        sums["failures"] += result["failed"]
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M")
    known["runs"].append({"date": date, "commit": commit(), "results": results})
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(json.dumps(known, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=300, help="for all targets together")
    parser.add_argument("--target", action="append", help="only this one; may be repeated")
    parser.add_argument("--seed", type=int, default=0, help="of the mutations; 0: another one each time")
    parser.add_argument("--jobs", type=int, default=1, help="targets that run at a time")
    parser.add_argument("--record", action="store_true", help=f"add the counts to {RECORD.relative_to(ROOT)}")
    parser.add_argument("--merge", action="store_true", help="add what was found to the kept corpora")
    arguments = parser.parse_args()
    targets = sorted(p for p in BUILD.rglob("fuzz_*") if p.is_file() and os.access(p, os.X_OK))
    if arguments.target:
        targets = [target for target in targets if name_of(target) in arguments.target]
    if not targets:
        print(f"fuzz: no such program fuzz_* under {BUILD.relative_to(ROOT)}", file=sys.stderr)
        return 3
    each = max(1, arguments.seconds // len(targets))
    with concurrent.futures.ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        results = list(pool.map(lambda target: fuzz(target, each, arguments.seed), targets))
    if arguments.record:
        record(results)
    if arguments.merge:
        for target in targets:
            merge(target)
    return 1 if any(result["failed"] for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
