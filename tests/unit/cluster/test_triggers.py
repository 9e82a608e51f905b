"""When a task is due: pure, strictly later, the same in every process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.cluster.triggers import Trigger, callback, cron, every, trigger_of
from pyscheduler.errors import BadSchedule, NaiveTime

NOON = datetime(2027, 5, 20, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def dates(trigger: Trigger, after: datetime, count: int) -> list[datetime]:
    found = []
    for _ in range(count):
        firing = trigger.next(after)
        assert firing is not None
        after = firing.scheduled_at
        found.append(after)
    return found


def test_cron_text_is_the_houses_own() -> None:
    """Fields, macros and zones as in a configuration."""
    assert dates(cron("*/20 * * * *"), NOON, 2) == [NOON + 20 * MINUTE, NOON + 40 * MINUTE]
    assert cron("0 6 * * *", timezone="Europe/Berlin").next(NOON).scheduled_at.hour == 4  # type: ignore[union-attr]
    assert cron("@hourly").label == "cron(@hourly)"


def test_every_counts_from_its_anchor_and_never_drifts() -> None:
    """The anchor is the first date; the end is inclusive."""
    trigger = every(90, start=NOON, end=NOON + 3 * MINUTE)
    assert dates(trigger, NOON - MINUTE, 3) == [NOON, NOON + timedelta(seconds=90), NOON + 3 * MINUTE]
    assert trigger.next(NOON + 3 * MINUTE) is None
    assert trigger.label == "every(1m30s)"


def test_without_an_anchor_every_process_counts_alike() -> None:
    """Multiples since 1970, whoever asks, and whenever it was started."""
    assert dates(every("20m"), NOON + MINUTE, 1) == [NOON + 20 * MINUTE]


@given(st.integers(1, 5000), st.integers(0, 10_000), st.integers(0, 10_000), st.integers(0, 9))
def test_missed_is_what_next_would_have_said(step: int, since: int, length: int, keep: int) -> None:
    """Count, first, last and the newest few tell the same story as asking one by one."""
    trigger = every(step, start=NOON)
    begin = NOON + timedelta(seconds=since - 5000)
    end = begin + timedelta(seconds=length)
    one_by_one = []
    firing = trigger.next(begin)
    while firing is not None and firing.scheduled_at <= end:
        one_by_one.append(firing)
        firing = trigger.next(firing.scheduled_at)
    found = trigger.missed(begin, end, keep)
    assert found.count == len(one_by_one)
    assert list(found.newest) == (one_by_one[-keep:] if keep else [])
    assert (found.first, found.last) == ((one_by_one[0], one_by_one[-1]) if one_by_one else (None, None))


def test_a_callback_names_any_dates() -> None:
    """A function of the last date, with a label for lists."""
    trigger = callback(lambda last: last + MINUTE if last < NOON + 3 * MINUTE else None, "each minute until three past")
    found = trigger.missed(NOON, NOON + 10 * MINUTE, 2)
    assert (found.count, [firing.scheduled_at for firing in found.newest]) == (
        3,
        [NOON + 2 * MINUTE, NOON + 3 * MINUTE],
    )
    assert trigger.label == "each minute until three past"


def test_a_callback_that_does_not_move_on_is_refused() -> None:
    """It would be due for ever."""
    with pytest.raises(BadSchedule, match="not later"):
        callback(lambda last: last, "stuck").next(NOON)
    with pytest.raises(NaiveTime):
        callback(lambda last: last.replace(tzinfo=None), "naive").next(NOON)


@pytest.mark.parametrize("given", ["61 * * * *", "0 0 30 2 *", "@reboot", "nonsense", 3, None, object()])
def test_a_trigger_that_makes_no_sense_is_refused_when_it_is_made(given: object) -> None:
    """Before any run."""
    with pytest.raises(BadSchedule):
        trigger_of(given)


@pytest.mark.parametrize(
    "given", [0, -1, float("nan"), float("inf"), True, "0", "-5", timedelta(0), timedelta(-1), 0.5]
)
def test_an_interval_is_greater_than_zero_in_every_form(given: object) -> None:
    """And a second or more."""
    with pytest.raises(BadSchedule):
        every(given)
