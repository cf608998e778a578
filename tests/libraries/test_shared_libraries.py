"""What the shared libraries export and need."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from strop_command import ROOT

BUILD = ROOT / "build" / "release"
LIBRARIES = ("libstrop.so", "libstrop_runtime.so")


def _output(*command: object) -> str:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


def _symbols(library: Path) -> list[str]:
    """Defined dynamic symbols, demangled."""
    lines = _output("nm", "-DC", "--defined-only", library).splitlines()
    return [line.split(" ", 2)[2] for line in lines]


@pytest.mark.parametrize("name", LIBRARIES)
def test_soname_carries_the_major_version(name: str) -> None:
    dynamic = _output("readelf", "-d", BUILD / name)
    assert f"Library soname: [{name}.0]" in dynamic


@pytest.mark.parametrize("name", LIBRARIES)
def test_only_the_interface_is_exported(name: str) -> None:
    others = [symbol for symbol in _symbols(BUILD / name) if not symbol.startswith(("strop::", "strop_"))]
    assert not others, others[:20]
    inside = (
        "onnx",
        "ir",
        "passes",
        "compiler",
        "select",
        "ops",
        "runtime",
        "plan",
        "engine",
        "kernels",
        "tactics",
        "api",
    )
    modules = tuple(f"strop::{module}::" for module in inside)
    exported = [symbol for symbol in _symbols(BUILD / name) if symbol.startswith(modules)]
    assert not exported, exported[:20]


def test_the_full_library_exports_the_interface() -> None:
    symbols = "\n".join(_symbols(BUILD / "libstrop.so"))
    for wanted in (
        "strop::build(",
        "strop::Engine::load(",
        "strop::Context::run()",
        "strop::verify(",
        "strop::load_tensor(",
        "strop::knobs",
        "strop::TensorView::count()",
        "strop::detail::bad_result_access(",
    ):
        assert wanted in symbols, wanted


def _declared_in_c() -> tuple[set[str], set[str]]:
    """The functions of strop_c.h: those of both libraries, and those that stand under the last heading."""
    header = (ROOT / "include" / "strop" / "strop_c.h").read_text()
    both, full = header.split("/* ---- Compiling and judging: libstrop.so only")
    names = re.compile(r"^STROP_C_API [^(]*?(strop_\w+)\(", re.MULTILINE)
    return set(names.findall(both)), set(names.findall(full))


def test_each_library_exports_its_part_of_the_c_interface() -> None:
    both, full = _declared_in_c()
    assert len(both) > 25 and len(full) > 5
    of_c = [{s for s in _symbols(BUILD / name) if s.startswith("strop_")} for name in LIBRARIES]
    assert of_c == [both | full, both]


def test_the_c_header_is_c11_and_each_function_can_be_linked(tmp_path: Path) -> None:
    both, full = _declared_in_c()
    for library, names in ((LIBRARIES[0], both | full), (LIBRARIES[1], both)):
        source = tmp_path / "all.c"
        uses = "".join(f"  count += (void (*)(void)){name} != 0;\n" for name in sorted(names))
        source.write_text(
            f'#include "strop/strop_c.h"\nint main(void) {{\n  int count = 0;\n{uses}  return count != {len(names)};\n}}\n'
        )
        strict = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wno-address", "-Wno-cast-function-type", "-Werror"]
        program = tmp_path / "all"
        _output("cc", *strict, "-I", ROOT / "include", source, BUILD / library, f"-Wl,-rpath,{BUILD}", "-o", program)
        _output(program)


def test_an_engine_runs_with_the_small_library_alone(tmp_path: Path) -> None:
    engine = tmp_path / "tiny.strop"
    _output(BUILD / "strop", "build", ROOT / "examples" / "tiny.onnx", "-o", engine, "--device", "cpu")
    program = tmp_path / "run_engine"
    source = ROOT / "tests" / "libraries" / "run_engine.c"
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    library = BUILD / "libstrop_runtime.so"
    _output("cc", *strict, "-I", ROOT / "include", source, library, f"-Wl,-rpath,{BUILD}", "-o", program)
    assert "libstrop.so" not in _output("ldd", program)
    assert _output(program, engine) == "y: 0 2 0 4 0 6.25\n"


def test_the_runtime_neither_exports_nor_needs_the_compiler() -> None:
    library = BUILD / "libstrop_runtime.so"
    symbols = "\n".join(_symbols(library))
    assert "strop::Engine::load(" in symbols and "strop::Context::run()" in symbols
    for unwanted in ("strop::build(", "strop::verify(", "strop::run_conformance("):
        assert unwanted not in symbols, unwanted
    # Everything in it, hidden or not: the full symbol table is there unless the library was stripped.
    everything = _output("nm", "-C", "--defined-only", library)
    for unwanted in (
        "strop::onnx::",
        "strop::passes::",
        "strop::compiler::",
        "strop::select::",
        "strop::ir::",
        "CLI::",
    ):
        assert unwanted not in everything, unwanted
    assert "libzip" not in _output("readelf", "-d", library)
    assert library.stat().st_size < (BUILD / "libstrop.so").stat().st_size
