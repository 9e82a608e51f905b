"""The way in and out: errors become words and exit codes, bugs become one line and a file."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from pyscheduler.cli import faults
from pyscheduler.cli.faults import Refused, Unreachable, WrongUsage, exit_code_of, lines_of
from pyscheduler.cli.main import main
from pyscheduler.errors import ConfigError, Conflict, PyschedError, StoreDamaged
from pyscheduler.model.problem import Problem, Severity
from tests.unit.cli.prompt import Prompt


def _bug(_query: object) -> object:
    nothing: dict[str, object] = {}
    return nothing["missing"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Refused("no"), 1),
        (Unreachable("gone"), 1),
        (WrongUsage("what"), 2),
        (ConfigError([Problem("f", 1, 1, "wrong")]), 2),
        (StoreDamaged("broken"), 1),
        (Conflict("busy"), 1),
    ],
)
def test_every_error_has_its_exit_code(error: PyschedError, code: int) -> None:
    """1 refused, unreachable or failed; 2 usage and configuration."""
    assert exit_code_of(error) == code


def test_an_error_says_where_what_and_how_to_mend_it() -> None:
    """Parts that are empty are left out."""
    assert list(lines_of(StoreDamaged("it is damaged", where="/x", mend="restore"))) == [
        "error: /x: it is damaged",
        "  mend: restore",
    ]
    assert list(lines_of(Conflict("busy"))) == ["error: busy"]


def test_a_configurations_problems_are_all_told() -> None:
    """Warnings as warnings."""
    problems = [Problem("f.yaml", 3, 5, "wrong", "right"), Problem("f.yaml", 9, 0, "odd", severity=Severity.WARNING)]
    assert list(lines_of(ConfigError(problems))) == ["error: f.yaml:3:5: wrong; right", "warning: f.yaml:9: odd"]


def test_a_bug_is_one_line_and_a_file(pysched: Prompt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never a traceback on an operator's screen; what was typed after the command is not written down."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pysched.scheduler.replies["GET /api/scheduler"] = _bug
    said = pysched("status", "--date", "2027-05-20")
    assert (said.code, said.out) == (1, "")
    (line,) = said.err.splitlines()
    assert line.startswith("bug: KeyError: 'missing'; please report it with ")
    text = Path(line.rpartition(" with ")[2]).read_text()
    assert "Traceback" in text
    assert "command: status\n" in text
    assert "2027-05-20" not in text.partition("Traceback")[0]


def test_a_bug_where_nothing_can_be_written_is_told_whole(
    pysched: Prompt, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Better on the screen than nowhere."""

    def full(**_more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkstemp", full)
    pysched.scheduler.replies["GET /api/scheduler"] = _bug
    said = pysched("status")
    assert said.code == 1
    assert "Traceback" in said.err


def test_ctrl_c_is_130(pysched: Prompt) -> None:
    """Whatever was under way."""

    def interrupted(_query: object) -> None:
        raise KeyboardInterrupt

    pysched.scheduler.replies["GET /api/scheduler"] = interrupted
    assert pysched("status").code == 130


def test_an_encoding_that_cannot_hold_a_text_does_not_stop_it(pysched: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """Field case FC-048: LANG=C prints without a traceback, by escapes."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    pysched.config.write_text('jobs: {one: {command: "true", schedule: manual, description: "é"}}')
    assert main(["-c", str(pysched.config), "validate"]) == 0
    out.write("naïve \udcff")
    out.flush()
    assert out.buffer.getvalue().endswith(b"na\\xefve \\udcff")


def test_numbers_and_nouns_agree() -> None:
    """`1 job`, `2 jobs`, `0 jobs`."""
    assert [faults.counted(number, "job") for number in (0, 1, 2)] == ["0 jobs", "1 job", "2 jobs"]
