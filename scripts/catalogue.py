"""The models that tests and benchmarks run: where they come from, at which shapes, and how exact they must be."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from text_image import normalised, text_line, text_page

ROOT = Path(__file__).resolve().parent.parent
MODEL_DIR = ROOT / ".cache" / "models"

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Input:
    """How one input is filled.

    `kind` is normal; uniform (-1..1); below (integers 0..limit-1); ones; zeros; constant (limit); page or line
    (pictures of printed text) or voice. On noise, models of text and speech answer numbers near 0, of which a relative
    error says nothing.
    """

    shape: Shape
    kind: str = "normal"
    dtype: str = "float32"
    limit: int = 0

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """The seeded array."""
        if self.kind == "below":
            drawn = rng.integers(0, self.limit, self.shape)
        elif self.kind == "uniform":
            drawn = rng.uniform(-1.0, 1.0, self.shape)
        elif self.kind == "page":
            drawn = normalised(text_page(rng, *self.shape[2:]), self.shape[0])
        elif self.kind == "line":
            drawn = normalised(text_line("STROP READS THIS", *self.shape[2:]), self.shape[0])
        elif self.kind == "voice":
            drawn = np.stack([_voice(rng.uniform(100, 200), self.shape[1]) for _ in range(self.shape[0])])
        elif self.kind == "normal":
            drawn = rng.standard_normal(self.shape)
        else:
            drawn = np.full(self.shape, {"ones": 1, "zeros": 0, "constant": self.limit}[self.kind])
        return np.asarray(drawn, self.dtype)


def _voice(pitch_hz: float, samples: int) -> np.ndarray:
    """A vowel at 16 kHz: harmonics under three formants, peak 0.3."""
    time_s = np.arange(samples) / 16000.0
    wave = np.zeros(samples)
    for harmonic in range(1, 30):
        hz = harmonic * pitch_hz
        loudness = 0.05 + sum(
            height * math.exp(-(((hz - centre) / width) ** 2))
            for centre, width, height in ((700, 150, 1.0), (1200, 200, 0.6), (2600, 300, 0.3))
        )
        wave += loudness * np.sin(2 * np.pi * hz * time_s + harmonic**2)
    return 0.3 * wave / np.abs(wave).max()


@dataclass(frozen=True)
class Case:
    """One set of input shapes. `timed` cases are in the speed table, under the name `row`."""

    inputs: dict[str, Input] = field(hash=False)
    row: str = ""

    @property
    def timed(self) -> bool:
        return bool(self.row)

    @property
    def label(self) -> str:
        """The inputs' shapes, short: 1x3x224x224."""
        return ",".join("x".join(map(str, i.shape)) or "scalar" for i in self.inputs.values())

    def feeds(self, seed: int = 1) -> dict[str, np.ndarray]:
        """Seeded inputs; the same seed gives the same arrays on every machine."""
        rng = np.random.default_rng([seed, zlib.crc32(self.label.encode())])
        return {name: spec.draw(rng) for name, spec in self.inputs.items()}

    def shapes_argument(self) -> str:
        """The value of --shapes that fixes this case."""
        return ",".join(f"{name}:{'x'.join(map(str, spec.shape))}" for name, spec in self.inputs.items() if spec.shape)


@dataclass(frozen=True)
class Model:
    """One model of the list; its file is MODEL_DIR/<name>.onnx."""

    name: str
    cases: tuple[Case, ...]
    dynamic: bool = False
    # Beyond this distance (relative L2, whole output) from ONNX Runtime the answer is wrong.
    rel_l2: float = 1e-4
    # Why another limit than 1e-4 holds.
    note: str = field(default="", compare=False)

    @property
    def path(self) -> Path:
        return MODEL_DIR / f"{self.name}.onnx"


def _image(*shape: int, name: str = "x", row: str = "", kind: str = "normal") -> Case:
    return Case({name: Input(shape, kind)}, row)


def _tokens(batch: int, length: int, row: str = "") -> Case:
    shape = (batch, length)
    return Case(
        {
            "input_ids": Input(shape, "below", "int64", 30522),
            "attention_mask": Input(shape, "ones", "int64"),
            "token_type_ids": Input(shape, "zeros", "int64"),
        },
        row,
    )


def _gpt(batch: int, length: int) -> Case:
    return Case(
        {
            "input_ids": Input((batch, length), "below", "int64", 4000),
            "attention_mask": Input((batch, length), "ones", "int64"),
        }
    )


