"""The main job on a real model: compile a text recogniser, prove the engine, read a picture with it, time it.

`make demo` runs this after it has set everything up.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

from catalogue import ROOT, by_name
from text_image import normalised, text_dots, text_line

STROP = ROOT / "build" / "release" / "strop"
TEXT = "STROP READS THIS"
HEIGHT, WIDTH = 48, 640


def step(title: str, *arguments: object) -> dict:
    """Runs one strop command, shown as it could be typed, and returns its JSON."""
    shown = [str(a).replace(str(ROOT) + "/", "") for a in arguments]
    print(f"\n{title}\n$ strop {' '.join(shown)}", flush=True)
    done = subprocess.run([str(STROP), *map(str, arguments), "--json"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def read_text(scores: np.ndarray, model: Path) -> str:
    """The likeliest text: scores [steps, classes], class 0 is the blank; the model's metadata hold the alphabet."""
    properties = {p.key: p.value for p in onnx.load(model).metadata_props}
    alphabet = ["", *properties["character"].splitlines(), " "]
    best = scores.argmax(axis=-1)
    kept = [c for i, c in enumerate(best) if c != 0 and (i == 0 or best[i - 1] != c)]
    return "".join(alphabet[c] for c in kept)


def main() -> None:
    model = by_name("ppocr_rec").path
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        engine, picture = folder / "reader.strop", folder / "line.npy"
        np.save(picture, normalised(text_line(TEXT, HEIGHT, WIDTH)))
        print(
            f"PP-OCRv4's text recogniser ({model.stat().st_size / 1e6:.1f} MB of ONNX), and a picture of this line:\n"
        )
        print("\n".join("".join("█" if dot else " " for dot in row) for row in text_dots(TEXT)))

        step("Compile it:", "build", model, "-o", engine, "--device", "cpu", "--shapes", f"x:1x3x{HEIGHT}x{WIDTH}")
        plan = step("What became of it:", "inspect", engine)
        print(f"{len(onnx.load(model).graph.node)} ONNX nodes became {len(plan['steps'])} steps; "
              f"all intermediates share {plan['arena_bytes'] / 1e6:.2f} MB")  # fmt: skip

        report = step("Prove it against the reference interpreter:", "verify", engine, "--model", model)
        for output in report["outputs"]:
            print(f"{output['name']}: relative L2 error {output['rel_l2']:.1e}: {'pass' if report['pass'] else 'FAIL'}")

        ran = step("Run it on the picture:", "run", engine, "--input", f"x={picture}", "--output-dir", folder / "out")
        text = read_text(np.load(ran["outputs"][0]["file"])[0], model)
        print(f'it reads: "{text}"')

        timing = step("Time it:", "bench", engine, "--seconds", 2)
        latency = timing["latency_ms"]
        low, high = latency["ci95"]
        print(f"median {latency['median']:.2f} ms (95 %: {low:.2f} .. {high:.2f}), {timing['samples']} runs "
              f"on {timing['device']}")  # fmt: skip
        sys.exit(0 if text == TEXT and report["pass"] else 1)


if __name__ == "__main__":
    main()
