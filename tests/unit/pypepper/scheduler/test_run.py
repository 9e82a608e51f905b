"""`python -m pypepper.scheduler.run`: what it finds, says and returns."""

from __future__ import annotations

import signal
import sys
from types import ModuleType
from typing import Any

import pytest

from pypepper.scheduler.job import CANCEL_EVENT_KEY
from pypepper.scheduler.run import Command, NoWorkflow, find, main
from pypepper.scheduler.workflow import Workflow
from tests.pipes import Flaky, returning, task, workflow


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module that can be imported as `nightly`."""
    made = ModuleType("nightly")
    monkeypatch.setitem(sys.modules, "nightly", made)
    return made


def test_a_workflow_is_found(module: Any) -> None:
    """By its name, inside a class, made by a function, or made by a class."""
    module.flow = workflow(returning())
    module.make = lambda: module.flow
    module.Holder = type("Holder", (), {"flow": module.flow})
    module.Mine = type("Mine", (Workflow,), {})
    assert find("nightly:flow") is find("nightly:make") is find("nightly:Holder.flow") is module.flow
    assert isinstance(find("nightly:Mine"), module.Mine)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nightly", "write module:workflow"),
        (":flow", "write module:workflow"),
        ("no_such_module:flow", "no module no_such_module"),
        ("nightly:other", "has no other"),
        ("nightly:number", "is a int"),
        ("nightly:empty", "is a NoneType"),
    ],
)
def test_what_is_not_found_is_said(module: Any, name: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and a text that says where the name ends."""
    module.number, module.empty = 7, lambda: None
    with pytest.raises(NoWorkflow, match=words):
        find(name)
    assert main([name]) == 2
    assert words in capsys.readouterr().err


def test_an_import_that_fails_inside_is_the_modules_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """It comes out as it is: the name was right."""
    (tmp_path / "broken_inside.py").write_text("import no_such_thing_inside\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_thing_inside"):
        find("broken_inside:flow")


def test_a_line_a_task(module: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Name, place, and how it went; exit code 0."""
    module.flow = workflow(task(returning(), name="read"), task(Flaky(9), name="guess", optional=True))
    assert main(["nightly:flow"]) == 0
    read, guess = capsys.readouterr().out.splitlines()
    assert read.startswith("[1/2] read: ok (")
    assert guess.startswith("[2/2] guess: failed: ValueError: failure 1 (")


def test_a_failed_task_ends_it(module: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1; the tasks behind it do not run."""
    ran: list[int] = []
    module.flow = workflow(task(Flaky(9), name="load"), lambda *_: ran.append(1))
    assert main(["nightly:flow"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == "failed: ValueError: failure 1"
    assert ran == []


def test_quiet_is_quiet_about_what_went_well(module: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Only failures are worth a line then."""
    module.flow = workflow(returning(), task(Flaky(9), name="guess", optional=True))
    assert main(["-q", "nightly:flow"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_asks_politely(number: signal.Signals, capsys: pytest.CaptureFixture[str]) -> None:
    """The event is set, the task ends, no further one is begun, and the code is the shell's; the next one is rude."""
    seen: list[bool] = []
    rude: list[Any] = []

    def work(_task: Any, context: Any) -> None:
        event = context.context[CANCEL_EVENT_KEY]
        seen.append(event.is_set())
        signal.raise_signal(number)
        seen.append(event.is_set())
        rude.append(signal.getsignal(number))

    before = signal.getsignal(number)
    assert Command(workflow(work, lambda *_: seen.append(True))).run() == 128 + number
    assert seen == [False, True]
    assert rude == [signal.SIG_DFL]
    assert signal.getsignal(number) is before
    assert capsys.readouterr().out.splitlines()[-1] == f"stopped by {number.name}"


def test_a_task_that_fails_after_a_signal_was_stopped() -> None:
    """An executor that raises because it was asked to stop has not failed by itself."""

    def work(_task: Any, _context: Any) -> None:
        signal.raise_signal(signal.SIGTERM)
        raise InterruptedError

    assert Command(workflow(work)).run() == 143


def test_a_workflow_that_overrides_run_is_run_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """How it runs is its own business."""
    ran: list[str] = []

    class Mine(Workflow):
        def run(self) -> list[Any]:
            ran.append("mine")
            return []

    class Duck:
        def run(self) -> list[Any]:
            ran.append("duck")
            return workflow(task(returning(), name="inside")).run()

    assert Command(Mine()).run() == 0
    assert Command(Duck()).run() == 0
    assert ran == ["mine", "duck"]
    assert capsys.readouterr().out.startswith("[1/?] inside: ok")
