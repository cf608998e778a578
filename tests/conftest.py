"""Makes scripts/, bench/ and tests/ importable from the Python tests."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / folder) for folder in ("scripts", "bench", "tests")]
