"""Style and static checks: include directions, file length, clang-format, ruff, clang-tidy.

Usage: lint.py [--tidy-files N]     N: only the N most recently changed sources through clang-tidy (default: all)

Needs `scripts/setup.sh clang` and a configured build/release (`make lint` sees to both). Exit 1 if anything is found.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from catalogue import ROOT

BUILD = ROOT / "build" / "release"
RUFF = Path(sys.executable).parent / "ruff"


def run(title: str, command: list[str]) -> bool:
    """Runs one checker, shows what it says if it complains, and returns whether it is content."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(f"lint: {title}: {'ok' if done.returncode == 0 else 'FAILED'}", flush=True)
    if done.returncode != 0:
        print(done.stdout)
    return done.returncode == 0


def tracked(*patterns: str) -> list[str]:
    """Files known to git that match the patterns."""
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def recently_changed(sources: set[str], limit: int) -> list[str]:
    """At most `limit` of `sources`, those changed by the latest commits first."""
    log = subprocess.run(
        ["git", "log", "--name-only", "--pretty=format:", "-n", "200"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    ordered = [name for name in dict.fromkeys(log.stdout.split("\n")) if name in sources]
    return ordered[:limit]


def own_commands(folder: Path) -> list[dict[str, str]]:
    """The release build's compile commands, also written to `folder` for clang-tidy: without GCC's precompiled header
    and what goes with it, which clang does not know and which would hide a missing #include."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    for entry in commands:
        entry["command"] = re.sub(
            r" -(include \S+cmake_pch\.hxx|fpch-preprocess|Winvalid-pch|Wno-restrict)\b", "", entry["command"]
        )
    (folder / "compile_commands.json").write_text(json.dumps(commands))
    return commands


def tidy(limit: int | None, folder: Path) -> bool:
    """clang-tidy on the sources that the release build compiles, except the unit tests."""
    commands = own_commands(folder)
    compiled = {os.path.relpath(Path(entry["directory"]) / entry["file"], ROOT) for entry in commands}
    sources = {name for name in compiled & set(tracked("*.cpp")) if not name.endswith("_test.cpp")}
    chosen = sorted(sources) if limit is None else recently_changed(sources, limit)

    def check(name: str) -> bool:
        return run(f"clang-tidy {name}", ["clang-tidy", "-p", str(folder), "--quiet", name])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return all(list(pool.map(check, chosen)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tidy-files", type=int, metavar="N", help="clang-tidy on the N latest changed sources only")
    arguments = parser.parse_args()
    python = ["scripts", "bench", "tests"]
    results = [
        run("include directions, file length", [sys.executable, "scripts/check_includes.py"]),
        run("clang-format", ["clang-format", "--dry-run", "--Werror", *tracked("*.h", "*.cpp")]),
        run("ruff check", [str(RUFF), "check", "--quiet", *python]),
        run("ruff format", [str(RUFF), "format", "--check", "--quiet", *python]),
        *(run(f"shell syntax {name}", ["bash", "-n", name]) for name in tracked("*.sh", ".ci/run")),
    ]
    with tempfile.TemporaryDirectory() as folder:
        results.append(tidy(arguments.tidy_files, Path(folder)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
