"""Strop and ONNX Runtime on the CPU, in alternation, on the listed models: `make bench-cpu`.

Usage: cpu_peers.py [--rows TEXT] [--threads 1,2] [--seconds S] [--no-save]

Each of the two runs in a process of its own that is stopped (SIGSTOP) while the other is timed: neither spins beside
the other. Within its own bursts ONNX Runtime spins as it does by default. Ratios are time(Strop) / time(ONNX Runtime):
below 1, Strop is faster. Peak memory is that of a process that only loads and runs (VmHWM); "net" is what it needs
beyond the same process with the smallest possible graph, which leaves out Python and the libraries' own size.
Writes the table to stdout and everything to docs/results/cpu_peers.json.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from paired import bootstrap_geometric_mean, bootstrap_median, measure
from workers import ort_worker, save_feeds, strop_worker

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
from catalogue import MODELS, ROOT, Case, Input

STROP = ROOT / "build" / "release" / "strop"
WORKER = ROOT / "build" / "release" / "bench" / "strop_worker"
RESULT = ROOT / "docs" / "results" / "cpu_peers.json"
LAST_RESORT = ".cpu.reference"


@dataclass(frozen=True)
class Job:
    """One row of the table: a model file at fixed shapes with a number of threads."""

    row: str
    model: Path
    case: Case
    threads: int


@dataclass
class Row:
    """What was measured for one job. Times in ms, memory in MB (10⁶ bytes)."""

    row: str
    threads: int
    strop_ms: float
    ort_ms: float
    ratio: float
    ci95: tuple[float, float]
    round_ratios: list[float]
    build_s: float
    steps: int
    last_resort_share: float
    strop_peak_mb: float = 0.0
    ort_peak_mb: float = 0.0
    strop_net_mb: float = 0.0
    ort_net_mb: float = 0.0


def build_engine(job: Job, folder: Path) -> tuple[Path, float]:
    """Builds the job's engine with the command, as a user would; returns its file and the seconds it took."""
    engine = folder / "engine.strop"
    command = [str(STROP), "build", str(job.model), "-o", str(engine), "--device", "cpu", "--threads", str(job.threads)]
    if shapes := job.case.shapes_argument():
        command += ["--shapes", shapes]
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{job.row}: strop build ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return engine, time.monotonic() - started


def measure_job(job: Job, seconds: float) -> Row:
    """Builds, times in alternation, and measures memory in fresh processes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        feeds = job.case.feeds()
        inputs = save_feeds(feeds, folder / "inputs")
        engine, build_s = build_engine(job, folder)
        with (
            strop_worker(WORKER, engine, job.threads, inputs) as ours,
            ort_worker(job.model, job.threads, feeds, inputs) as theirs,
        ):
            paired = measure(ours, theirs, seconds)
            steps, share = last_resort(engine, [ours.step_times_us() for _ in range(5)])
        row = Row(
            row=job.row,
            threads=job.threads,
            strop_ms=float(np.median(paired.a_ns)) / 1e6,
            ort_ms=float(np.median(paired.b_ns)) / 1e6,
            ratio=float(np.median(paired.ratios)),
            ci95=bootstrap_median(paired.ratios),
            round_ratios=[round(float(r), 4) for r in paired.ratios],
            build_s=build_s,
            steps=steps,
            last_resort_share=share,
        )
        with strop_worker(WORKER, engine, job.threads, inputs) as fresh:
            fresh.run(3)
            row.strop_peak_mb = fresh.peak_bytes() / 1e6
        with ort_worker(job.model, job.threads, feeds, inputs) as fresh:
            fresh.run(3)
            row.ort_peak_mb = fresh.peak_bytes() / 1e6
        return row


def last_resort(engine: Path, runs: list[dict[int, float]]) -> tuple[int, float]:
    """Number of steps, and the share of the run's time that last-resort tactics take (median over the runs)."""
    shown = subprocess.run(
        [str(STROP), "inspect", str(engine), "--json"], capture_output=True, text=True, check=True
    )  # fmt: skip
    steps = json.loads(shown.stdout)["steps"]
    slow = {index for index, step in enumerate(steps) if str(step.get("tactic", "")).endswith(LAST_RESORT)}
    shares = [sum(us for step, us in run.items() if step in slow) / max(sum(run.values()), 1e-9) for run in runs]
    return len(steps), float(np.median(shares))


