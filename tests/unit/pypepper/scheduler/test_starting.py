"""What `begin` and `refuse` answer by themselves: pipeline.md 9.1 steps 3 to 6, 10 paths A to E."""

from __future__ import annotations

import pytest

from pypepper.scheduler.job import Job
from pypepper.scheduler.starting import MustRequeue, Start, begin, refuse
from pypepper.scheduler.store import get_job_store
from tests.pipes import job, returning, row, scripted, status_of


def scheduled() -> Job:
    made = job(returning())
    made.scheduled()
    return made


def test_a_saved_start_is_a_go() -> None:
    """pipeline.md 9.1 step 5: True, and the work may begin."""
    assert begin(scheduled()) is Start.RUN


@pytest.mark.parametrize("durable", ["InProgress", "Completed", "Failed", "Cancelled"])
def test_another_holders_row_means_nothing_to_do(durable: str) -> None:
    """pipeline.md 9.1 step 6: followed, without an error."""
    made = scheduled()
    other = Job.from_record(row(made))
    other.restore_lifecycle(durable, durable)
    other.save()
    assert begin(made) is Start.NOTHING
    assert made.status == durable


def test_an_old_version_is_forgiven_once() -> None:
    """H8: the row's version is taken over after one refusal, and never before or again."""
    made = scheduled()
    assert get_job_store().put(made.to_record())
    with pytest.raises(MustRequeue):
        begin(made)
    assert (made.stale, made.version) == (True, 1)
    assert begin(made) is Start.RUN
    assert (made.stale, made.version) == (False, 3)


def test_a_refusal_for_another_reason_forgives_nothing() -> None:
    """H8: a version that is right is not looked at again."""
    scripted(InProgress=["skip"], Failed=["raise"])
    made = scheduled()
    with pytest.raises(MustRequeue) as caught:
        begin(made)
    assert "RUN persist skipped" in str(caught.value.error)
    assert not made.stale


@pytest.mark.parametrize(("step", "lines"), [("land", 0), ("skip", 1), ("raise", 2)])
def test_a_refused_jobs_last_save_is_only_logged(step: str, lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """pipeline.md 10 path E: Failed here; behind, and said so, if that one save misses."""
    said: list[str] = []
    monkeypatch.setattr("pypepper.scheduler.starting.log.error", said.append)
    scripted(Failed=[step])
    made = scheduled()
    refuse(made, ConnectionError("down"))
    assert status_of(made) == ("Failed", "Failed" if step == "land" else "Scheduled")
    assert len(said) == lines
    assert made.error == ("not started: down" if step == "land" else None)


def test_a_cancelled_job_is_not_failed() -> None:
    """pipeline.md 10 path B: a cancel seen by then is kept."""
    made = scheduled()
    made.cancel()
    refuse(made, ConnectionError())
    assert status_of(made) == ("Cancelled", "Cancelled")
