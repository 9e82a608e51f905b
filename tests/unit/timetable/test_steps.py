from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import date, datetime, time

import pytest

from pyscheduler.model.job import EverySpec, Window
from pyscheduler.timetable import ALL_DAYS, BusinessCalendar
from pyscheduler.timetable.moments import day_of, instant_of, second_of
from tests.unit.timetable.support import UK_2027, at, compiled, rows, rows_between


def every(minutes: float, between: str = "", **fields: object) -> EverySpec:
    opens, closes = (time.fromisoformat(it) for it in between.split("-")) if between else (None, None)
    return EverySpec(every_s=int(minutes * 60), opens=opens, closes=closes, **fields)  # type: ignore[arg-type]


def test_steps_go_from_the_opening_to_the_end_which_is_included() -> None:
    """Spec 2.2."""
    assert rows(compiled(every(20, "07:00-08:00")), "2027-05-20T00:00", 5) == [
        "2027-05-20T07:00",
        "2027-05-20T07:20",
        "2027-05-20T07:40",
        "2027-05-20T08:00",
        "2027-05-21T07:00",
    ]
    assert rows(compiled(every(25, "07:00-08:00")), "2027-05-20T07:01", 3) == [
        "2027-05-20T07:25",
        "2027-05-20T07:50",
        "2027-05-21T07:00",
    ]


def test_a_window_of_one_time_fires_once_and_a_long_step_too() -> None:
    """Start and end alike; a step that leads out of the window."""
    assert rows(compiled(every(20, "07:00-07:00")), "2027-05-20T00:00", 2) == ["2027-05-20T07:00", "2027-05-21T07:00"]
    assert rows(compiled(every(2880, "07:00-08:00")), "2027-05-20T00:00", 2) == ["2027-05-20T07:00", "2027-05-21T07:00"]


def test_a_window_over_midnight_belongs_to_the_day_it_opened() -> None:
    """Spec 2.3: Friday's window fires into Saturday for Friday; Saturday's would be dropped."""
    night = compiled(every(30, "23:00-00:30"), calendar=UK_2027)
    found = list(night.between(at("2027-05-14T12:00"), at("2027-05-18T12:00")))
    assert [it.scheduled_at.strftime("%d %H:%M") for it in found] == ["14 23:00", "14 23:30", "15 00:00", "15 00:30"]
    assert {it.run_date for it in found} == {date(2027, 5, 14)}
    assert rows(night, "2027-05-15T00:10", 1) == ["2027-05-15T00:30"]


def test_steps_are_real_time_over_a_clock_change() -> None:
    """Spec 2.4: every 30m between 01:00-04:00 fires 9 times on 2026-10-25 and 5 times on 2027-03-28."""
    schedule = compiled(every(30, "01:00-04:00"), "Europe/Berlin")
    assert len(rows_between(schedule, "2026-10-24T22:00", "2026-10-25T12:00")) == 9
    assert rows_between(schedule, "2027-03-27T22:00", "2027-03-28T12:00") == [
        "2027-03-28T00:00",
        "2027-03-28T00:30",
        "2027-03-28T01:00",
        "2027-03-28T01:30",
        "2027-03-28T02:00",
    ]


def test_window_bounds_move_as_fixed_times_do() -> None:
    """An opening in the gap is its end; an end in the fold is the first of the two."""
    gap = compiled(every(30, "02:15-04:00"), "Europe/Berlin")
    assert rows(gap, "2027-03-27T12:00", 3) == ["2027-03-28T01:00", "2027-03-28T01:30", "2027-03-28T02:00"]
    fold = compiled(every(30, "01:00-02:30"), "Europe/Berlin")
    assert rows_between(fold, "2026-10-24T22:00", "2026-10-25T12:00") == [
        "2026-10-24T23:00",
        "2026-10-24T23:30",
        "2026-10-25T00:00",
        "2026-10-25T00:30",
    ]


def test_without_a_window_steps_begin_anew_at_local_midnight() -> None:
    """A day of 23 or 25 hours has fewer or more; seven hours do not divide a day and need not."""
    seven = compiled(every(420), "Europe/Berlin")
    assert rows(seven, "2027-05-19T21:59", 5) == [
        "2027-05-19T22:00",
        "2027-05-20T05:00",
        "2027-05-20T12:00",
        "2027-05-20T19:00",
        "2027-05-20T22:00",
    ]
    hourly = compiled(every(60), "Europe/Berlin")
    assert len(list(hourly.on(day_of(date(2026, 10, 25))))) == 25
    assert len(list(hourly.on(day_of(date(2027, 3, 28))))) == 23
    assert len(list(hourly.on(day_of(date(2027, 5, 20))))) == 24


def test_a_day_that_never_was_has_no_steps() -> None:
    """Apia, 30 December 2011: no midnight to begin at; a window's opening is moved as any fixed time."""
    assert list(compiled(every(60), "Pacific/Apia").on(day_of(date(2011, 12, 30)))) == []
    assert [
        instant_of(it) for it in compiled(every(60, "09:00-10:00"), "Pacific/Apia").on(day_of(date(2011, 12, 30)))
    ] == [at("2011-12-30T10:00")]
    overlapping = compiled(every(120, "22:00-06:00"), "Pacific/Apia")
    assert rows(overlapping, "2011-12-30T07:00", 3) == ["2011-12-30T08:00", "2011-12-30T10:00", "2011-12-30T12:00"]
    assert overlapping.count(second_of(at("2011-12-30T07:00")), second_of(at("2011-12-30T12:00"))) == 3


