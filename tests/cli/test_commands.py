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
from onnx import TensorProto, helper, numpy_helper
from tiny import BIAS, WEIGHT, call, dense, save

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


def test_where_no_shape_is_given_it_is_the_optimum(folder: Path, dense_model: Path) -> None:
    engine = folder / "profile.strop"
    ranges = ["--min-shapes", "x:2x4", "--opt-shapes", "x:5x4", "--max-shapes", "x:8x4"]
    assert call("build", dense_model, "-o", engine, "--device", "cpu", *ranges).code == 0
    for subject, options in ((engine, []), (dense_model, ranges)):
        ended = call("run", subject, *options, "--json")
        assert ended.code == 0, ended.err
        assert "f32 [5, 4], seed 0 (the optimum it was built for; --shapes sets others)" in ended.err
        assert ended.document["outputs"][0]["shape"] == [5, 3]
        assert call("bench", subject, *options, "--seconds", "0.05").code == 0
    verified = call("verify", engine, "--model", dense_model, "--json")
    assert verified.code == 0 and verified.document["outputs"][0]["shape"] == [5, 3]
    document = call("inspect", engine, "--json").document
    assert document["profiles"] == [{"x": {"min": [2, 4], "opt": [5, 4], "max": [8, 4]}}]
    assert document["arena_bytes"] is not None
    outside = call("run", engine, "--shapes", "x:9x4")
    assert outside.code == 2 and "dimension 'batch' is 9, outside the engine's profile 2..8" in outside.err


def test_without_an_optimum_it_is_the_largest(folder: Path, dense_model: Path) -> None:
    ended = call("run", dense_model, "--min-shapes", "x:2x4", "--max-shapes", "x:8x4", "--json")
    assert ended.code == 0 and ended.document["outputs"][0]["shape"] == [8, 3], ended.err


def test_a_guess_that_does_not_do_says_how_to_give_shapes(folder: Path) -> None:
    value = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)  # noqa: E731
    model = save(
        folder / "conv.onnx",
        [helper.make_node("Conv", ["x", "w"], ["y"], "cv")],
        [value("x", ["b", 3, "h", "w"])],
        [value("y", ["b", 2, "i", "j"])],
        (("w", np.ones((2, 3, 3, 3), np.float32)),),
    )
    for io in ([], ["--io", "x:u8:nhwc,y:fp16:nhwc"]):
        ended = call("run", model, *io)
        assert ended.code == 2 and "; open dimensions were guessed, --shapes sets them" in ended.err
        assert "the result of node 'cv' would have shape [1, -1, -1, 2]" in ended.err
    engine = folder / "conv.strop"
    ranges = ["--min-shapes", "x:1x8x8x3", "--opt-shapes", "x:2x9x10x3", "--max-shapes", "x:4x16x16x3"]
    assert call("build", model, "-o", engine, "--device", "cpu", "--io", "x:u8:nhwc,y:fp16:nhwc", *ranges).code == 0
    ended = call("run", engine, "--json")
    assert ended.code == 0 and ended.document["outputs"][0]["shape"] == [2, 7, 8, 2], ended.err


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


def test_a_pb_may_keep_its_data_in_a_file_beside_it(folder: Path, dense_engine: Path) -> None:
    x = np.random.default_rng(1).standard_normal((2, 4)).astype(np.float32)
    tensor = numpy_helper.from_array(x)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="beside.bin")
    (folder / "outside.pb").write_bytes(tensor.SerializeToString())
    out = folder / "outside"
    missing = call("run", dense_engine, "--input", f"x={folder / 'outside.pb'}")
    assert missing.code == 2 and "outside.pb' is external data in 'beside.bin': No such file" in missing.err
    (folder / "beside.bin").write_bytes(x.tobytes())
    ended = call("run", dense_engine, "--input", f"x={folder / 'outside.pb'}", "--output-dir", out)
    assert ended.code == 0, ended.err
    np.testing.assert_allclose(np.load(out / "y.npy"), dense(x), rtol=1e-5, atol=1e-6)


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


