from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from pyscheduler.errors import NaiveTime
from pyscheduler.timetable.moments import (
    LAST_DAY,
    LAST_SECOND,
    date_of,
    day_of,
    instant_of,
    local_of,
    second_of,
    wall_of,
)


def test_an_instant_is_counted_from_1970_whatever_zone_it_is_written_in() -> None:
    """Two spellings of one instant are one number."""
    nine = datetime(2027, 5, 20, 9, tzinfo=timezone(timedelta(hours=2)))
    assert second_of(nine) == second_of(datetime(2027, 5, 20, 7, tzinfo=UTC)) == 1810796400


def test_a_fraction_of_a_second_is_rounded_down_on_both_sides_of_1970() -> None:
    """`after` within a second must not skip the firing of the next one."""
    assert second_of(datetime(1970, 1, 1, 0, 0, 1, 999_999, tzinfo=UTC)) == 1
    assert second_of(datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC)) == -1


def test_a_naive_instant_is_refused() -> None:
    """A zone is never guessed."""
    with pytest.raises(NaiveTime, match="has no time zone"):
        second_of(datetime(2027, 5, 20))


def test_an_aware_wall_time_is_refused() -> None:
    """A local time with a zone is two answers to one question."""
    with pytest.raises(ValueError, match="local time is meant"):
        wall_of(datetime(2027, 5, 20, tzinfo=UTC))


def test_the_ways_back_lead_to_where_they_began() -> None:
    """Numbers are only another spelling; the last moments of 9999 have one too."""
    assert instant_of(second_of(datetime(2027, 5, 20, 7, 1, 2, tzinfo=UTC))) == datetime(
        2027, 5, 20, 7, 1, 2, tzinfo=UTC
    )
    assert local_of(wall_of(datetime(2027, 5, 20, 7, 1, 2))) == datetime(2027, 5, 20, 7, 1, 2)
    assert date_of(day_of(date(2027, 5, 20))) == date(2027, 5, 20)
    assert (day_of(date(1970, 1, 1)), date_of(LAST_DAY)) == (0, date.max)
    assert instant_of(LAST_SECOND) == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
