from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, time, timedelta

import pytest

from pyscheduler.errors import NaiveTime
from pyscheduler.model.firing import Firing
from pyscheduler.model.job import CronSpec, EverySpec, Window
from pyscheduler.timetable.moments import LAST_SECOND, day_of
from tests.unit.timetable.support import UK_2027, at, compiled, rows, rows_between

NINE = compiled("0 9 * * *", "Europe/Berlin", UK_2027)


def test_next_is_strictly_after() -> None:
    """At the firing itself the next one is meant; a microsecond before, this one."""
    firing = NINE.next(at("2027-05-20T06:59:59"))
    assert firing == Firing(at("2027-05-20T07:00"), date(2027, 5, 20))
    assert NINE.next(at("2027-05-20T07:00")) == Firing(at("2027-05-21T07:00"), date(2027, 5, 21))
    assert NINE.next(at("2027-05-20T07:00") - timedelta(microseconds=1)) == firing
    assert NINE.next(at("2027-05-20T07:00") + timedelta(microseconds=1)) != firing


def test_between_leaves_its_start_out_and_takes_its_end_in() -> None:
    """(since, until], as catch-up needs it."""
    assert rows_between(NINE, "2027-05-19T07:00", "2027-05-21T07:00") == ["2027-05-20T07:00", "2027-05-21T07:00"]
    assert rows_between(NINE, "2027-05-21T07:00", "2027-05-21T07:00") == []
    assert rows_between(NINE, "2027-05-21T07:00", "2027-05-20T07:00") == []


def test_naive_instants_are_refused() -> None:
    """A zone is never guessed."""
    with pytest.raises(NaiveTime):
        NINE.next(datetime(2027, 5, 20))
    with pytest.raises(NaiveTime):
        list(NINE.between(at("2027-05-20T00:00"), datetime(2027, 5, 20)))


def test_an_instant_may_come_in_any_zone() -> None:
    """Only the instant counts."""
    moment = at("2027-05-20T06:00").astimezone(NINE.zone._rules)
    assert NINE.next(moment) == NINE.next(at("2027-05-20T06:00"))


def test_the_ends_of_time_have_no_firings_and_raise_nothing() -> None:
    """Year 1, the last second of 9999, and what lies between."""
    assert rows(NINE, "0001-01-03T00:00", 1) == ["1970-01-01T08:00"]
    assert NINE.next(datetime.max.replace(tzinfo=UTC)) is None
    for zone in ("America/New_York", "Pacific/Kiritimati", "UTC"):
        for text in ("59 23 31 12 *", "* * * * *", "0 0 29 2 *", "0 0 L * *"):
            firings = list(compiled(text, zone).between(at("9999-12-31T09:00"), datetime.max.replace(tzinfo=UTC)))
            assert all(firing.scheduled_at.year == 9999 for firing in firings)
    every = compiled(EverySpec(every_s=60), "America/New_York")
    assert len(list(every.between(at("9999-12-31T23:00"), datetime.max.replace(tzinfo=UTC)))) == 59
    assert every.count(LAST_SECOND - 3599, LAST_SECOND + 99999) == 60
    assert every.count(-99999, -1) == 0


def test_it_says_what_it_is() -> None:
    """In words for people, and to a debugger with its zone."""
    assert NINE.text() == "cron 0 9 * * *"
    assert repr(NINE) == "<Schedule cron 0 9 * * * in Europe/Berlin>"


def test_it_travels_as_what_it_was_compiled_from() -> None:
    """A helper process compiles, this one gets the shared object again."""
    assert pickle.loads(pickle.dumps(NINE)) is NINE


def test_why_a_day_is_passed_over_is_said() -> None:
    """A calendar, a bound, or windows that take all there is; nothing where it fires."""
    assert NINE.why_not(day_of(date(2027, 5, 17))) == "2027-05-17 is a holiday of calendar uk"
    assert NINE.why_not(day_of(date(2027, 5, 18))) == ""
    lunch = CronSpec(text="30 12 * * *", exclude=(Window(start=datetime(2027, 5, 18), end=datetime(2027, 5, 19)),))
    assert compiled(lunch).why_not(day_of(date(2027, 5, 18))) == "its exclude windows cover every time on 2027-05-18"
    assert compiled(lunch).why_not(day_of(date(2027, 5, 19))) == ""
    assert compiled("0 0 1 * *").why_not(day_of(date(2027, 5, 18))) == ""
    always = EverySpec(every_s=60, exclude=(Window(start_time=time(0), end_time=time(23, 59)),))
    assert compiled(always).why_not(day_of(date(2027, 5, 18))) == "its exclude windows cover every time on 2027-05-18"
    missing = "the clocks of Europe/Berlin leave out every time it names on 2027-03-28"
    assert compiled("*/30 2 * * *", "Europe/Berlin").why_not(day_of(date(2027, 3, 28))) == missing


def test_a_change_is_said_only_of_a_firing() -> None:
    """Not of any instant that happens to lie at a clock change."""
    schedule = compiled("30 2 * * *", "Europe/Berlin")
    assert schedule.change(1806195600).startswith("02:30 does not exist")
    assert schedule.change(1806195600 + 60) == ""
    assert compiled("30 4 * * *", "Europe/Berlin").change(1806195600) == ""
