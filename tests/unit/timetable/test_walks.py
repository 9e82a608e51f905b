from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import date

import pytest

from pyscheduler.timetable.moments import day_of, instant_of, second_of
from pyscheduler.timetable.walks import Moment
from tests.unit.timetable.support import at, compiled, rows, rows_between


def test_a_fixed_time_in_a_gap_runs_at_its_end_and_in_a_fold_once() -> None:
    """Spec 2.4, Berlin: 30 2 * * * fires 01:00Z on 2027-03-28 and 00:30Z on 2026-10-25."""
    half_past_two = compiled("30 2 * * *", "Europe/Berlin")
    assert rows(half_past_two, "2027-03-27T12:00", 2) == ["2027-03-28T01:00", "2027-03-29T00:30"]
    assert rows(half_past_two, "2026-10-24T12:00", 2) == ["2026-10-25T00:30", "2026-10-26T01:30"]


def test_asked_within_the_second_pass_a_fixed_time_is_over() -> None:
    """A restart in the repeated hour must not run the job of the first pass again."""
    half_past_two = compiled("30 2 * * *", "Europe/Berlin")
    for moment in (
        "2026-10-25T00:30",
        "2026-10-25T00:59:59",
        "2026-10-25T01:00",
        "2026-10-25T01:29:59",
        "2026-10-25T01:45",
    ):
        assert rows(half_past_two, moment, 1) == ["2026-10-26T01:30"]


def test_gap_times_and_a_real_firing_at_the_jump_are_one() -> None:
    """Spec 2.4: several gap times collapse."""
    each = compiled("0,20,40 2,3 * * *", "Europe/Berlin")
    assert rows_between(each, "2027-03-28T00:00", "2027-03-28T02:00") == [
        "2027-03-28T01:00",
        "2027-03-28T01:20",
        "2027-03-28T01:40",
    ]
    assert rows(each, "2027-03-28T01:00", 1) == ["2027-03-28T01:20"]


def test_a_wildcard_keeps_real_time() -> None:
    """DESIGN 8 row 4, where jobs.md 2.4 is silent for an hour: 25 firings on the long day, 23 on the short one."""
    hourly = compiled("0 * * * *", "Europe/Berlin")
    assert len(rows_between(hourly, "2026-10-24T21:59", "2026-10-25T22:59")) == 25
    assert len(rows_between(hourly, "2027-03-27T22:59", "2027-03-28T21:59")) == 23
    assert rows(hourly, "2026-10-24T23:30", 3) == ["2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T02:00"]
    quarters = compiled("*/15 * * * *", "Europe/Berlin")
    assert len(rows_between(quarters, "2026-10-25T00:00", "2026-10-25T02:00")) == 8


def test_a_wildcard_within_a_missing_hour_has_no_firing_that_day() -> None:
    """Debian's rule: such a job is not a fixed-time job, and its hour does not come."""
    assert rows(compiled("*/30 2 * * *", "Europe/Berlin"), "2027-03-27T12:00", 1) == ["2027-03-29T00:00"]


def test_a_wildcard_within_a_repeated_hour_runs_in_both() -> None:
    """From the first pass into the second, and from within the second on."""
    twice = compiled("*/30 2 * * *", "Europe/Berlin")
    assert rows(twice, "2026-10-24T12:00", 5) == [
        "2026-10-25T00:00",
        "2026-10-25T00:30",
        "2026-10-25T01:00",
        "2026-10-25T01:30",
        "2026-10-26T01:00",
    ]
    assert rows(twice, "2026-10-25T01:10", 1) == ["2026-10-25T01:30"]


def test_a_fold_over_midnight_goes_back_to_the_day_before() -> None:
    """St John's, 2006: one minute past midnight the wall shows 23:01 of Saturday again."""
    quarters = compiled("*/30 * * * *", "America/St_Johns")
    found = list(quarters.between(at("2006-10-29T01:59"), at("2006-10-29T03:59")))
    assert [(it.scheduled_at.strftime("%H:%M"), it.run_date.day) for it in found] == [
        ("02:00", 28),
        ("02:30", 29),
        ("03:00", 28),
        ("03:30", 29),
    ]
    assert [instant_of(it).strftime("%H:%M") for it in quarters.on(day_of(date(2006, 10, 29)))][:3] == [
        "02:30",
        "03:30",
        "04:00",
    ]
    midnight = compiled("0 0 * * *", "America/St_Johns")
    assert rows(midnight, "2006-10-28T12:00", 2) == ["2006-10-29T02:30", "2006-10-30T03:30"]


def test_a_day_that_never_was_is_a_gap_like_any_other() -> None:
    """Apia went from the end of 29 December 2011 to the 31st: what was for the 30th runs as the 31st begins."""
    nine = list(compiled("0 9 * * *", "Pacific/Apia").between(at("2011-12-29T00:00"), at("2012-01-01T00:00")))
    assert [(it.scheduled_at, it.run_date.day) for it in nine] == [
        (at("2011-12-29T19:00"), 29),
        (at("2011-12-30T10:00"), 30),
        (at("2011-12-30T19:00"), 31),
        (at("2011-12-31T19:00"), 1),
    ]
    midnight = list(compiled("0 0 * * *", "Pacific/Apia").between(at("2011-12-29T00:00"), at("2012-01-01T00:00")))
    assert [(it.scheduled_at, it.run_date.day) for it in midnight] == [
        (at("2011-12-29T10:00"), 29),
        (at("2011-12-30T10:00"), 30),  # the earlier of the two landing days (spec 2.3)
        (at("2011-12-31T10:00"), 1),
    ]
    hourly = compiled("0 * * * *", "Pacific/Apia")
    assert rows(hourly, "2011-12-30T08:59", 3) == ["2011-12-30T09:00", "2011-12-30T10:00", "2011-12-30T11:00"]
    assert list(hourly.on(day_of(date(2011, 12, 30)))) == []


