"""What the shared libraries export and need."""

from __future__ import annotations

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
    others = [symbol for symbol in _symbols(BUILD / name) if not symbol.startswith("strop::")]
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
