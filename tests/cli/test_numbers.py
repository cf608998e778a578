"""Every option that is a number: what is none, or makes no sense, is refused by the option's name."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny import call

NO_NUMBERS = ["nan", "inf", "-1", "1x", "", " 1", "0x1", "99999999999999999999999"]
# Command → option → values that are refused besides the above, and the message's end.
OPTIONS = [
    ("bench", "--seconds", ["0", "1e9"], "write a number from 0.01 to 86400"),
    ("bench", "--streams", ["0", "1025", "1.5"], "write a whole number from 1 to 1024"),
    ("bench", "--threads", ["1025"], "write a whole number from 0 to 1024"),
    ("bench", "--effort", ["6", "2.5"], "write a whole number from 0 to 5"),
    ("run", "--seed", ["18446744073709551616", "1.5"], "write a whole number from 0"),
    ("run", "--memory-limit", ["4XB", "GiB", "9007199254740993TiB", "1.5GiB"], "write a number of bytes"),
    ("verify", "--limit", ["1e999"], "write a number from 0"),
    ("verify", "--seed", [], "write a whole number from 0"),
    ("conformance", "--rtol", [], "write a number from 0"),
    ("conformance", "--atol", [], "write a number from 0"),
]
CASES = [
    (command, option, value, message)
    for command, option, more, message in OPTIONS
    for value in [
        *(v for v in NO_NUMBERS if not (option in ("--limit", "--rtol", "--atol") and v.startswith("9"))),
        *more,
    ]
]


@pytest.mark.parametrize(("command", "option", "value", "message"), CASES)
def test_no_number(
    command: str, option: str, value: str, message: str, folder: Path, dense_engine: Path, dense_model: Path
) -> None:
    subject = {"conformance": folder, "verify": dense_engine}.get(command, dense_model)
    more = ["--model", dense_model] if command == "verify" else []
    ended = call(command, subject, *more, f"{option}={value}")
    assert ended.code == 2, ended.err
    assert option in ended.err
    if value:
        assert f"{option} {value}: {message}" in ended.err


@pytest.mark.parametrize(("metric", "limit"), [("cos", "1.5"), ("cos", "-2"), ("l0", "-1"), ("linf", "-1e-9")])
def test_limits_that_make_no_sense(metric: str, limit: str, dense_engine: Path, dense_model: Path) -> None:
    ended = call("verify", dense_engine, "--model", dense_model, "--metric", metric, f"--limit={limit}")
    assert ended.code == 2 and f"--limit {limit}: write a number from " in ended.err


@pytest.mark.parametrize(("text", "right"), [("4096MiB", True), ("1TB", True), ("8g", True), ("1kB", False)])
def test_memory_limits(text: str, right: bool, dense_model: Path) -> None:
    ended = call("run", dense_model, "--memory-limit", text)
    assert (ended.code == 0) is right, ended.err