def _silero(batch: int, samples: int, row: str = "") -> Case:
    return Case(
        {
            "input": Input((batch, samples), "voice"),
            "state": Input((2, batch, 128)),
            "sr": Input((), "constant", "int64", 16000),
        },
        row,
    )


_INT8_NOTE = (
    "a value near a rounding tie moves by one quantum when a sum before it is reordered, and the move spreads; "
    "ONNX Runtime's optimised and unoptimised runs differ by half of this limit"
)

MODELS: tuple[Model, ...] = (
    Model(
        "ppocr_det",
        (
            _image(1, 3, 640, 640, row="ppocr_det 640x640", kind="page"),
            _image(1, 3, 320, 480, kind="page"),
            _image(2, 3, 96, 64, kind="page"),
        ),
        dynamic=True,
    ),
    Model(
        "ppocr_rec",
        (
            _image(1, 3, 48, 320, row="ppocr_rec 48x320", kind="line"),
            _image(2, 3, 48, 400, kind="line"),
            _image(1, 3, 48, 500, kind="line"),
        ),
        dynamic=True,
    ),
    Model(
        "ppocr_cls",
        (_image(1, 3, 48, 192, row="ppocr_cls 48x192", kind="uniform"), _image(6, 3, 48, 192, kind="uniform")),
        dynamic=True,
    ),
    Model("silero_vad", (_silero(1, 512, row="silero_vad 512"), _silero(1, 576), _silero(4, 512)), dynamic=True),
    Model("minilm", (_tokens(1, 128, row="minilm 128"), _tokens(1, 16, row="minilm 16"), _tokens(3, 37)), dynamic=True),
    Model("resnet50", (_image(1, 3, 224, 224, name="gpu_0/data_0", row="resnet50"),)),
    Model("vgg19", (_image(1, 3, 224, 224, name="data_0", row="vgg19"),)),
    Model("densenet121", (_image(1, 3, 224, 224, name="data_0", row="densenet121"),)),
    Model("inception_v2", (_image(1, 3, 224, 224, name="data_0", row="inception_v2"),)),
    Model("squeezenet", (_image(1, 3, 224, 224, name="data_0", row="squeezenet"),)),
    Model("shufflenet", (_image(1, 3, 224, 224, name="gpu_0/data_0", row="shufflenet"),)),
    Model("minilm_dynamic_int8", (_tokens(1, 128), _tokens(2, 16)), dynamic=True, rel_l2=4e-2, note=_INT8_NOTE),
    Model("minilm_qdq_int8", (_tokens(1, 128), _tokens(2, 16)), dynamic=True, rel_l2=4e-2, note=_INT8_NOTE),
    Model("resnet50_qdq_int8", (_image(1, 3, 224, 224, name="gpu_0/data_0"),), rel_l2=3e-2, note=_INT8_NOTE),
    Model("mobilenet_v2", (_image(1, 3, 224, 224), _image(4, 3, 224, 224)), dynamic=True),
    Model("unet", (_image(1, 3, 64, 96, name="image"), _image(2, 3, 128, 128, name="image")), dynamic=True),
    Model("crnn", (_image(1, 1, 32, 100, name="line"), _image(3, 1, 32, 64, name="line")), dynamic=True),
    Model("vit", (_image(1, 3, 224, 224, name="image"), _image(3, 3, 224, 224, name="image")), dynamic=True),
    Model("gpt", (_gpt(1, 64), _gpt(2, 17)), dynamic=True),
    Model("minilm_trained", (_tokens(1, 24), _tokens(2, 100)), dynamic=True),
    Model("silero_vad_if", (_silero(1, 512), _silero(2, 576)), dynamic=True),
    Model(
        "magika",
        (
            Case({"bytes": Input((1, 2048), "below", "int32", 257)}),
            Case({"bytes": Input((5, 2048), "below", "int32", 257)}),
        ),
        dynamic=True,
    ),
)


def by_name(name: str) -> Model:
    """The model called `name`; KeyError if there is none."""
    return {model.name: model for model in MODELS}[name]


def rel_l2(got: np.ndarray, wanted: np.ndarray) -> float:
    """‖got − wanted‖₂ / ‖wanted‖₂ in double; infinite if the shapes differ or one has NaN where the other has not."""
    if got.shape != wanted.shape:
        return float("inf")
    a, b = got.astype(np.float64).ravel(), wanted.astype(np.float64).ravel()
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return float("inf")
    a, b = np.nan_to_num(a), np.nan_to_num(b)
    return float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30))
