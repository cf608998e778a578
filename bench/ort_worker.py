"""A process that runs one model in ONNX Runtime when told to; the counterpart of strop_worker.cpp.

Usage: ort_worker.py MODEL THREADS {"DIMENSION": SIZE, …} NAME=FILE.npy ...

Loads, runs, prints "ready". Then answers each line of stdin with one line of stdout: "run N" with the durations of N
runs in nanoseconds, "peak" with the process's largest resident memory in KiB. Ends at end of input.

The session is what ONNX Runtime does best on the given shapes: all optimisations, its own spinning threads, symbolic
dimensions fixed, inputs and outputs bound once, so that a run is one call.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort


def peak_resident_kib() -> int:
    """Largest resident set of this process so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def open_session(model: str, threads: int, dimensions: dict[str, int]) -> ort.InferenceSession:
    """The session that is timed."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    for name, size in dimensions.items():
        options.add_free_dimension_override_by_name(name, size)
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def bind(session: ort.InferenceSession, feeds: dict[str, np.ndarray]) -> ort.IOBinding:
    """Inputs and outputs bound; a first run tells the outputs' sizes."""
    binding = session.io_binding()
    for name, array in feeds.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
    names = [declared.name for declared in session.get_outputs()]
    for name in names:
        binding.bind_output(name)
    session.run_with_iobinding(binding)
    outputs = [value.numpy() for value in binding.get_outputs()]
    binding.clear_binding_outputs()
    for name, array in zip(names, outputs):
        binding.bind_ortvalue_output(name, ort.OrtValue.ortvalue_from_numpy(array.copy()))
    return binding


def main() -> None:
    model, threads = sys.argv[1], int(sys.argv[2])
    pairs = (spec.rsplit("=", 1) for spec in sys.argv[4:])
    feeds = {name: np.load(file) for name, file in pairs}
    session = open_session(model, threads, json.loads(sys.argv[3]))
    binding = bind(session, feeds)
    session.run_with_iobinding(binding)
    gc.disable()
    print("ready", flush=True)
    run, clock = session.run_with_iobinding, time.perf_counter_ns
    for line in sys.stdin:
        request = line.split()
        if request[0] == "run":
            times = [0] * int(request[1])
            for index in range(len(times)):
                start = clock()
                run(binding)
                times[index] = clock() - start
            print(*times, flush=True)
        elif request[0] == "peak":
            print(peak_resident_kib(), flush=True)
        else:
            sys.exit(f"ort_worker: unknown request {line!r}")


if __name__ == "__main__":
    main()