@pytest.mark.parametrize(
    "text", ["30 2 * * *", "0,30 2,3 * * *", "*/20 * * * *", "*/30 2 * * *", "0 0 * * *", "* 30 2 * * *"]
)
@pytest.mark.parametrize("zone", ["Europe/Berlin", "Pacific/Apia", "America/St_Johns", "Antarctica/Troll"])
def test_counting_agrees_with_walking_over_clock_changes(text: str, zone: str) -> None:
    """Windows that begin or end before, at and behind each change, and one that holds them all."""
    schedule = compiled(text, zone)
    years = {"Pacific/Apia": 2011, "America/St_Johns": 2006}
    year = years.get(zone, 2026)
    begin, end = second_of(at(f"{year}-01-01T00:00")), second_of(at(f"{year + 1}-01-01T00:00"))
    edges = {begin, end}
    stretch = schedule.zone.stretch_at(begin)
    while stretch.end < end:
        edges |= {stretch.end + shift for shift in (-3600, -1, 0, 1, 1800, 3600, 7200)}
        stretch = schedule.zone.stretch_at(stretch.end)
    firings = [second_of(it.scheduled_at) for it in schedule.between(instant_of(begin - 1), instant_of(end))]
    assert firings == sorted(set(firings))
    for first in edges:
        for last in edges:
            expected = max(bisect_right(firings, last) - bisect_left(firings, first), 0)
            assert schedule.count(first, last) == expected, (first, last)


@pytest.mark.parametrize("text", ["30 2 * * *", "0,30 2,3 * * *", "*/20 * * * *", "*/30 2 * * *", "0 0 * * *"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "Pacific/Apia", "America/St_Johns"])
def test_the_days_of_a_year_hold_all_its_firings(text: str, zone: str) -> None:
    """`on` is another way round to the same instants."""
    schedule = compiled(text, zone)
    year = {"Pacific/Apia": 2011, "America/St_Johns": 2006}.get(zone, 2026)
    walked = [
        (second_of(it.scheduled_at), day_of(it.run_date))
        for it in schedule.between(at(f"{year}-01-03T00:00"), at(f"{year}-12-29T00:00"))
    ]
    days = sorted({day for _, day in walked})
    by_day = {(second, day) for day in days for second in schedule.on(day)}
    assert len(days) > 350
    assert set(walked) <= by_day
    first, last = walked[0][0], walked[-1][0]
    assert all(not first <= second <= last for second, _ in by_day - set(walked))


TWICE = "02:30 comes twice, clocks go back from 03:00 to 02:00 on 2026-10-25"


@pytest.mark.parametrize(
    ("text", "instant", "words"),
    [
        (
            "30 2 * * *",
            "2027-03-28T01:00",
            "02:30 does not exist, clocks go forward from 02:00 to 03:00 on 2027-03-28: runs at the end of the gap",
        ),
        (
            "15 30 2 * * *",
            "2027-03-28T01:00",
            "02:30:15 does not exist, clocks go forward from 02:00 to 03:00 on 2027-03-28: runs at the end of the gap",
        ),
        (
            "30 2 * * *",
            "2026-10-25T00:30",
            f"{TWICE}: runs the first time only",
        ),
        (
            "*/30 2 * * *",
            "2026-10-25T00:30",
            f"{TWICE}: a wildcard minute or hour runs both times",
        ),
        (
            "*/30 2 * * *",
            "2026-10-25T01:30",
            f"{TWICE}: a wildcard minute or hour runs both times",
        ),
        ("0 3 * * *", "2027-03-28T01:00", ""),
        ("0 * * * *", "2027-03-28T01:00", ""),
        ("0 * * * *", "2026-10-25T02:00", ""),
        ("0 3 * * *", "2026-10-25T02:00", ""),
        ("59 1 * * *", "2026-10-24T23:59", ""),
        ("30 2 * * *", "2027-03-29T00:30", ""),
        ("30 2 * * *", "2027-03-28T01:30", ""),
    ],
)
def test_what_a_clock_change_did_is_said(text: str, instant: str, words: str) -> None:
    """`pysched next` prints the rule it applied, and nothing where none was."""
    assert compiled(text, "Europe/Berlin").change(second_of(at(instant))) == words


def test_a_moment_is_one_firing() -> None:
    """A boot happens once."""
    boot = Moment(100, 7)
    assert [boot.first(it) for it in (99, 100, 101)] == [(100, 7), (100, 7), None]
    assert [boot.count(*it) for it in ((0, 99), (100, 100), (101, 200))] == [0, 1, 0]
    assert [list(boot.on(it)) for it in (6, 7)] == [[], [100]]
    assert boot.change(100) == ""
