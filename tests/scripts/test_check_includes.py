"""The include-direction check finds what it should, and the tree is clean."""

from pathlib import Path, PurePosixPath

import pytest

import check_includes

ALLOWED = [
    ("src/ops/operator.h", "tensor/type.h"),
    ("src/ops/operator.h", "ops/attrs.h"),
    ("src/tensor/type.cpp", "base/check.h"),
    ("src/base/result.h", "strop/result.h"),
    ("src/passes/fold.cpp", "strop/result.h"),
    ("src/tensor/dtype.h", "strop/types.h"),
    ("src/ops/softmax/cpu.cpp", "kernels/softmax/softmax.h"),
    ("src/ops/softmax/cpu_tiles.cpp", "tactics/tactic.h"),
    ("src/ops/softmax/onnx.cpp", "ir/graph.h"),
    ("src/ops/softmax/onnx.cpp", "onnx/import.h"),
    ("src/kernels/gemm/gemm.h", "tensor/dtype.h"),
    ("src/compiler/build.cpp", "passes/pipeline.h"),
    ("src/api/strop.cpp", "strop/strop.h"),
    ("src/engine/plan_decode.cpp", "plan_generated.h"),
    ("src/plan/arena_test.cpp", "compiler/build.h"),
    ("tools/build.cpp", "strop/strop.h"),
    ("tools/build.cpp", "command.h"),
    ("tests/passes/fold.cpp", "ir/graph.h"),
]

FORBIDDEN = [
    ("src/tensor/type.cpp", "ops/operator.h", "tensor may not include ops"),
    ("src/base/log.cpp", "tensor/type.h", "base may not include tensor"),
    ("src/kernels/gemm/gemm.cpp", "tensor/tensor.h", "kernels may not include tensor"),
    ("src/ops/softmax/op.cpp", "ir/graph.h", "ops may not include ir"),
    ("src/ops/softmax/op.cpp", "ops/softmax/cpu.h", "ops may not include tactics"),
    ("src/ops/softmax/cpu.cpp", "ir/graph.h", "tactics may not include ir"),
    ("src/ops/softmax/cuda_source.cpp", "device/device.h", "codegen may not include device"),
    ("src/runtime/executor.cpp", "onnx/import.h", "runtime may not include onnx"),
    ("src/runtime/executor.cpp", "compiler/build.h", "runtime may not include compiler"),
    ("src/compiler/build.cpp", "tuner/space.h", "compiler may not include tuner"),
    ("src/passes/fold.cpp", "strop/strop.h", "passes may not include strop"),
    ("src/ir/graph.cpp", "graph.h", "write the path from src/, module first"),
    ("src/mystery/a.cpp", "ir/graph.h", "module mystery is not in the table of scripts/check_includes.py"),
    ("tools/build.cpp", "ir/graph.h", "tools/ may include include/strop only"),
    ("include/strop/strop.h", "base/result.h", "include/ may include include/strop only"),
]


@pytest.mark.parametrize(("source", "included"), ALLOWED)
def test_allowed(source: str, included: str) -> None:
    assert check_includes.why_not(PurePosixPath(source), included) is None


@pytest.mark.parametrize(("source", "included", "reason"), FORBIDDEN)
def test_forbidden(source: str, included: str, reason: str) -> None:
    assert check_includes.why_not(PurePosixPath(source), included) == reason


def test_violation_names_file_line_and_reason(tmp_path: Path) -> None:
    source = tmp_path / "src" / "plan" / "arena.cpp"
    source.parent.mkdir(parents=True)
    source.write_text('#include "tensor/type.h"\n  #  include "ir/graph.h"\n// #include "ops/a.h"\n')
    assert list(check_includes.violations(tmp_path, ["src/plan/arena.cpp"])) == [
        'src/plan/arena.cpp:2: "ir/graph.h": plan may not include ir'
    ]


def test_long_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("\n" * 601)
    (tmp_path / "fits.py").write_text("\n" * 600)
    (tmp_path / "data.txt").write_text("\n" * 601)
    assert list(check_includes.violations(tmp_path, ["long.py", "fits.py", "data.txt"])) == [
        "long.py: 601 lines; the limit is 600: split it by meaning"
    ]


def test_script_fails_on_a_bad_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = tmp_path / "src" / "base" / "log.h"
    bad.parent.mkdir(parents=True)
    bad.write_text('#include "tensor/type.h"\n')
    monkeypatch.setattr("sys.argv", ["check_includes.py", str(tmp_path)])
    assert check_includes.main() == 1


def test_this_tree_is_clean() -> None:
    root = Path(check_includes.__file__).resolve().parent.parent
    assert list(check_includes.violations(root, check_includes.listed_files(root))) == []
