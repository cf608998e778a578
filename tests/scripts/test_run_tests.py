"""The test driver counts what CTest and pytest report, and keeps the reasons of what was skipped."""

from pathlib import Path

import pytest

import run_tests

CTEST_REPORT = """<testsuite name="(empty)" tests="5">
<testcase name="m.A.Passes" status="run"><system-out>[       OK ] A.Passes (0 ms)</system-out></testcase>
<testcase name="m.A.Fails" status="fail"><failure message=""/><system-out>x: Failure</system-out></testcase>
<testcase name="m.A.Skips" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>[ RUN      ] A.Skips
/strop/t.cpp:4: Skipped
no CUDA device here
[  SKIPPED ] A.Skips (0 ms)
</system-out></testcase>
<testcase name="m.A.Off" status="disabled"><system-out>Disabled</system-out></testcase>
<testcase name="bad" status="fail"><failure message=""/><system-out></system-out></testcase>
</testsuite>"""

PYTEST_REPORT = """<testsuites><testsuite>
<testcase name="test_a" time="0.1"/>
<testcase name="test_b"><failure message="no">no</failure></testcase>
<testcase name="test_c"><error message="no">no</error></testcase>
<testcase name="test_d"><skipped message="no network here">x</skipped></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def stage_of(tmp_path: Path):
    def read(report: str) -> run_tests.Stage:
        path = tmp_path / "report.xml"
        path.write_text(report)
        stage = run_tests.Stage("stage")
        stage.add_junit(path)
        return stage

    return read


def test_ctest_report(stage_of) -> None:
    stage = stage_of(CTEST_REPORT)
    assert (stage.passed, stage.failed) == (1, 2)
    assert stage.skipped == {"m.A.Skips": "no CUDA device here", "m.A.Off": "disabled"}


def test_pytest_report(stage_of) -> None:
    stage = stage_of(PYTEST_REPORT)
    assert (stage.passed, stage.failed) == (1, 2)
    assert stage.skipped == {"test_d": "no network here"}


def test_summary_ends_with_the_counts(capsys: pytest.CaptureFixture) -> None:
    code = run_tests.summarise([run_tests.Stage("a", passed=3, skipped={"x": "why"}), run_tests.Stage("b", passed=2)])
    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert "skipped: a: x: why" in lines
    assert lines[-1] == "5 passed, 0 failed, 1 skipped"


@pytest.mark.parametrize(
    "bad",
    [
        run_tests.Stage("failed", passed=1, failed=1),
        run_tests.Stage("ran nothing"),
        run_tests.Stage("crashed", passed=1, exit_code=8),
    ],
    ids=lambda stage: stage.name,
)
def test_summary_fails(bad: run_tests.Stage) -> None:
    assert run_tests.summarise([run_tests.Stage("good", passed=1), bad]) == 1
