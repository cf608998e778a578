"""Checks which module includes which (the table of docs/architecture.md), and that no file is too long.

Usage: check_includes.py [ROOT]     exit 1 and one line per violation, if there is any

A file belongs to the module of its folder under src/, except in an operator's folder, where its stem says its layer:
`ops/softmax/cpu_tiles.cpp` is part of `tactics`. What is included is classed in the same way, so that nothing can be
reached through another layer's header. Unit tests (`*_test.cpp`) are linked with all of Strop and may include it all.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

MAX_LINES = 600

# What each module may include directly, besides itself, base and PUBLIC_EVERYWHERE.
ALLOWED: dict[str, set[str]] = {
    "base": set(),
    "tensor": set(),
    "device": set(),
    "ops": {"tensor"},
    "kernels": {"tensor/dtype.h"},
    "codegen": {"ops", "kernels", "tensor"},
    "tactics": {"ops", "kernels", "device", "tensor"},
    "plan": {"tensor"},
    "engine": {"plan", "tensor"},
    "runtime": {"engine", "plan", "tactics", "ops", "device", "tensor"},
    "ir": {"ops", "tensor"},
    "onnx": {"ir", "ops", "tensor"},
    "passes": {"ir", "ops", "tensor"},
    "quant": {"ir", "ops", "tensor"},
    "select": {"tactics", "codegen", "ops", "plan", "device", "tensor"},
}
ALLOWED["compiler"] = set(ALLOWED)
ALLOWED["tuner"] = set(ALLOWED)
ALLOWED["api"] = set(ALLOWED) | {"strop"}

# Folders outside src that use the public interface only.
PUBLIC_ONLY = ("include", "tools", "python", "examples")
# The public headers that every module may include: the vocabulary that the interface and the inside share.
PUBLIC_EVERYWHERE = {"strop/export.h", "strop/result.h", "strop/types.h"}

# The layer of a file in an operator's folder, by the beginning of its stem; all others are `ops`.
OPERATOR_LAYERS = (("cuda_source", "codegen"), ("cuda", "tactics"), ("cpu", "tactics"), ("onnx", "onnx"))

_INCLUDE = re.compile(r'^\s*#\s*(?:include|define\s+HWY_TARGET_INCLUDE)\s*"([^"]+)"')
_INCLUDE_PUBLIC = re.compile(r"^\s*#\s*include\s*<(strop/[^>]+)>")
_SOURCES = {".h", ".hpp", ".cpp", ".cc", ".cu", ".cuh"}
_LIMITED = _SOURCES | {".py", ".sh", ".cmake", ".fbs"}


def module_of(path: PurePosixPath) -> str:
    """The module of a file given relative to src/ (the public headers' module is `strop`)."""
    if path.parts[0] == "ops" and len(path.parts) > 2:
        return next((layer for stem, layer in OPERATOR_LAYERS if path.stem.startswith(stem)), "ops")
    return path.parts[0]


def why_not(source: PurePosixPath, included: str) -> str | None:
    """Why `source` (relative to the root) may not include `included` (as written), or None if it may."""
    if source.name.endswith("_test.cpp") or source.parts[0] not in ("src", *PUBLIC_ONLY):
        return None
    target = PurePosixPath(included)
    if source.parts[0] in PUBLIC_ONLY:
        # A header of the folder's own, named without a folder or by one of its own.
        own = source.parts[0] != "include" and target.parts[0] not in ALLOWED
        return None if own or target.parts[0] == "strop" else f"{source.parts[0]}/ may include include/strop only"
    # What the build generates from a module's own .fbs lies in no folder.
    if included in PUBLIC_EVERYWHERE or included.endswith("_generated.h"):
        return None
    if len(target.parts) < 2:
        return "write the path from src/, module first"
    module, wanted = module_of(PurePosixPath(*source.parts[1:])), module_of(target)
    if module not in ALLOWED:
        return f"module {module} is not in the table of scripts/check_includes.py"
    if wanted in {module, "base"} | ALLOWED[module] or included in ALLOWED[module]:
        return None
    return f"{module} may not include {wanted}"


def include_lines(text: str) -> Iterator[tuple[int, str]]:
    """(line number, path) of each quoted include, and of each <strop/…>."""
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _INCLUDE.match(line) or _INCLUDE_PUBLIC.match(line):
            yield number, match[1]


def violations(root: Path, files: list[str]) -> Iterator[str]:
    """One line for each violation in `files`, which are paths relative to `root`."""
    for name in files:
        suffix = PurePosixPath(name).suffix
        if suffix not in _LIMITED or not (root / name).is_file():
            continue
        text = (root / name).read_text(encoding="utf-8")
        if (lines := text.count("\n")) > MAX_LINES:
            yield f"{name}: {lines} lines; the limit is {MAX_LINES}: split it by meaning"
        if suffix in _SOURCES:
            for number, included in include_lines(text):
                if reason := why_not(PurePosixPath(name), included):
                    yield f'{name}:{number}: "{included}": {reason}'


def listed_files(root: Path) -> list[str]:
    """Files that git tracks or would track; all files where the tree is no git checkout."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return listed.stdout.splitlines()
    skipped = {"build", ".venv", ".cache"}
    found = (p.relative_to(root) for p in root.rglob("*") if p.is_file())
    return [str(p) for p in found if p.parts[0] not in skipped]


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    files = listed_files(root)
    found = list(violations(root, sorted(files)))
    for line in found:
        print(line)
    print(f"{len(files)} files, {len(found)} violations", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
