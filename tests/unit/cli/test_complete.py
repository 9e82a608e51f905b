"""Names for a shell to complete: bounded in time, and never an error in the middle of a prompt."""

from __future__ import annotations

import threading
from pathlib import Path

import click
import pytest

from pyscheduler.cli import complete
from pyscheduler.cli.faults import Unreachable
from pyscheduler.cli.group import pysched as group
from pyscheduler.cli.main import main
from pyscheduler.cli.session import Session
from pyscheduler.cli.states import ENDED, STANDING
from tests.unit.cli.prompt import FakeScheduler, a_run

TEXT = """
defaults: {schedule: manual}
jobs: {load: {command: "true", description: The load}, look: {command: "true"}}
"""


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody types here: a busy machine may need longer for the file than a second."""
    monkeypatch.setattr(complete, "FILE_S", 60.0)


@pytest.fixture
def scheduler() -> FakeScheduler:
    return FakeScheduler()


@pytest.fixture
def context(tmp_path: Path, scheduler: FakeScheduler) -> click.Context:
    (tmp_path / "pysched.yaml").write_text(TEXT)
    session = Session(environ={}, folder=tmp_path, connect=lambda _place, _timeout: scheduler)
    return click.Context(group, obj=session)


def names(context: click.Context, incomplete: str = "") -> list[str]:
    return [item.value for item in complete.job_names(context, click.Argument(["job"]), incomplete)]


def test_jobs_come_from_the_running_scheduler(context: click.Context, scheduler: FakeScheduler) -> None:
    """It knows what is in force."""
    scheduler.replies["GET /api/jobs"] = {"jobs": [{"name": "alpha", "schedules": ["cron x"]}, {"name": "beta"}]}
    assert names(context) == ["alpha", "beta"]
    assert names(context, "b") == ["beta"]


def test_without_a_scheduler_they_come_from_the_file(context: click.Context, scheduler: FakeScheduler) -> None:
    """Also where the file has errors elsewhere."""
    scheduler.replies["GET /api/jobs"] = Unreachable("no scheduler is running")
    assert names(context, "lo") == ["load", "look"]


def test_a_configuration_that_takes_too_long_is_not_waited_for(
    context: click.Context, scheduler: FakeScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody is typing."""
    scheduler.replies["GET /api/jobs"] = Unreachable("no scheduler is running")
    over = threading.Event()
    monkeypatch.setattr(complete, "FILE_S", 0.01)
    monkeypatch.setattr(complete, "_jobs_of_file", lambda _session: {"late": str(over.wait(5))})
    assert names(context) == []
    over.set()


def test_without_a_configuration_there_is_nothing(tmp_path: Path) -> None:
    """And no error either."""
    context = click.Context(group, obj=Session(environ={}, folder=tmp_path))
    assert names(context) == []
    assert complete.run_ids(context, click.Argument(["run"]), "") == []


def test_runs_come_from_the_scheduler_alone(context: click.Context, scheduler: FakeScheduler) -> None:
    """The newest that begin so; what is typed narrows the question."""
    scheduler.replies["GET /api/runs"] = {"runs": [a_run("load.2027-05-20.1"), a_run("look.2027-05-20.1")]}
    found = complete.run_ids(context, click.Argument(["run"]), "load")
    assert [item.value for item in found] == ["load.2027-05-20.1"]
    assert scheduler.asked == [("GET /api/runs", {"limit": 200, "q": "load"})]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("pysched va", ["validate"]),
        ("pysched hash", ["hash-token", "hash-password"]),
        ("pysched completion ", ["bash", "zsh", "fish"]),
        ("pysched next lo", ["load", "look"]),
        ("pysched why lo", ["load", "look"]),
        ("pysched runs --job lo", ["load", "look"]),
    ],
)
def test_a_shell_is_answered(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    expected: list[str],
) -> None:
    """The whole way: the variable that the script sets, the words, one candidate a line."""
    (tmp_path / "pysched.yaml").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("_PYSCHED_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    assert [line.partition(",")[2] for line in capsys.readouterr().out.splitlines()] == expected


def test_the_configuration_named_on_the_line_is_the_one_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`pysched -c other.yaml next <TAB>`."""
    other = tmp_path / "other.yaml"
    other.write_text('jobs: {only: {command: "true", schedule: manual}}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("_PYSCHED_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"pysched -c {other} next ")
    monkeypatch.setenv("COMP_CWORD", "4")
    with pytest.raises(SystemExit):
        main([])
    assert capsys.readouterr().out == "plain,only\n"


def test_runs_are_those_that_the_action_is_for(context: click.Context, scheduler: FakeScheduler) -> None:
    """Nobody holds what has ended."""
    scheduler.replies["GET /api/runs"] = {"runs": [a_run()]}
    for verb, states in (("hold", set(STANDING) - {"held"}), ("kill", {"running"}), ("rerun", set(ENDED))):
        command = group.get_command(context, verb)
        assert command is not None
        runs = next(each for each in command.params if isinstance(each, click.Argument))
        assert [item.value for item in runs.shell_complete(context, "load")] == ["load.2027-05-20.1"]
        assert set(scheduler.asked[-1][1]["state"]) == states