def identity_job(folder: Path) -> Job:
    """The smallest graph: what a run costs beyond the work."""
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("x", "y")]
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"], name="identity")], "identity", *[[i] for i in info]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    path = folder / "identity.onnx"
    onnx.save(model, path)
    return Job("identity", path, Case({"x": Input((1,))}), 1)


def print_table(rows: list[Row], identity: Row) -> None:
    """The rows, the smallest graph, and the geometric mean."""
    print(
        f"{'model':22}{'threads':>8}{'Strop ms':>10}{'ORT ms':>10}{'ratio':>8}  {'95 %':15}"
        f"{'peak MB':>9}{'ORT':>7}{'net':>8}{'ORT':>7}{'ratio':>7}{'steps':>7}{'last resort':>13}"
    )
    for row in [*rows, identity]:
        net = row.strop_net_mb / row.ort_net_mb if row.ort_net_mb > 0.5 else float("nan")
        low, high = row.ci95
        print(
            f"{row.row:22}{row.threads:>8}{row.strop_ms:>10.3f}{row.ort_ms:>10.3f}{row.ratio:>8.2f}  "
            f"{f'{low:.2f} .. {high:.2f}':15}{row.strop_peak_mb:>9.0f}{row.ort_peak_mb:>7.0f}"
            f"{row.strop_net_mb:>8.1f}{row.ort_net_mb:>7.1f}{net:>7.2f}{row.steps:>7}{row.last_resort_share:>12.1%}"
        )
    mean, (low, high) = bootstrap_geometric_mean([np.array(row.round_ratios) for row in rows])
    worst = max(rows, key=lambda row: row.ratio)
    print(f"{len(rows)} rows: geometric mean {mean:.3f} (95 %: {low:.3f} .. {high:.3f})", end=", ")
    print(f"worst {worst.ratio:.2f} ({worst.row}, {worst.threads} thread(s))")


def machine() -> dict:
    """What the figures belong to."""
    cpu = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), platform.processor())  # fmt: skip
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": " ".join([Path(sys.executable).name, *sys.argv]),
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "commit": commit.stdout.strip(),
        "versions": {name: version(name) for name in ("onnxruntime", "onnx", "numpy")}
        | {"python": platform.python_version()},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="", help="only rows whose name contains this")
    parser.add_argument("--threads", default="1,2", help="thread counts, separated by commas")
    parser.add_argument("--seconds", type=float, default=6.0, help="timing per row")
    parser.add_argument("--no-save", action="store_true", help=f"leave {RESULT.relative_to(ROOT)} as it is")
    arguments = parser.parse_args()
    jobs = [
        Job(case.row, model.path, case, int(threads))
        for model in MODELS
        for case in model.cases
        if case.timed and arguments.rows in case.row
        for threads in arguments.threads.split(",")
    ]
    with tempfile.TemporaryDirectory() as folder:
        identity = measure_job(identity_job(Path(folder)), seconds=1.0)
    rows = []
    for job in jobs:
        print(f"timing {job.row}, {job.threads} thread(s)", file=sys.stderr)
        row = measure_job(job, arguments.seconds)
        row.strop_net_mb = row.strop_peak_mb - identity.strop_peak_mb
        row.ort_net_mb = row.ort_peak_mb - identity.ort_peak_mb
        rows.append(row)
    print_table(rows, identity)
    if not arguments.no_save:
        mean, interval = bootstrap_geometric_mean([np.array(row.round_ratios) for row in rows])
        document = machine() | {
            "geometric_mean": mean,
            "geometric_mean_ci95": interval,
            "identity": asdict(identity),
            "rows": [asdict(row) for row in rows],
        }
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        RESULT.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
