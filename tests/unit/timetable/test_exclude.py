from __future__ import annotations

from datetime import datetime, time

import pytest

from pyscheduler.model.job import Window
from pyscheduler.timetable import ScheduleError
from pyscheduler.timetable.exclude import Excluded
from pyscheduler.timetable.moments import DAY_S, LAST_SECOND, wall_of

LUNCH = Window(start_time=time(12), end_time=time(13))
NIGHT = Window(start_time=time(22), end_time=time(6))
FEAST = Window(start=datetime(2027, 12, 24, 18), end=datetime(2027, 12, 26, 23, 59))


def wall(text: str) -> int:
    return wall_of(datetime.fromisoformat(text))


def test_a_daily_window_takes_both_its_minutes() -> None:
    """Inclusive to the minute: 13:00:59 is still in, 13:01 is out."""
    lunch = Excluded([LUNCH])
    assert lunch.end_of(wall("2027-05-20T11:59:59")) is None
    assert lunch.end_of(wall("2027-05-20T12:00:00")) == wall("2027-05-20T13:00:59")
    assert lunch.end_of(wall("2027-05-20T13:00:59")) == wall("2027-05-20T13:00:59")
    assert lunch.end_of(wall("2027-05-20T13:01:00")) is None


def test_a_window_over_midnight_takes_both_its_parts() -> None:
    """The end is earlier than the start."""
    night = Excluded([NIGHT])
    assert night.end_of(wall("2027-05-20T21:59:59")) is None
    assert night.end_of(wall("2027-05-20T22:00:00")) == wall("2027-05-20T23:59:59")
    assert night.end_of(wall("2027-05-21T00:00:00")) == wall("2027-05-21T06:00:59")
    assert night.end_of(wall("2027-05-21T06:01:00")) is None


def test_a_dated_window_takes_both_its_ends() -> None:
    """To the second, as typed."""
    feast = Excluded([FEAST])
    assert feast.end_of(wall("2027-12-24T17:59:59")) is None
    assert feast.end_of(wall("2027-12-24T18:00:00")) == wall("2027-12-26T23:59:00")
    assert feast.end_of(wall("2027-12-26T23:59:00")) == wall("2027-12-26T23:59:00")
    assert feast.end_of(wall("2027-12-26T23:59:01")) is None


def test_a_dated_window_may_lack_one_end() -> None:
    """From then on, or until then."""
    assert Excluded([Window(start=datetime(2027, 1, 1))]).end_of(wall("2090-01-01T00:00")) == LAST_SECOND
    assert Excluded([Window(end=datetime(2027, 1, 1))]).end_of(wall("1980-01-01T00:00")) == wall("2027-01-01T00:00")


def test_windows_that_touch_are_one() -> None:
    """What follows on without a free second is skipped in one go."""
    both = Excluded([Window(start_time=time(13, 1), end_time=time(14)), LUNCH])
    assert both.end_of(wall("2027-05-20T12:30")) == wall("2027-05-20T14:00:59")
    inner = Excluded([Window(start_time=time(12, 10), end_time=time(12, 20)), LUNCH])
    assert inner.end_of(wall("2027-05-20T12:00")) == wall("2027-05-20T13:00:59")


def test_what_is_free_of_a_day_is_known() -> None:
    """Counting sums over these spans."""
    assert Excluded([]).free(0) == ((0, DAY_S - 1),)
    assert Excluded([LUNCH]).free(0) == ((0, 12 * 3600 - 1), (13 * 3600 + 60, DAY_S - 1))
    assert Excluded([NIGHT]).free(0) == ((6 * 3600 + 60, 22 * 3600 - 1),)
    assert Excluded([Window(start_time=time(0), end_time=time(23, 59))]).free(0) == ()
    day = wall("2027-12-24T00:00") // DAY_S
    both = Excluded([LUNCH, FEAST])
    assert both.free(day) == ((0, 12 * 3600 - 1), (13 * 3600 + 60, 18 * 3600 - 1))
    assert both.free(day + 1) == ()
    assert both.free(day + 2) == ((23 * 3600 + 59 * 60 + 1, DAY_S - 1),)
    assert both.free(day + 3) == both.free(day - 1) == both.daily_free


def test_dated_windows_touch_only_their_days() -> None:
    """Days out of their reach are alike."""
    feast = Excluded([FEAST])
    assert feast.touches(wall("2027-12-26T00:00"), wall("2027-12-26T23:59:59"))
    assert feast.touches(wall("2027-12-24T18:00"), wall("2027-12-24T18:00"))
    assert not feast.touches(wall("2027-12-24T17:00"), wall("2027-12-24T17:59:59"))
    assert not feast.touches(wall("2027-12-26T23:59:01"), wall("2027-12-27T12:00"))
    assert not Excluded([LUNCH]).touches(0, LAST_SECOND)


def test_windows_are_true_where_there_are_any() -> None:
    """The common schedule has none and pays nothing."""
    assert [bool(Excluded(it)) for it in ([], [LUNCH], [FEAST])] == [False, True, True]


@pytest.mark.parametrize(
    "window",
    [
        Window(),
        Window(start_time=time(12)),
        Window(end_time=time(12)),
        Window(start_time=time(12), end_time=time(13), start=datetime(2027, 1, 1)),
        Window(start=datetime(2027, 1, 2), end=datetime(2027, 1, 1)),
    ],
)
def test_half_a_window_or_a_mixed_one_is_refused(window: Window) -> None:
    """What it would mean is not guessed."""
    with pytest.raises(ScheduleError) as caught:
        Excluded([window])
    assert caught.value.field == "exclude"
