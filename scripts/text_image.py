"""Pictures of printed text, for models that read: a bitmap alphabet of 5×7 dots, enlarged and softened."""

from __future__ import annotations

import numpy as np

# Seven rows of five dots a letter; a digit holds one row's dots, in base 32 (0-9, A-V).
_ROWS = {
    "A": "EHHVHHH",
    "B": "UHHUHHU",
    "C": "EHGGGHE",
    "D": "SIHHHIS",
    "E": "VGGUGGV",
    "F": "VGGUGGG",
    "G": "EHGNHHF",
    "H": "HHHVHHH",
    "I": "E44444E",
    "J": "72222IC",
    "K": "HIKOKIH",
    "L": "GGGGGGV",
    "M": "HRLLHHH",
    "N": "HHPLJHH",
    "O": "EHHHHHE",
    "P": "UHHUGGG",
    "Q": "EHHHLID",
    "R": "UHHUKIH",
    "S": "FGGE11U",
    "T": "V444444",
    "U": "HHHHHHE",
    "V": "HHHHHA4",
    "W": "HHHLLLA",
    "X": "HHA4AHH",
    "Y": "HHHA444",
    "Z": "V1248GV",
    " ": "0000000",
    "0": "EHJLPHE",
    "1": "4C4444E",
    "2": "EH1248V",
    "3": "V2421HE",
    "4": "26AIV22",
    "5": "VGU11HE",
    "6": "68GUHHE",
    "7": "V124888",
    "8": "EHHEHHE",
    "9": "EHHF12C",
    ".": "00000CC",
    "-": "000V000",
}


def text_dots(text: str) -> np.ndarray:
    """The line of text as dots: bool [7, 6·len − 1], one empty column between letters. Upper case, digits, '.', '-'."""
    letters = [[[int(row, 32) >> (4 - x) & 1 for x in range(5)] + [0] for row in _ROWS[c]] for c in text.upper()]
    return np.concatenate(np.array(letters, bool), axis=1)[:, :-1]


def text_line(text: str, height: int, width: int) -> np.ndarray:
    """Dark text on white, [height, width] in 0..1; the letters take 5/8 of the height and begin near the left edge."""
    return 1.0 - _placed(text_dots(text), height, width, scale=height * 5 // 56, top=height * 3 // 16, left=height // 6)


def text_page(rng: np.random.Generator, height: int, width: int) -> np.ndarray:
    """A page of seeded words, dark on light, [height, width] in 0..1: lines of differing size down the page."""
    page = np.zeros((height, width))
    alphabet = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"))
    top = height // 16
    while top + 14 < height:
        scale = int(rng.integers(1, 1 + max(1, min(height, width) // 100)))
        letters = max(2, (width * 3 // 4) // (6 * scale))
        line = "".join(rng.choice(alphabet, letters))
        if letters > 8:
            line = line[: letters // 2 - 1] + " " + line[letters // 2 :]
        page += _placed(text_dots(line), height, width, scale, top, int(rng.integers(2, width // 8)))
        top += 7 * scale + int(rng.integers(8, 24))
    return 0.95 - 0.85 * np.clip(page, 0, 1)


def _placed(dots: np.ndarray, height: int, width: int, scale: int, top: int, left: int) -> np.ndarray:
    """Ink in 0..1, [height, width]: the dots `scale` times larger at (top, left), soft edges, cut at the border."""
    ink = np.zeros((height, width))
    large = np.kron(dots, np.ones((scale, scale)))[: max(0, height - top), : max(0, width - left)]
    ink[top : top + large.shape[0], left : left + large.shape[1]] = large
    for axis in (0, 1):
        ink = (np.roll(ink, 1, axis) + 2 * ink + np.roll(ink, -1, axis)) / 4
    return ink


def normalised(picture: np.ndarray, count: int = 1) -> np.ndarray:
    """[count, 3, height, width], float32 in -1..1: what the OCR models take, from a picture [height, width] in 0..1."""
    return np.broadcast_to((picture * 2 - 1).astype(np.float32), (count, 3, *picture.shape)).copy()