def test_an_excluded_step_is_dropped_and_the_phase_stays() -> None:
    """By what the wall shows at the step."""
    schedule = compiled(every(25, "11:00-14:00", exclude=(Window(start_time=time(12), end_time=time(13)),)))
    assert rows(schedule, "2027-05-20T00:00", 5) == [
        "2027-05-20T11:00",
        "2027-05-20T11:25",
        "2027-05-20T11:50",
        "2027-05-20T13:05",
        "2027-05-20T13:30",
    ]


def test_steps_of_a_second_go_on_in_the_first_free_one() -> None:
    """13:01:00, behind a window that ends with 13:00 and all its seconds."""
    lunch = (Window(start_time=time(12), end_time=time(13)),)
    assert rows(compiled(EverySpec(every_s=1, exclude=lunch)), "2027-05-20T11:59:58", 3) == [
        "2027-05-20T11:59:59",
        "2027-05-20T13:01",
        "2027-05-20T13:01:01",
    ]


def test_an_excluded_hour_that_comes_twice_is_excluded_twice() -> None:
    """And the jump over it does not overshoot what lies behind the gap."""
    lunch = (Window(start_time=time(2), end_time=time(2, 59)),)
    schedule = compiled(every(30, "01:00-04:00", exclude=lunch), "Europe/Berlin")
    assert rows_between(schedule, "2026-10-24T22:00", "2026-10-25T12:00") == [
        "2026-10-24T23:00",
        "2026-10-24T23:30",
        "2026-10-25T02:00",
        "2026-10-25T02:30",
        "2026-10-25T03:00",
    ]
    until_three = (Window(start_time=time(1), end_time=time(2, 59)),)
    schedule = compiled(every(30, "01:00-04:00", exclude=until_three), "Europe/Berlin")
    assert rows(schedule, "2027-03-27T12:00", 1) == ["2027-03-28T01:00"]


def test_a_search_in_vain_ends() -> None:
    """Everything excluded, every day."""
    assert (
        rows(compiled(every(60, exclude=(Window(start_time=time(0), end_time=time(23, 59)),))), "2027-05-20T00:00", 1)
        == []
    )
    assert rows(compiled(every(60, end=date(2027, 5, 1))), "2027-05-20T00:00", 1) == []


def test_a_window_from_seven_to_five_is_no_whole_day() -> None:
    """Only without a window does a day go on to the next midnight, whatever its bounds add up to."""
    assert rows(compiled(every(300, "07:00-17:00")), "2027-05-20T00:00", 4) == [
        "2027-05-20T07:00",
        "2027-05-20T12:00",
        "2027-05-20T17:00",
        "2027-05-21T07:00",
    ]
    assert rows(compiled(every(720, "00:00-00:00")), "2027-05-20T00:00", 2) == ["2027-05-21T00:00", "2027-05-22T00:00"]


WINDOWS = {
    "plain": every(25, "07:00-09:00"),
    "over midnight": every(50, "22:00-06:00"),
    "whole day": every(420),
    "whole day in seconds": every(0.1),
    "through the change": every(7, "00:30-05:00"),
    "less lunch": every(25, "00:00-13:00", exclude=(Window(start_time=time(2), end_time=time(3)),)),
    "less a feast": every(45, exclude=(Window(start=datetime(2026, 10, 24, 12), end=datetime(2026, 10, 25, 2, 30)),)),
}


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/St_Johns", "UTC"])
@pytest.mark.parametrize("calendar", [ALL_DAYS, UK_2027], ids=["none", "uk"])
def test_counting_agrees_with_walking(name: str, zone: str, calendar: BusinessCalendar) -> None:
    """By arithmetic, over both clock changes and at every kind of edge."""
    schedule = compiled(WINDOWS[name], zone, calendar)
    for change in ("2026-10-24T20:00", "2006-10-28T20:00", "2027-03-27T20:00"):
        begin = second_of(at(change))
        end = begin + 20 * 3600 if name == "whole day in seconds" else begin + 3 * 86400
        firings = [second_of(it.scheduled_at) for it in schedule.between(instant_of(begin - 1), instant_of(end))]
        assert firings == sorted(set(firings))
        edges = {begin, end, *range(begin, end, 17 * 3600 + 13), *firings[:3], *firings[-3:]}
        for first in edges:
            for last in edges:
                expected = max(bisect_right(firings, last) - bisect_left(firings, first), 0)
                assert schedule.count(first, last) == expected


def test_a_change_within_the_window_is_said() -> None:
    """Only where steps after it are meant, and only for a firing."""
    schedule = compiled(every(30, "01:00-04:00"), "Europe/Berlin")
    said = "the clocks changed in this window: steps are counted in real time"
    assert schedule.change(second_of(at("2026-10-25T01:30"))) == said
    assert schedule.change(second_of(at("2026-10-25T00:30"))) == ""
    assert schedule.change(second_of(at("2026-10-26T01:30"))) == ""
    assert schedule.change(second_of(at("2026-10-25T01:31"))) == ""
    night = compiled(every(60, "22:00-05:00"), "Europe/Berlin")
    assert night.change(second_of(at("2026-10-25T01:00"))) == said
