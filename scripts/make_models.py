"""Writes models with real structure and seeded random weights: speed and correctness where real weights do not matter.

Usage: make_models.py OUT_DIR [NAME ...]     (without names: all of them; scripts/models.py calls it)

One of them, minilm_trained, has the trained parameters of all_minilm_l6_v2.safetensors, which must be in OUT_DIR.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx

from modelgen import cnn, encoder, torch_style
from modelgen.light_cnn import make_light_cnn
from modelgen.quantized_cnn import quantize_cnn

LIGHT_DIR = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def _light(name: str) -> Callable[[], onnx.ModelProto]:
    return lambda: make_light_cnn(LIGHT_DIR / f"light_{name}.onnx", seed=7)


def _resnet50_qdq() -> onnx.ModelProto:
    model = _light("resnet50")()
    rng = np.random.default_rng(5)
    image = model.graph.input[0].name
    samples = [{image: rng.standard_normal((1, 3, 224, 224), dtype=np.float32)} for _ in range(3)]
    return quantize_cnn(model, samples)


# Name of the model, which is its file's stem, and how it is made.
RECIPES: dict[str, Callable[..., onnx.ModelProto]] = {
    "resnet50": _light("resnet50"),
    "vgg19": _light("vgg19"),
    "densenet121": _light("densenet121"),
    "inception_v2": _light("inception_v2"),
    "squeezenet": _light("squeezenet"),
    "shufflenet": _light("shufflenet"),
    "minilm": encoder.make_encoder,
    "minilm_dynamic_int8": encoder.make_dynamic_int8_encoder,
    "minilm_qdq_int8": encoder.make_static_int8_encoder,
    "resnet50_qdq_int8": _resnet50_qdq,
    "mobilenet_v2": cnn.make_mobilenet_v2,
    "unet": cnn.make_unet,
    "crnn": cnn.make_crnn,
    "vit": torch_style.make_vit,
    "gpt": torch_style.make_gpt,
    "minilm_trained": encoder.make_trained_encoder,
}

# The file, in the folder where models are written, that a recipe takes.
RECIPE_INPUTS = {"minilm_trained": "all_minilm_l6_v2.safetensors"}


def write_model(name: str, folder: Path) -> Path:
    """Makes one model and writes it to `folder`; the file appears only when it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    path, partial = folder / f"{name}.onnx", folder / f".{name}.partial"
    arguments = [folder / RECIPE_INPUTS[name]] if name in RECIPE_INPUTS else []
    onnx.save(RECIPES[name](*arguments), partial)
    partial.rename(path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out_dir", type=Path)
    parser.add_argument("names", nargs="*", choices=[*RECIPES, []], metavar="NAME", help=", ".join(RECIPES))
    arguments = parser.parse_args()
    for name in arguments.names or RECIPES:
        print(write_model(name, arguments.out_dir))


if __name__ == "__main__":
    main()
