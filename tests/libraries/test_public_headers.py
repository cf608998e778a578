"""The public headers give their users no warnings, in the languages and with the strictness that they may choose."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from strop_command import ROOT

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only", "-I", str(ROOT / "include")]
INITIALIZED = """
#include "strop/strop.h"
#include "strop/strop_c.h"

/// Each struct that a caller fills in, with just one field named: the others have their defaults.
int main() {
  const strop::BuildOptions build{.effort = 1};
  const strop::ShapeProfile profile{.opt = {1, 3}};
  const strop::PortFormat format{.layout = "nhwc"};
  const strop::RuntimeOptions runtime{.threads = 1};
  const strop::ContextOptions context{.max_cached_shapes = 1};
  const strop::LoadOptions load{.required_key = ""};
  const strop::SaveOptions save{.signing_key = ""};
  const strop::VerifyOptions verify{.metric = strop::Metric::Cos, .limit = 0.5};
  const strop::ConformanceOptions conformance{.filter = "relu"};
  const strop::TensorView view{.dtype = strop::DType::F32, .shape = {1}};
  const strop::Device device{.kind = strop::DeviceKind::Cpu};
  const strop::PortInfo port{.name = "x"};
  const strop::Progress progress{.done = 1};
  const strop::ConformanceCase tested{.name = "x"};
  const strop::OutputError error{.name = "x"};
  const strop::KnobDescription knob{.name = "x"};
  const strop::VerifyReport report{.pass = true};
  const strop::MemoryInfo memory{.arena_bytes = 1};
  const strop::StepTime time{.step = 1};
  const strop_verify_options c_verify = STROP_VERIFY_OPTIONS_INIT;
  return build.effort + static_cast<int>(profile.opt.size() + format.layout.size() + save.signing_key.size()) +
         runtime.threads + context.max_cached_shapes + static_cast<int>(load.required_key.size()) +
         static_cast<int>(verify.metric) + static_cast<int>(conformance.filter.size() + view.shape.size()) +
         device.index + static_cast<int>(port.name.size() + tested.name.size() + error.name.size()) +
         static_cast<int>(progress.done + memory.arena_bytes + time.step) + static_cast<int>(knob.name.size()) +
         static_cast<int>(report.pass) + static_cast<int>(c_verify.size) + conformance.build.effort;
}
"""
EVERY_INIT = re.compile(r"^#define (STROP_\w+_INIT)\b", re.MULTILINE)


def _compile(tmp_path: Path, name: str, text: str, command: list[str]) -> None:
    (tmp_path / name).write_text(text)
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run([*command, *STRICT, str(tmp_path / name)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("header", ["strop.h", "strop_c.h", "result.h", "types.h", "export.h"])
def test_each_header_stands_alone_in_cpp(header: str, compiler: str, tmp_path: Path) -> None:
    _compile(tmp_path, "alone.cpp", f"#include <strop/{header}>\nint main() {{}}\n", [compiler, "-std=c++20"])


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_structs_may_be_filled_in_part(compiler: str, tmp_path: Path) -> None:
    _compile(tmp_path, "initialized.cpp", INITIALIZED, [compiler, "-std=c++20"])


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_the_examples_of_the_readme_compile(compiler: str, tmp_path: Path) -> None:
    [example] = re.findall(r"```cpp\n(#include <strop/strop\.h>.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    _compile(tmp_path, "readme.cpp", example, [compiler, "-std=c++20"])


@pytest.mark.parametrize("standard", ["c99", "c11", "c17"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_c_header(compiler: str, standard: str, tmp_path: Path) -> None:
    macros = EVERY_INIT.findall((ROOT / "include" / "strop" / "strop_c.h").read_text())
    assert len(macros) >= 8
    lines = [f"  {macro[:-5].lower()} v{i} = {macro};\n  size += v{i}.size;\n" for i, macro in enumerate(macros)]
    text = (
        f'#include "strop/strop_c.h"\nint main(void) {{\n  size_t size = 0;\n{"".join(lines)}  return size == 0;\n}}\n'
    )
    _compile(tmp_path, "header.c", text, [compiler, f"-std={standard}"])
