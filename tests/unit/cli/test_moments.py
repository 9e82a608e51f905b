"""What an operator types as a date or a time, and the window it means."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import click
import pytest

from pyscheduler.cli.faults import WrongUsage
from pyscheduler.cli.moments import MOMENT, end_of, moment_after, settled, start_of, window

NOW = datetime(2027, 5, 20, 12, tzinfo=UTC)
BERLIN = "Europe/Berlin"


def typed(text: str) -> date:
    return MOMENT.convert(text, None, None)


def test_a_date_or_a_time_with_or_without_an_offset() -> None:
    """A date stays a date: it means a whole day."""
    assert typed("2027-05-20") == date(2027, 5, 20)
    assert not isinstance(typed("2027-05-20"), datetime)
    assert typed("2027-05-20T06:30") == datetime(2027, 5, 20, 6, 30)
    assert typed("2027-05-20T06:30Z") == datetime(2027, 5, 20, 6, 30, tzinfo=UTC)


@pytest.mark.parametrize("text", ["the day before", "2027-13-01", "20.05.2027", "25:00", "never 04:31", ""])
def test_anything_else_is_wrong_usage(text: str) -> None:
    """With an example of how it is written."""
    with pytest.raises(click.BadParameter, match="2027-05-20"):
        typed(text)


def test_words_and_times_alone_are_of_the_schedulers_own_day() -> None:
    """Which day that is depends on its zone, so they are settled once that is known."""
    today = date(2027, 5, 20)
    assert settled(typed("yesterday"), today) == date(2027, 5, 19)
    assert settled(typed("tomorrow"), today) == date(2027, 5, 21)
    assert settled(typed("04:31"), today) == datetime(2027, 5, 20, 4, 31)
    assert settled(typed("yesterday 4:31:05"), today) == datetime(2027, 5, 19, 4, 31, 5)
    assert settled(typed("2027-05-20"), date(2000, 1, 1)) == today
    late = datetime(2027, 5, 19, 23, 0, tzinfo=UTC)  # the twentieth in Berlin
    since, until = window(typed("today"), typed("06:00"), "Europe/Berlin", late, days=1, at_most=9)
    assert since == datetime(2027, 5, 19, 21, 59, 59, tzinfo=UTC)
    assert until == datetime(2027, 5, 20, 4, 0, tzinfo=UTC)


def test_a_time_without_an_offset_is_the_schedulers() -> None:
    """And one with an offset is what it says."""
    assert start_of(typed("2027-05-20T06:30"), BERLIN) == datetime(2027, 5, 20, 4, 30, tzinfo=UTC)
    assert start_of(typed("2027-05-20T06:30-05:00"), BERLIN) == datetime(2027, 5, 20, 11, 30, tzinfo=UTC)


def test_a_date_is_its_whole_local_day() -> None:
    """Also on the day that has 23 hours."""
    spring = date(2027, 3, 28)
    assert start_of(spring, BERLIN) == datetime(2027, 3, 27, 23, tzinfo=UTC)
    assert end_of(spring, BERLIN) == datetime(2027, 3, 28, 21, 59, 59, tzinfo=UTC)
    assert moment_after(spring, BERLIN) == datetime(2027, 3, 28, 22, tzinfo=UTC)


def test_a_window_holds_the_midnight_it_begins_with_and_not_the_one_it_ends_with() -> None:
    """(since, until]: a firing at midnight belongs to the day it opens."""
    since, until = window(date(2027, 5, 20), date(2027, 5, 20), BERLIN, NOW, days=1, at_most=366)
    first, last = datetime(2027, 5, 19, 22, tzinfo=UTC), datetime(2027, 5, 20, 22, tzinfo=UTC)
    assert since < first <= until
    assert not since < last <= until


def test_without_a_start_it_is_now_and_without_an_end_some_days_later() -> None:
    """The defaults of `forecast`."""
    assert window(None, None, BERLIN, NOW, days=1, at_most=366) == (NOW, NOW + timedelta(days=1))


def test_a_window_backwards_or_too_long_is_refused() -> None:
    """Exit code 2, with a way out."""
    with pytest.raises(WrongUsage, match="before it starts"):
        window(date(2027, 5, 20), date(2027, 5, 18), BERLIN, NOW, days=1, at_most=366)
    window(date(2027, 1, 1), date(2027, 12, 31), BERLIN, NOW, days=1, at_most=366)
    with pytest.raises(WrongUsage, match="spans"):
        window(date(2027, 1, 1), date(2028, 1, 3), BERLIN, NOW, days=1, at_most=366)
