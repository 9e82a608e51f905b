"""What a pass makes of what is due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyscheduler.cluster.plan import MOST_MISSED, Due, due_of
from pyscheduler.cluster.triggers import every
from pyscheduler.model.job import Overlap

NOON = datetime(2027, 5, 20, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
TRIGGER = every(60)


def due(
    watermark: datetime | None,
    now: datetime,
    *,
    overlap: Overlap = Overlap.SKIP,
    latest_only: bool = False,
    busy: bool = False,
) -> Due | None:
    return due_of(TRIGGER, watermark, now, overlap=overlap, latest_only=latest_only, busy=busy)


def minutes(found: Due | None) -> list[int]:
    assert found is not None
    return [firing.scheduled_at.minute for firing in found.run]


def test_the_first_look_only_notes_the_time() -> None:
    """Whoever starts with a schedule starts from now."""
    assert due(None, NOON) == Due((), (), NOON)


def test_every_missed_firing_gets_a_run_in_due_order() -> None:
    """And time is settled up to now."""
    found = due(NOON, NOON + 3.5 * MINUTE)
    assert minutes(found) == [1, 2, 3]
    assert found is not None
    assert (found.watermark, found.dropped) == (NOON + 3.5 * MINUTE, 0)


def test_only_the_newest_where_the_schedule_says_so() -> None:
    """The others are counted, and get no run."""
    found = due(NOON, NOON + 3 * MINUTE, latest_only=True)
    assert minutes(found) == [3]
    assert found is not None
    assert found.dropped == 2


def test_there_is_a_bound_on_what_is_caught_up() -> None:
    """The newest thousand."""
    found = due(NOON, NOON + 1500 * MINUTE)
    assert found is not None
    assert (len(found.run), found.dropped) == (MOST_MISSED, 500)


def test_a_task_that_still_goes_has_its_due_runs_skipped() -> None:
    """Never two at once, and nothing is left due behind its back."""
    found = due(NOON, NOON + 2 * MINUTE, busy=True)
    assert found is not None
    assert (found.run, len(found.skipped), found.watermark) == ((), 2, NOON + 2 * MINUTE)


def test_a_task_that_queues_gets_one_run_at_a_time() -> None:
    """The watermark stays behind until the next one's turn."""
    found = due(NOON, NOON + 3 * MINUTE, overlap=Overlap.QUEUE)
    assert minutes(found) == [1]
    assert found is not None
    assert found.watermark == NOON + MINUTE
    assert due(NOON + MINUTE, NOON + 3 * MINUTE, overlap=Overlap.QUEUE, busy=True) is None
    last = due(NOON + 2 * MINUTE, NOON + 3.5 * MINUTE, overlap=Overlap.QUEUE)
    assert last is not None
    assert last.watermark == NOON + 3.5 * MINUTE


def test_a_task_that_allows_overlap_gets_all_of_them() -> None:
    """Whatever still goes."""
    assert minutes(due(NOON, NOON + 2 * MINUTE, overlap=Overlap.ALLOW, busy=True)) == [1, 2]


def test_a_clock_that_was_set_back_makes_nothing_twice() -> None:
    """The watermark never moves back."""
    assert due(NOON, NOON - MINUTE) is None
    assert due(NOON, NOON) is None
