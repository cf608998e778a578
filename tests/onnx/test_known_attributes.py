"""The table of attributes that the importer knows, beside the standard's own definitions."""

from __future__ import annotations

import re
from collections import defaultdict

import onnx
import pytest

from strop_command import ROOT

TEXT = (ROOT / "src" / "onnx" / "known_attributes.cpp").read_text()
ROW = re.compile(r'^    \{((?:\s*"[^"]*")+),\s*((?:"[^"]*"\s*)+)\},$', re.MULTILINE)
NEWEST = 27


def _table() -> dict[str, dict[str, tuple[int, int]]]:
    """Operator → attribute → first and last version that has it."""
    table = {}
    for op_types, attributes in ROW.findall(TEXT):
        parsed = {}
        for word in "".join(re.findall(r'"([^"]*)"', attributes)).split():
            name, since, before = re.fullmatch(r"(\w+)(?:>=(\d+))?(?:<(\d+))?", word).groups()
            parsed[name] = (int(since or 1), int(before or NEWEST + 1) - 1)
        for op_type in "".join(re.findall(r'"([^"]*)"', op_types)).split():
            table[op_type] = parsed
    return table


def _standard() -> dict[str, dict[int, set[str]]]:
    """Operator → version → attributes."""
    versions: dict[str, dict[int, set[str]]] = defaultdict(dict)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            versions[schema.name][schema.since_version] = set(schema.attributes)
    return versions


def test_the_table_is_read() -> None:
    assert len(_table()) > 190


@pytest.mark.parametrize("op_type", sorted(_table()))
def test_as_the_standard_has_them(op_type: str) -> None:
    known, standard = _table()[op_type], _standard()[op_type]
    for opset in range(min(standard), NEWEST + 1):
        wanted = standard[max(version for version in standard if version <= opset)]
        assert {name for name, (since, until) in known.items() if since <= opset <= until} == wanted, opset
