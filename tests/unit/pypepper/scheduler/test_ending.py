"""The last row, and what is said when it cannot be written: pipeline.md 9.1 steps 8 to 11, 10, 16 row error; H9."""

from __future__ import annotations

import pytest

from pypepper.scheduler import events
from pypepper.scheduler.ending import complete, fail, keep_cancelled
from pypepper.scheduler.job import Job
from pypepper.scheduler.store import InMemoryJobStore
from tests.pipes import Scripted, job, returning, scripted, status_of

BEHIND = "compare with Job.get_saved"
ONLY = "save() it, nothing else"


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The error lines of this module."""
    lines: list[str] = []
    monkeypatch.setattr("pypepper.scheduler.ending.log.error", lines.append)
    return lines


def running() -> Job:
    made = job(returning())
    made.scheduled()
    made.apply_event(events.RUN)
    assert made.save()
    return made


def behind(made: Job, store: Scripted) -> Job:
    """Cancel a job whose cancel cannot be saved."""
    store.script["Cancelled"].append("raise")
    with pytest.raises(ConnectionError):
        made.cancel()
    return made


def test_a_cancel_before_the_completion_is_saved_by_it() -> None:
    """pipeline.md 9.1 step 10: not completed, and the row that was behind is put right."""
    made = behind(running(), store := scripted(Cancelled=[]))
    assert InMemoryJobStore.get(store, made.id) is None
    complete(made)
    assert status_of(made) == ("Cancelled", "Cancelled")


@pytest.mark.parametrize(("step", "words"), [("land", None), ("skip", BEHIND), ("raise", ONLY)])
def test_what_is_said_of_a_kept_cancel(step: str, words: str | None, said: list[str]) -> None:
    """pipeline.md 16: nothing, "written by another", or "save only" with the error raised."""
    made = behind(running(), store := scripted(Cancelled=[]))
    store.script["Cancelled"].append(step)
    if step == "raise":
        with pytest.raises(ConnectionError):
            keep_cancelled(made)
    else:
        keep_cancelled(made)
    assert len(said) == (1 if words else 0)
    assert words is None or words in said[0]


@pytest.mark.parametrize(("step", "words"), [("land", None), ("skip", BEHIND), ("raise", ONLY)])
def test_what_is_said_of_a_completion(step: str, words: str | None, said: list[str]) -> None:
    """pipeline.md 10 rows Complete."""
    scripted(Completed=[step])
    made = running()
    if step == "raise":
        with pytest.raises(ConnectionError):
            complete(made)
    else:
        complete(made)
    assert made.status == "Completed"
    assert len(said) == (1 if words else 0)
    assert words is None or words in said[0]


@pytest.mark.parametrize(("step", "words"), [("land", None), ("skip", BEHIND), ("raise", ONLY)])
def test_what_is_said_of_a_failure(step: str, words: str | None, said: list[str]) -> None:
    """pipeline.md 10 row Fail: the failure itself is a line, and what became of its row is another."""
    scripted(Failed=[step])
    made = running()
    with pytest.raises(ValueError, match="broken"):
        fail(made, ValueError("broken"))
    assert made.status == "Failed"
    assert "failed: ValueError" in said[0]
    assert len(said) == (2 if words else 1)
    assert words is None or words in said[1]
