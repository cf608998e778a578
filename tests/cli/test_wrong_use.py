"""Wrong use: the exit code, the message, and nothing left behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from tiny import call, save

# Arguments → what stderr says. {m}: model, {n}: model with two inputs, {e}: engine, {f}: folder.
CASES = {
    "no such command": (
        ["bulid", "{m}"],
        "there is no command 'bulid'; did you mean 'build'? (strop --help lists them)",
    ),
    "no such option": (
        ["build", "{m}", "-o", "{f}/o", "--shape", "x:1x4"],
        "build has no option --shape; did you mean '--shapes'? (strop build --help lists them)",
    ),
    "no model": (["build", "-o", "{f}/o"], "MODEL is required"),
    "no output": (["build", "{m}"], "--output is required"),
    "missing file": (["build", "{f}/none.onnx", "-o", "{f}/o"], "none.onnx"),
    "not a model": (["build", "{f}/junk", "-o", "{f}/o"], "junk"),
    "no folder for the engine": (["build", "{m}", "-o", "{f}/none/o"], "there is no folder"),
    "bad device": (["build", "{m}", "-o", "{f}/o", "--device", "tpu"], "--device tpu: write cpu, cuda or cuda:N"),
    "bad precision": (
        ["build", "{m}", "-o", "{f}/o", "--precision", "fp7"],
        "--precision fp7: write fp32, tf32, fp16, bf16, int8, fp8 or mixed",
    ),
    "precision not there": (["build", "{m}", "-o", "{f}/o", "--precision", "fp16"], "only precision fp32"),
    "shape without name": (["build", "{m}", "-o", "{f}/o", "--shapes", "1x4"], "--shapes 1x4: write NAME:1x3x224x224"),
    "shape without numbers": (
        ["build", "{m}", "-o", "{f}/o", "--shapes", "x:1xa"],
        "--shapes x:1xa: 'a' is not a dimension",
    ),
    "shape of no input": (["build", "{m}", "-o", "{f}/o", "--shapes", "z:1x4"], "z"),
    "shape against the model": (["build", "{m}", "-o", "{f}/o", "--shapes", "x:1x5"], "x"),
    "shape twice": (["build", "{m}", "-o", "{f}/o", "--shapes", "x:1x4,x:2x4"], "--shapes gives 'x' twice"),
    "half a range": (
        ["build", "{m}", "-o", "{f}/o", "--min-shapes", "x:1x4"],
        "input 'x' needs both --min-shapes and --max-shapes",
    ),
    "no such knob": (["build", "{m}", "-o", "{f}/o", "--route", "passes.nothing=on"], "passes.nothing"),
    "no such intermediate": (["build", "{m}", "-o", "{f}/o", "--outputs", "nope"], "nope"),
    "io of no port": (["build", "{m}", "-o", "{f}/o", "--io", "z:fp16"], "io: there is no input or output 'z'"),
    "io without a format": (["build", "{m}", "-o", "{f}/o", "--io", "x"], "--io x: write NAME:fp16, NAME:nhwc or"),
    "io of no type": (["build", "{m}", "-o", "{f}/o", "--io", "x:fp7"], "--io x:fp7: write NAME:fp16, NAME:nhwc or"),
    "io twice": (["build", "{m}", "-o", "{f}/o", "--io", "x:fp16,x:bf16"], "--io gives 'x' twice"),
    "io of another rank": (
        ["build", "{m}", "-o", "{f}/o", "--io", "x:fp16:nhwc"],
        "io 'x': layout nhwc is for 4 dimensions, and it is f32[batch, 4]",
    ),
    "io without conversion": (
        ["build", "{m}", "-o", "{f}/o", "--io", "x:c64"],
        "io 'x': there is no conversion between f32 and c64",
    ),
    "io for an engine": (["run", "{e}", "--io", "x:fp16"], "is an engine: leave out --io, which only building a model"),
    "defaults for an engine": (
        ["run", "{e}", "--effort", "3", "--device", "cpu"],
        "leave out --device, --effort, which",
    ),
    "optimum outside its range": (
        ["build", "{m}", "-o", "{f}/o", "--min-shapes", "x:2x4", "--opt-shapes", "x:1x4", "--max-shapes", "x:3x4"],
        "input 'x': dimension 0 has optimum 1, outside 2..3",
    ),
    "optimum of another rank": (
        ["build", "{m}", "-o", "{f}/o", "--min-shapes", "x:2x4", "--opt-shapes", "x:2", "--max-shapes", "x:3x4"],
        "input 'x': the optimum shape has 1 dimensions and the maximum 2",
    ),
    "empty engine": (["run", "{f}/nothing"], "nothing' is empty: neither an engine nor a model"),
    "empty engine to verify": (["verify", "{f}/nothing", "--model", "{m}"], "nothing' is empty"),
    "empty engine to look at": (["doctor", "{f}/nothing"], "nothing' is empty"),
    "empty model": (["build", "{f}/nothing", "-o", "{f}/o"], "nothing' is empty"),
    "empty tensor": (["run", "{e}", "--input", "x={f}/nothing"], "nothing' is an empty file, not a tensor"),
    "engine to build": (["build", "{e}", "-o", "{f}/o"], "is an engine: there is nothing to build"),
    "no engine to look at": (["doctor", "{f}/none.strop"], "cannot read '{f}/none.strop': No such file"),
    "model to look at": (["doctor", "{m}"], "is not an engine: strop build makes them"),
    "size beyond 64 bits": (
        ["run", "{e}", "--shapes", "x:9223372036854775807x4"],
        "'x': [9223372036854775807, 4] is no",
    ),
    "attribute that is not known": (
        ["build", "{f}/unknown_attribute.onnx", "-o", "{f}/o"],
        "node 'r' (LeakyRelu): attribute 'alhpa' is not known; did you mean 'alpha'?; it has alpha",
    ),
    "attribute of another version": (
        ["build", "{f}/old_attribute.onnx", "-o", "{f}/o"],
        "node 's' (Squeeze): attribute 'axes' belongs to opsets until 12, and the model's is 17",
    ),
    "effort out of range": (["build", "{m}", "-o", "{f}/o", "--effort", "9"], "9"),
    "not honoured yet": (["build", "{m}", "-o", "{f}/o", "--calibration=l"], "--calibration is not available yet"),
    "unsupported operator": (["build", "{u}", "-o", "{f}/o"], "node 'frob' (Frobnicate, domain 'org.example')"),
    "building options for an engine": (["run", "{e}", "--route", "a=b"], "is an engine"),
    "no such input": (["run", "{e}", "--input", "z={f}/x.npy"], "the engine has no 'z'"),
    "input without file": (["run", "{e}", "--input", "x"], "--input x: write NAME=FILE"),
    "input of another type": (
        ["run", "{e}", "--input", "x={f}/double.npy"],
        "'x' has type f32, a tensor of f64 was given",
    ),
    "input in Fortran order": (
        ["run", "{e}", "--input", "x={f}/fortran.npy"],
        "is in Fortran order; save numpy.ascontiguousarray(array)",
    ),
    "input cut short": (["run", "{e}", "--input", "x={f}/short.npy"], "short.npy' is not a valid .npy file"),
    "input of objects": (["run", "{e}", "--input", "x={f}/objects.npy"], "pickled Python objects"),
    "input of another format": (["run", "{e}", "--input", "x={f}/junk"], "junk' is not a tensor file"),
    "folder without sets": (["run", "{e}", "--inputs", "{f}/empty"], "holds no numbered sets"),
    "verify a model": (["verify", "{m}", "--model", "{m}"], "dense.onnx"),
    "verify against nothing": (["verify", "{e}"], "verify needs --model MODEL or --references DIR"),
    "verify another model": (["verify", "{e}", "--model", "{n}"], "x"),
    "no such metric": (
        ["verify", "{e}", "--model", "{m}", "--metric", "l7"],
        "--metric l7: write l0, l1, l2, linf, rel_l2 or cos",
    ),
    "no such knob to show": (["knobs", "nothing.at_all"], "there is no knob 'nothing.at_all'"),
    "no tests": (["conformance", "{f}/empty"], "holds no backend tests"),
    "damaged engine": (["run", "{f}/damaged.strop"], "damaged.strop"),
}


@pytest.fixture(scope="session")
def prepared(folder: Path, dense_engine: Path) -> Path:
    (folder / "junk").write_bytes(b"neither this nor that, but long enough")
    (folder / "empty").mkdir(exist_ok=True)
    (folder / "nothing").write_bytes(b"")
    info = helper.make_tensor_value_info
    ports = [info("x", 1, [1, 2])], [info("y", 1, None)]
    save(folder / "unknown_attribute.onnx", [helper.make_node("LeakyRelu", ["x"], ["y"], "r", alhpa=0.5)], *ports)
    save(folder / "old_attribute.onnx", [helper.make_node("Squeeze", ["x"], ["y"], "s", axes=[0])], *ports)
    np.save(folder / "x.npy", np.zeros((1, 4), np.float32))
    np.save(folder / "double.npy", np.zeros((1, 4)))
    np.save(folder / "fortran.npy", np.asfortranarray(np.zeros((3, 4), np.float32)))
    np.save(folder / "objects.npy", np.array([[None]], object), allow_pickle=True)
    (folder / "short.npy").write_bytes((folder / "x.npy").read_bytes()[:-1])
    damaged = bytearray(dense_engine.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (folder / "damaged.strop").write_bytes(damaged)
    return folder


@pytest.mark.parametrize("name", CASES)
def test_wrong_use(
    name: str, prepared: Path, dense_model: Path, named_model: Path, unsupported_model: Path, dense_engine: Path
) -> None:
    arguments, message = CASES[name]
    names = {"m": dense_model, "n": named_model, "u": unsupported_model, "e": dense_engine, "f": prepared}
    before = {path.name for path in prepared.iterdir()}
    ended = call(*(argument.format(**names) for argument in arguments))
    assert ended.code == 2, ended.err
    assert message.format(**names) in ended.err
    assert ended.err.count("error:") == 1 and ended.out == ""
    assert {path.name for path in prepared.iterdir()} == before


def test_a_device_that_is_not_there_is_the_environments_fault(folder: Path, dense_model: Path) -> None:
    ended = call("build", dense_model, "-o", folder / "o", "--device", "cuda")
    assert ended.code == 3
    assert "CUDA" in ended.err and not (folder / "o").exists()


def test_a_device_that_is_not_there_is_no_failed_case(folder: Path) -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    info = helper.make_tensor_value_info
    (folder / "one" / "relu").mkdir(parents=True)
    save(folder / "one" / "relu" / "model.onnx", [node], [info("x", 1, [2])], [info("y", 1, [2])])
    ended = call("conformance", folder / "one", "--device", "cuda")
    assert ended.code == 3 and ended.out == ""
    assert ended.err.count("CUDA") == 1


@pytest.mark.parametrize("command", ["tune", "bisect", "exec", "calibrate"])
def test_what_is_not_there_yet_is_no_typing_error(command: str) -> None:
    for arguments in ([command], [command, "--help"], [command, "m.onnx", "-o", "x", "--json"]):
        ended = call(*arguments)
        assert ended.code == 3 and f"strop {command} (" in ended.err and "is not there yet" in ended.err
    assert command in call("--help").out.split("Not there yet:")[1]


UNRANKED = onnx.ValueInfoProto(name="x", type=helper.make_tensor_type_proto(TensorProto.FLOAT, None))


@pytest.mark.parametrize(
    ("op", "weight", "attributes"),
    [("MatMul", [4, 3], {}), ("Conv", [2, 3, 3, 3], {"auto_pad": "SAME_UPPER"}), ("Conv", [2, 3, 3, 3], {})],
)
def test_an_input_without_rank_asks_for_shapes(folder: Path, op: str, weight: list[int], attributes: dict) -> None:
    node = helper.make_node(op, ["x", "w"], ["y"], "n", **attributes)
    output = onnx.ValueInfoProto(name="y", type=UNRANKED.type)
    model = save(folder / "unranked.onnx", [node], [UNRANKED], [output], (("w", np.ones(weight, np.float32)),))
    ended = call("run", model)
    assert ended.code == 2 and "--shapes x:" in ended.err
    fixed = "x:2x4" if op == "MatMul" else "x:1x3x5x5"
    assert call("run", model, "--shapes", fixed).code == 0


def test_outputs_that_are_not_as_declared_are_said(folder: Path) -> None:
    info = helper.make_tensor_value_info
    nodes = [helper.make_node("Relu", ["x"], ["y"], "r"), helper.make_node("Abs", ["x"], ["z"], "a")]
    model = save(
        folder / "declared.onnx", nodes, [info("x", 1, [2, 3])], [info("y", 1, ["n", 5]), info("z", 1, ["n", 3])]
    )
    ended = call("run", model, "--json")
    assert ended.code == 0 and [output["shape"] for output in ended.document["outputs"]] == [[2, 3], [2, 3]]
    assert "warning: " in ended.err and ended.err.count("is declared") == 1
    assert "output 'y' is declared with shape [n, 5], but is f32[2, 3]: the declaration is ignored" in ended.err


def test_shapes_that_contradict_the_model_name_the_node(folder: Path) -> None:
    nodes = [
        helper.make_node("Shape", ["z"], ["s"], "measure"),
        helper.make_node("Concat", ["s", "f"], ["t"], "join", axis=0),
        helper.make_node("Reshape", ["x", "t"], ["r"], "shape"),
        helper.make_node("Squeeze", ["r", "a"], ["y"], "squeeze"),
    ]
    info = helper.make_tensor_value_info
    model = save(
        folder / "contradiction.onnx",
        nodes,
        [info("x", 1, [2, 4]), info("z", 1, ["b"])],
        [info("y", 1, None)],
        (("a", np.array([0])), ("f", np.array([4]))),
    )
    ended = call("run", model)
    assert ended.code == 2 and "pass " not in ended.err
    assert "node 'shape'+'squeeze'" in ended.err and "[2, 4] has 8 elements" in ended.err


def test_nothing_typed_shows_help() -> None:
    ended = call()
    assert ended.code == 2 and "build" in ended.err


def test_help_and_version() -> None:
    assert call("--version").out.startswith("strop 0.")
    for command in ("build", "run", "bench", "verify", "inspect", "knobs", "conformance", "doctor"):
        ended = call(command, "--help")
        assert ended.code == 0 and "--json" in ended.out


def test_an_engine_that_was_there_survives_a_failed_build(
    folder: Path, dense_engine: Path, unsupported_model: Path
) -> None:
    before = dense_engine.read_bytes()
    assert call("build", unsupported_model, "-o", dense_engine).code == 2
    assert dense_engine.read_bytes() == before
    assert not [path for path in folder.iterdir() if path.name.startswith("dense.strop") and path != dense_engine]
