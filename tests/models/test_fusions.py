"""Each fusion removes steps from real graphs, and none of them is needed for a right answer.

The counts are the contract of the passes on three kinds of graphs: a convolutional network with residuals, one with
depthwise convolutions, and a transformer. They are of engines at the shapes of each model's first case.
"""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from test_models import onnxruntime_outputs

import strop_command
from catalogue import MODELS, Model, rel_l2

# What a fusion is called below: the knobs that switch it off.
FUSIONS = {
    "batch_norm": ("passes.fold_affine", "passes.lower_batch_norm"),
    "epilogues": ("passes.fuse_epilogues",),
    "pointwise": ("passes.fuse_pointwise",),
    "attention": ("passes.match_attention",),
}

# Per model: ONNX nodes, steps with every pass switched off, steps by default, and steps without one fusion.
COUNTS: dict[str, dict[str, int]] = {
    "resnet50": {"nodes": 176, "plain": 176, "fused": 57, "batch_norm": 261, "epilogues": 106},
    "mobilenet_v2": {"nodes": 153, "plain": 152, "fused": 54, "batch_norm": 254, "epilogues": 100},
    "minilm": {"nodes": 219, "plain": 189, "fused": 59, "epilogues": 83, "pointwise": 90, "attention": 95},
}

BY_NAME = {model.name: model for model in MODELS}


def every_pass() -> list[str]:
    """The switches of all passes."""
    return [
        knob["name"]
        for knob in strop_command.must("knobs")
        if knob["name"].startswith("passes.") and knob["values"] == ["on", "off"]
    ]


def steps(model: Model, folder: Path, off: tuple[str, ...] | list[str]) -> int:
    """Steps of the engine that is built without these passes."""
    engine = folder / "counted.strop"
    route = ["--route", " ".join(f"{name}=off" for name in off)] if off else []
    built = strop_command.build(model.path, engine, "--effort", 0, "--shapes", model.cases[0].shapes_argument(), *route)
    return built["steps"]


@pytest.mark.parametrize("name", COUNTS)
def test_every_fusion_removes_steps(name: str, tmp_path: Path) -> None:
    model, wanted = BY_NAME[name], COUNTS[name]
    counted = {
        "nodes": len(onnx.load(model.path, load_external_data=False).graph.node),
        "plain": steps(model, tmp_path, every_pass()),
        "fused": steps(model, tmp_path, ()),
    }
    for fusion in FUSIONS.keys() & wanted.keys():
        counted[fusion] = steps(model, tmp_path, FUSIONS[fusion])
        assert counted[fusion] > counted["fused"], fusion
    assert counted == wanted


@pytest.mark.parametrize("model", [model for model in MODELS if model.name != "vgg19"], ids=lambda model: model.name)
def test_right_without_any_pass(model: Model, tmp_path: Path) -> None:
    engine, case = tmp_path / "plain.strop", model.cases[0]
    strop_command.build(model.path, engine, "--effort", 0, "--route", " ".join(f"{name}=off" for name in every_pass()))
    got = strop_command.run(engine, case.feeds(), tmp_path)
    wanted = onnxruntime_outputs(model, case.feeds())
    distances = {name: rel_l2(got[name], wanted[name]) for name in wanted}
    assert max(distances.values()) <= model.rel_l2, distances