# Twelve outputs of magnitude 1, off by so much in one place → which metrics pass with their own limits.
@pytest.mark.parametrize(
    ("off", "passing"),
    [
        (0, {"l0", "l1", "l2", "linf", "rel_l2", "cos"}),
        (3e-5, {"l1", "l2", "linf", "rel_l2", "cos"}),
        (9e-4, {"l1", "l2", "linf"}),
        (2e-3, {"l2"}),
        (2e-2, set()),
    ],
)
def test_each_metric_has_its_own_limit(off: float, passing: set[str], folder: Path, dense_engine: Path) -> None:
    place = folder / f"metrics_{off}"
    for kind in ("inputs", "references"):
        (place / kind).mkdir(parents=True)
    x = np.random.default_rng(5).standard_normal((4, 4)).astype(np.float32)
    y = dense(x)
    np.savez(place / "inputs" / "0.npz", x=x)
    ended = call("run", dense_engine, "--inputs", place / "inputs", "--output-dir", place / "out")
    assert ended.code == 0, ended.err
    reference = np.load(place / "out" / "y.npy")
    np.testing.assert_allclose(reference, y, rtol=1e-5, atol=1e-6)
    reference.flat[np.argmax(reference)] += np.float32(off)
    np.savez(place / "references" / "0.npz", y=reference)
    pairs = ["--inputs", place / "inputs", "--references", place / "references"]
    found = {}
    for metric in ("l0", "l1", "l2", "linf", "rel_l2", "cos"):
        ended = call("verify", dense_engine, *pairs, "--metric", metric, "--json")
        assert ended.code == (0 if ended.document["pass"] else 1)
        found[metric] = ended.document
    assert {metric for metric, document in found.items() if document["pass"]} == passing
    limits = {"l0": 0, "l1": 1e-4, "l2": 1e-2, "linf": 1e-3, "rel_l2": 1e-4, "cos": 0.999999995}
    assert {metric: document["limit"] for metric, document in found.items()} == limits


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


def _interrupted(*arguments: object, after_s: float = 1.5) -> tuple[int, str, str]:
    """Runs the command, sends SIGINT after a while, and returns how it ended."""
    command = [str(STROP), *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.mark.parametrize("more", [[], ["--streams", "2"], ["--per-step"], ["--vs"]])
def test_an_interrupted_bench_says_what_it_measured(more: list[str], dense_engine: Path) -> None:
    more = [*more, str(dense_engine)] if more == ["--vs"] else more
    code, out, err = _interrupted("bench", dense_engine, "--seconds", "8", "--json", *more, after_s=3)
    assert code == 3 and "interrupted: the figures are of what was measured until then" in err
    document = json.loads(out)
    assert document["interrupted"]
    for part in [document["a"], document["b"]] if "a" in document else [document]:
        assert part["samples"] > 100 and part["latency_ms"]["median"] > 0
        assert part["samples"] / part["throughput_per_s"] < 7
    code, out, _ = _interrupted("bench", dense_engine, "--seconds", "8", *more, after_s=3)
    assert code == 3 and "samples" in out


def test_a_bench_that_has_measured_nothing_says_so(dense_engine: Path) -> None:
    code, out, err = _interrupted("bench", dense_engine, "--seconds", "600")
    assert code == 3 and out == "" and "interrupted before anything was measured" in err


def test_an_interrupted_conformance_counts_what_it_did(folder: Path) -> None:
    root = folder / "many"
    for i in range(3000):
        _case(root / f"case_{i}", np.float32(i % 3 == 0))
    code, out, err = _interrupted("conformance", root, "--json", after_s=0.7)
    document = json.loads(out)
    assert code == 3 and document["interrupted"], err
    assert 0 < len(document["cases"]) < 3000
    assert document["passed"] + document["failed"] == len(document["cases"])
    assert all(case["result"] == "passed" or "output 'y'" in case["reason"] for case in document["cases"])


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
