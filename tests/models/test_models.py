"""Every model of the list builds, runs, and agrees with ONNX Runtime and with the reference interpreter.

A model is built once as it is (dynamic dimensions stay open) and run at all its shapes; the arena is judged on an
engine whose shapes are fixed to the model's first case.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import strop_command
from catalogue import MODELS, Case, Model, rel_l2

ARENA_LIMIT = 1.10

every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
every_case = pytest.mark.parametrize(
    ("model", "case"),
    [pytest.param(model, case, id=f"{model.name}-{case.label}") for model in MODELS for case in model.cases],
)


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory):
    """Builds each model's engine when it is first asked for."""
    folder = tmp_path_factory.mktemp("engines")

    @functools.cache
    def engine_of(model: Model) -> Path:
        assert model.path.is_file(), f"{model.path} is missing: run `make models` first"
        path = folder / f"{model.name}.strop"
        strop_command.build(model.path, path)
        return path

    return engine_of


def onnxruntime_outputs(model: Model, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What ONNX Runtime answers, by output name."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model.path), options, providers=["CPUExecutionProvider"])
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, feeds)))


@every_case
def test_agrees_with_onnxruntime(model: Model, case: Case, engines, tmp_path: Path) -> None:
    feeds = case.feeds()
    got, wanted = strop_command.run(engines(model), feeds, tmp_path), onnxruntime_outputs(model, feeds)
    assert got.keys() == wanted.keys()
    for name in wanted:
        assert got[name].shape == wanted[name].shape and got[name].dtype == wanted[name].dtype, name
        assert np.isfinite(got[name]).all(), name
    distances = {name: rel_l2(got[name], wanted[name]) for name in wanted}
    assert max(distances.values()) <= model.rel_l2, distances


@every_model
def test_agrees_with_the_reference_interpreter(model: Model, engines, tmp_path: Path) -> None:
    report = strop_command.verify(engines(model), model.path, model.cases[0].feeds(), tmp_path, model.rel_l2)
    assert report["pass"], report["outputs"]
    assert report["pairs"] == 1
    assert {output["name"] for output in report["outputs"]} == _output_names(model)
    assert all(output["rel_l2"] <= model.rel_l2 for output in report["outputs"])


@every_model
def test_every_step_names_its_onnx_nodes(model: Model, engines) -> None:
    steps = strop_command.inspect(engines(model))["steps"]
    assert steps
    nameless = [step["name"] for step in steps if not step.get("onnx_nodes")]
    assert nameless == []


@every_model
def test_arena_is_near_the_lower_bound(model: Model, tmp_path: Path) -> None:
    engine = tmp_path / "fixed.strop"
    strop_command.build(model.path, engine, "--effort", 0, "--shapes", model.cases[0].shapes_argument())
    document = strop_command.inspect(engine)
    bound = document["arena_lower_bound_bytes"]
    assert bound > 0
    assert document["arena_bytes"] <= ARENA_LIMIT * bound, f"{document['arena_bytes'] / bound:.3f} × the lower bound"


def _output_names(model: Model) -> set[str]:
    return {output.name for output in onnx.load(model.path, load_external_data=False).graph.output}
