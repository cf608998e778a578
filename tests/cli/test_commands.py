"""What each subcommand does and prints."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from tiny import BIAS, WEIGHT, call, dense

from strop_command import STROP


def test_build_says_what_it_made(folder: Path, dense_model: Path) -> None:
    engine = folder / "built.strop"
    document = call("build", dense_model, "-o", engine, "--device", "cpu", "--json").document
    assert document["engine"] == str(engine) and engine.stat().st_size == document["bytes"]
    assert document["device"].startswith("cpu (")
    assert len(document["plan_digest"]) == len(document["file_digest"]) == 64
    assert document["inputs"] == [{"name": "x", "kind": "tensor", "dtype": "f32", "shape": ["batch", "4"]}]


def test_builds_are_the_same_byte_for_byte(folder: Path, dense_model: Path) -> None:
    engines = [folder / f"same_{i}.strop" for i in range(2)]
    for engine in engines:
        assert call("build", dense_model, "-o", engine, "--device", "cpu").code == 0
    assert engines[0].read_bytes() == engines[1].read_bytes()


def test_the_device_that_was_chosen_is_said_aloud(folder: Path, dense_model: Path) -> None:
    assert "strop: device: cpu (" in call("build", dense_model, "-o", folder / "auto.strop").err


def test_shapes_fix_an_input(folder: Path, dense_model: Path) -> None:
    engine = folder / "fixed.strop"
    document = call("build", dense_model, "-o", engine, "--shapes", "x:5x4", "--json").document
    assert document["inputs"][0]["shape"] == ["5", "4"]
    np.save(folder / "six.npy", np.zeros((6, 4), np.float32))
    ended = call("run", engine, "--input", f"x={folder / 'six.npy'}")
    assert ended.code == 2 and "x" in ended.err


def test_other_outputs(folder: Path, dense_model: Path) -> None:
    document = call("run", dense_model, "--outputs", "h,y", "--json").document
    assert [output["name"] for output in document["outputs"]] == ["h", "y"]


@pytest.mark.parametrize("batch", [1, 7])
def test_run_computes(folder: Path, dense_engine: Path, batch: int) -> None:
    x = np.random.default_rng(0).standard_normal((batch, 4)).astype(np.float32)
    np.save(folder / "x.npy", x)
    ended = call(
        "run", dense_engine, "--input", f"x={folder / 'x.npy'}", "--output-dir", folder / "new" / "out", "--json"
    )
    assert ended.code == 0, ended.err
    [output] = ended.document["outputs"]
    assert output["shape"] == [batch, 3] and output["dtype"] == "f32"
    np.testing.assert_allclose(np.load(output["file"]), dense(x), rtol=1e-5, atol=1e-6)


def test_run_takes_names_with_colons_and_slashes(folder: Path, named_model: Path) -> None:
    a, b = np.ones((2, 3), np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(folder / "a.npy", a)
    np.save(folder / "b.npy", b)
    document = call(
        "run",
        named_model,
        "--input",
        f"a:0={folder / 'a.npy'}",
        "--input",
        f"b/c={folder / 'b.npy'}",
        "--output-dir",
        folder / "named_out",
        "--json",
    ).document
    [output] = document["outputs"]
    assert output["name"] == "sum/1:0"
    np.testing.assert_array_equal(np.load(output["file"]), a + b)


def test_run_reads_pb_npz_and_folders(folder: Path, dense_engine: Path) -> None:
    x = np.full((2, 4), 0.5, np.float32)
    (folder / "x.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
    np.savez_compressed(folder / "x.npz", x=x)
    sets = folder / "sets" / "0"
    sets.mkdir(parents=True, exist_ok=True)
    np.save(sets / "x.npy", x)
    for source in (
        ["--input", f"x={folder / 'x.pb'}"],
        ["--input", f"x={folder / 'x.npz'}"],
        ["--inputs", sets.parent],
    ):
        document = call("run", dense_engine, *source, "--output-dir", folder / "read", "--json").document
        np.testing.assert_allclose(np.load(document["outputs"][0]["file"]), dense(x), rtol=1e-5)


def test_missing_inputs_are_random_seeded_and_said(folder: Path, dense_engine: Path) -> None:
    results = []
    for seed in (3, 3, 4):
        ended = call(
            "run", dense_engine, "--seed", seed, "--shapes", "x:2x4", "--output-dir", folder / "seeded", "--json"
        )
        assert f"strop: input 'x': random values, f32 [2, 4], seed {seed}" in ended.err
        results.append(np.load(ended.document["outputs"][0]["file"]))
    np.testing.assert_array_equal(results[0], results[1])
    assert (results[0] != results[2]).any()


def test_verify_passes_and_fails(folder: Path, dense_model: Path, dense_engine: Path) -> None:
    good = call("verify", dense_engine, "--model", dense_model, "--json")
    assert good.code == 0 and good.document["pass"] and good.document["pairs"] == 1
    assert "pair 0, input 'x': random values, f32[1, 4], seed 0" in good.err
    [output] = good.document["outputs"]
    assert {"name", "dtype", "shape", "l0", "l1", "l2", "linf", "rel_l2", "cos", "nan", "inf"} <= set(output)

    changed = onnx.load(dense_model)
    changed.graph.initializer[1].CopyFrom(numpy_helper.from_array(BIAS + 1, "b"))
    onnx.save(changed, folder / "changed.onnx")
    bad = call("verify", dense_engine, "--model", folder / "changed.onnx", "--json")
    assert bad.code == 1 and not bad.document["pass"]
    assert "is not the file that the engine was built from" in bad.err


def test_verify_takes_pairs_and_references(folder: Path, dense_engine: Path, dense_model: Path) -> None:
    inputs, references = folder / "pairs", folder / "references"
    for kind in (inputs, references):
        kind.mkdir(exist_ok=True)
    for i in range(3):
        x = np.random.default_rng(i).standard_normal((i + 1, 4)).astype(np.float32)
        np.savez(inputs / f"{i}.npz", x=x)
        np.savez(references / f"{i}.npz", y=dense(x) + (0.5 if i == 2 else 0))
    assert call("verify", dense_engine, "--model", dense_model, "--inputs", inputs, "--json").document["pairs"] == 3
    bad = call(
        "verify",
        dense_engine,
        "--inputs",
        inputs,
        "--references",
        references,
        "--metric",
        "linf",
        "--limit",
        "1e-3",
        "--json",
    )
    assert bad.code == 1
    assert bad.document["outputs"][0]["linf"] == pytest.approx(0.5, abs=1e-4)
    assert bad.document["outputs"][0]["shape"] == [3, 3]


def test_verify_takes_the_folders_of_the_standards_tests(folder: Path, dense_engine: Path) -> None:
    data = folder / "standard" / "test_data_set_0"
    data.mkdir(parents=True)
    x = np.random.default_rng(9).standard_normal((2, 4)).astype(np.float32)
    (data / "input_0.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(dense(x)).SerializeToString())
    ended = call("verify", dense_engine, "--inputs", data.parent, "--references", data.parent, "--json")
    assert ended.code == 0 and ended.document["pass"], ended.err


def test_inspect_of_an_engine(dense_engine: Path) -> None:
    document = call("inspect", dense_engine, "--json").document
    keys = {
        "device",
        "precision",
        "profiles",
        "arena_bytes",
        "arena_lower_bound_bytes",
        "intermediate_bytes",
        "weight_bytes",
        "route",
        "fingerprint",
        "steps",
        "views",
        "in_place",
        "step_count",
    }
    assert keys <= set(document)
    assert document["precision"] == "fp32" and document["weight_bytes"] >= WEIGHT.nbytes + BIAS.nbytes
    assert document["profiles"][0]["x"]["min"][1] == document["profiles"][0]["x"]["max"][1] == 4
    assert document["steps"] and document["step_count"] == len(document["steps"])
    for step in document["steps"]:
        assert {"name", "op", "tactic", "config", "time_us", "why", "candidates", "onnx_nodes"} <= set(step)
        assert step["onnx_nodes"]
    assert {node for step in document["steps"] for node in step["onnx_nodes"]} == {"multiply", "shift", "clip"}


def test_inspect_of_a_model(dense_model: Path, unsupported_model: Path) -> None:
    document = call("inspect", dense_model, "--json").document
    assert document["operators"] == {"Add": 1, "MatMul": 1, "Relu": 1}
    assert document["nodes"] == 3 and document["unsupported"] == []
    other = call("inspect", unsupported_model, "--json")
    assert other.code == 0
    assert other.document["unsupported"] == [{"op": "Frobnicate", "domain": "org.example", "opset": 1, "count": 1}]


def test_knobs() -> None:
    knobs = call("knobs", "--json").document
    assert knobs and all(set(knob) == {"name", "help", "values", "default", "effect", "when"} for knob in knobs)
    names = [knob["name"] for knob in knobs]
    assert names == sorted(names)
    assert call("knobs", names[0], "--json").document == [knobs[0]]


def test_a_knob_changes_the_engine(dense_model: Path) -> None:
    knob = next(
        knob["name"]
        for knob in call("knobs", "--json").document
        if knob["values"] == ["on", "off"] and knob["default"] == "on"
    )
    document = call("run", dense_model, "--route", f"{knob}=off", "--json")
    assert document.code == 0, document.err


def test_doctor(folder: Path, dense_engine: Path) -> None:
    document = call("doctor", dense_engine, "--json").document
    assert document["devices"][0]["kind"] == "cpu" and document["devices"][0]["cpus"] >= 1
    assert document["engine"]["fits"] and document["engine"]["changes"] == []
    broken = folder / "broken.strop"
    broken.write_bytes(dense_engine.read_bytes()[:-1])
    other = call("doctor", broken, "--json")
    assert other.code == 1 and not other.document["engine"]["fits"] and other.document["engine"]["reason"]


def test_bench(dense_engine: Path) -> None:
    document = call("bench", dense_engine, "--seconds", "0.1", "--per-step", "--json").document
    assert {"latency_ms", "throughput_per_s", "samples", "streams", "device", "plan_digest", "steps"} <= set(document)
    latency = document["latency_ms"]
    assert latency["min"] <= latency["ci95"][0] <= latency["median"] <= latency["ci95"][1] <= latency["max"]
    assert latency["median"] <= latency["p90"] <= latency["p99"]
    assert [step["index"] for step in document["steps"]] == list(range(len(document["steps"])))


def test_bench_streams_and_comparison(dense_engine: Path, dense_model: Path) -> None:
    assert call("bench", dense_engine, "--seconds", "0.1", "--streams", "2", "--json").document["streams"] == 2
    document = call("bench", dense_engine, "--vs", dense_model, "--seconds", "0.1", "--json").document
    low, high = document["ratio"]["ci95"]
    assert low <= document["ratio"]["median"] <= high
    assert document["a"]["samples"] == document["b"]["samples"]


def test_conformance(folder: Path) -> None:
    root = folder / "cases"
    _case(root / "good", np.float32(0))
    _case(root / "wrong", np.float32(1))
    ended = call("conformance", root, "--json")
    assert ended.code == 1
    assert [(case["name"], case["result"]) for case in ended.document["cases"]] == [
        ("good", "passed"),
        ("wrong", "failed"),
    ]
    assert ended.document["passed"] == ended.document["failed"] == 1
    assert "output 'y'" in ended.document["cases"][1]["reason"]
    assert call("conformance", root, "--filter", "good", "--json").code == 0


def _case(path: Path, off: np.float32) -> None:
    data = path / "test_data_set_0"
    data.mkdir(parents=True)
    x = np.array([-1, 2], np.float32)
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Abs", ["x"], ["y"])], "g", [info("x", 1, [2])], [info("y", 1, [2])]
    )
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8),
        path / "model.onnx",
    )
    (data / "input_0.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(np.abs(x) + off).SerializeToString())


def test_text_for_people(folder: Path, dense_engine: Path, dense_model: Path) -> None:
    for arguments in (
        ["inspect", dense_engine],
        ["inspect", dense_model],
        ["knobs"],
        ["doctor", dense_engine],
        ["run", dense_engine],
        ["verify", dense_engine, "--model", dense_model],
        ["bench", dense_engine, "--seconds", "0.05", "--per-step"],
    ):
        ended = call(*arguments)
        assert ended.code == 0 and ended.out, (arguments, ended.err)
        assert "\r" not in ended.err and "\033" not in ended.err


def test_interrupt_ends_a_long_run(dense_engine: Path) -> None:
    process = subprocess.Popen(
        [str(STROP), "bench", str(dense_engine), "--seconds", "60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 3
    assert "cancelled" in err


def test_json_errors_are_one_document(folder: Path) -> None:
    ended = call("run", folder / "nothing.strop", "--json")
    assert ended.code == 2
    assert json.loads(ended.out)["error"]["code"] == "not_found"


def test_io_changes_types_at_the_border(folder: Path, dense_model: Path) -> None:
    engine, out = folder / "io.strop", folder / "io_out"
    assert call("build", dense_model, "-o", engine, "--device", "cpu", "--io", "x:fp16,y:f64").code == 0
    document = call("inspect", engine, "--json").document
    assert document["io"] == {"x": "f16", "y": "f64"}
    assert [document[side][0]["dtype"] for side in ("inputs", "outputs")] == ["f16", "f64"]
    x = np.array([[0.5, -1, 2, 0.25]], np.float16)
    np.save(folder / "half.npy", x)
    assert call("run", engine, "--input", f"x={folder / 'half.npy'}", "--output-dir", out).code == 0
    y = np.load(out / "y.npy")
    assert y.dtype == np.float64
    np.testing.assert_allclose(y, dense(x.astype(np.float32)), rtol=1e-6)
    assert call("verify", engine, "--model", dense_model).code == 0
