from __future__ import annotations

import pickle
from datetime import date, datetime, time, timedelta

import pytest

from pyscheduler.errors import NaiveTime
from pyscheduler.model.firing import Firing, Missed
from pyscheduler.model.job import AtSpec, CronSpec, EverySpec, RebootSpec, RunDateRule, Window
from pyscheduler.timetable import ALL_DAYS, BusinessCalendar, Timetable, default_run_date
from tests.unit.timetable.support import UK_2027, at, day, job, rows, rows_between, shown, timetable

PREVIOUS = RunDateRule.PREVIOUS_BUSINESS_DAY
NEVER = BusinessCalendar("never", frozenset())


def with_dates(table: Timetable, since: str, until: str) -> list[tuple[str, str]]:
    return [(shown(it), str(it.run_date)) for it in table.between(at(since), at(until))]


# --------------------------------------------------------------------------- union


def test_a_list_of_schedules_is_their_union() -> None:
    """Spec 2: in the order of time, whatever order they are written in."""
    table = timetable("0 19 * * *", AtSpec(times=(time(7),)), "0 12 * * sun")
    assert rows(table, "2027-05-22T08:00", 4) == [
        "2027-05-22T19:00",
        "2027-05-23T07:00",
        "2027-05-23T12:00",
        "2027-05-23T19:00",
    ]


def test_the_same_instant_twice_is_one_firing_for_the_earlier_day() -> None:
    """Spec 2.3: a window opened yesterday and a midnight job meet."""
    table = timetable("0 0 * * *", EverySpec(every_s=1800, opens=time(23), closes=time(0, 30)))
    assert with_dates(table, "2027-05-20T23:15", "2027-05-21T00:30") == [
        ("2027-05-20T23:30", "2027-05-20"),
        ("2027-05-21T00:00", "2027-05-20"),
        ("2027-05-21T00:30", "2027-05-20"),
    ]
    assert [shown(it) for it in table.on(day("2027-05-21"))] == [
        "2027-05-21T23:00",
        "2027-05-21T23:30",
        "2027-05-22T00:00",
        "2027-05-22T00:30",
    ]


def test_a_job_without_schedules_never_fires() -> None:
    """By hand or by its upstreams only."""
    table = timetable()
    assert table.next(at("2027-05-20T00:00")) is None
    assert list(table.between(at("2027-05-20T00:00"), at("2028-05-20T00:00"))) == []
    assert table.on(day("2027-05-20")) == ()
    assert table.missed(at("2027-05-20T00:00"), at("2028-05-20T00:00"), 5) == Missed(0, None, None, ())
    assert table.skipped_by(day("2027-05-20")) is None


def test_next_and_between_agree_at_the_edges() -> None:
    """(since, until], strictly after, naive refused."""
    table = timetable("0 9 * * *")
    assert table.next(at("2027-05-20T09:00")) == Firing(at("2027-05-21T09:00"), day("2027-05-21"))
    assert table.next(at("2027-05-20T09:00") - timedelta(microseconds=1)) == Firing(
        at("2027-05-20T09:00"), day("2027-05-20")
    )
    assert rows_between(table, "2027-05-20T09:00", "2027-05-21T09:00") == ["2027-05-21T09:00"]
    assert rows_between(table, "2027-05-21T09:00", "2027-05-20T09:00") == []
    for ask in (
        lambda: table.next(datetime(2027, 5, 20)),
        lambda: table.missed(at("2027-05-20T00:00"), datetime(2027, 5, 20), 1),
    ):
        with pytest.raises(NaiveTime):
            ask()


# --------------------------------------------------------------------------- run dates


def test_the_previous_business_day_is_the_run_date() -> None:
    """Spec 2.3: 15 3 * * * fires Tuesday 18 May for Friday 14 May, and not at all from Saturday to Monday."""
    table = timetable("15 3 * * *", calendar=UK_2027, run_date=PREVIOUS)
    assert with_dates(table, "2027-05-13T00:00", "2027-05-20T00:00") == [
        ("2027-05-13T03:15", "2027-05-12"),
        ("2027-05-14T03:15", "2027-05-13"),
        ("2027-05-18T03:15", "2027-05-14"),
        ("2027-05-19T03:15", "2027-05-18"),
    ]


def test_a_window_over_midnight_is_for_the_day_it_opened() -> None:
    """Spec 2.3: 23:00 to 00:30 of Friday is for Friday, Saturday's is dropped."""
    table = timetable(EverySpec(every_s=1800, opens=time(23), closes=time(0, 30)), calendar=UK_2027)
    assert with_dates(table, "2027-05-14T22:00", "2027-05-18T22:00") == [
        ("2027-05-14T23:00", "2027-05-14"),
        ("2027-05-14T23:30", "2027-05-14"),
        ("2027-05-15T00:00", "2027-05-14"),
        ("2027-05-15T00:30", "2027-05-14"),
    ]


def test_without_a_calendar_the_previous_business_day_is_yesterday() -> None:
    """Every day is a working day; where none lies before, the date itself."""
    assert timetable("0 3 * * *", run_date=PREVIOUS).run_date(day("2027-05-17")) == day("2027-05-16")
    assert Timetable((), timetable().zone, NEVER, PREVIOUS).run_date(day("2027-05-17")) == day("2027-05-17")


def test_the_firings_of_a_run_date_are_found() -> None:
    """What backfill and `why` ask: by run date, not by landing day."""
    table = timetable("15 3,15 * * *", calendar=UK_2027, run_date=PREVIOUS)
    assert [shown(it) for it in table.on(day("2027-05-14"))] == ["2027-05-18T03:15", "2027-05-18T15:15"]
    assert [shown(it) for it in table.on(day("2027-05-12"))] == ["2027-05-13T03:15", "2027-05-13T15:15"]
    assert table.on(day("2027-05-15")) == table.on(day("2027-05-17")) == ()
    plain = timetable("15 3 * * *", calendar=UK_2027)
    assert [shown(it) for it in plain.on(day("2027-05-18"))] == ["2027-05-18T03:15"]
    assert plain.on(day("2027-05-17")) == ()
    assert timetable("15 3 * * *", calendar=NEVER, run_date=PREVIOUS).on(day("2027-05-17")) == ()


def test_the_first_firing_of_a_run_date_is_the_first_of_them() -> None:
    """What a backfill takes: a job of every second is not walked through for it."""
    seconds = timetable("* * * * * *")
    assert seconds.first_on(day("2027-05-18")) == Firing(at("2027-05-18T00:00"), day("2027-05-18"))
    table = timetable("15 3,15 * * *", calendar=UK_2027, run_date=PREVIOUS)
    assert table.first_on(day("2027-05-14")) == table.on(day("2027-05-14"))[0]
    assert table.first_on(day("2027-05-15")) is None


def test_the_firings_of_a_date_with_a_repeated_hour_are_all_of_it() -> None:
    """St John's, 2006: Saturday's last hour comes again after Sunday has begun."""
    table = timetable("*/30 * * * *", timezone="America/St_Johns")
    saturday = [shown(it) for it in table.on(day("2006-10-28"))]
    assert saturday[-3:] == ["2006-10-29T01:30", "2006-10-29T02:00", "2006-10-29T03:00"]
    assert all(it.run_date == day("2006-10-28") for it in table.on(day("2006-10-28")))
    assert [shown(it) for it in table.on(day("2006-10-29"))][:2] == ["2006-10-29T02:30", "2006-10-29T03:30"]


@pytest.mark.parametrize(
    ("rule", "calendar", "now", "expected"),
    [
        (RunDateRule.SAME_DAY, UK_2027, "2027-05-14T12:00", "2027-05-14"),
        (RunDateRule.SAME_DAY, UK_2027, "2027-05-16T12:00", "2027-05-14"),
        (RunDateRule.SAME_DAY, UK_2027, "2027-05-17T12:00", "2027-05-14"),
        (RunDateRule.SAME_DAY, UK_2027, "2027-05-13T22:30", "2027-05-14"),
        (PREVIOUS, UK_2027, "2027-05-14T12:00", "2027-05-13"),
        (PREVIOUS, UK_2027, "2027-05-16T12:00", "2027-05-14"),
        (PREVIOUS, UK_2027, "2027-05-18T12:00", "2027-05-14"),
        (RunDateRule.SAME_DAY, ALL_DAYS, "2027-05-16T12:00", "2027-05-16"),
        (PREVIOUS, ALL_DAYS, "2027-05-16T12:00", "2027-05-15"),
        (RunDateRule.SAME_DAY, NEVER, "2027-05-16T12:00", "2027-05-16"),
        (PREVIOUS, NEVER, "2027-05-16T12:00", "2027-05-16"),
    ],
)
def test_a_trigger_without_a_date_is_for_the_working_day_at_hand(
    rule: RunDateRule, calendar: BusinessCalendar, now: str, expected: str
) -> None:
    """Spec 11.1, in the job's own zone."""
    assert default_run_date(job(run_date=rule, timezone="Europe/Berlin"), calendar, at(now)) == day(expected)


# --------------------------------------------------------------------------- missed


def test_what_was_missed_is_counted_with_its_first_and_last() -> None:
    """(since, until]: the firing handled last is not missed, one due now is."""
    table = timetable("0 6 * * *")
    missed = table.missed(at("2027-06-01T06:00"), at("2027-06-08T06:00"), 3)
    assert missed.count == 7
    assert missed.first == Firing(at("2027-06-02T06:00"), day("2027-06-02"))
    assert missed.last == Firing(at("2027-06-08T06:00"), day("2027-06-08"))
    assert [shown(it) for it in missed.newest] == ["2027-06-06T06:00", "2027-06-07T06:00", "2027-06-08T06:00"]


def test_fewer_missed_than_asked_for_are_all_given() -> None:
    """And none are kept where none are asked for, counted all the same."""
    table = timetable("0 6 * * *")
    assert len(table.missed(at("2027-06-01T06:00"), at("2027-06-03T06:00"), 1000).newest) == 2
    none = table.missed(at("2027-06-01T06:00"), at("2027-06-03T06:00"), 0)
    assert (none.count, none.newest, none.last) == (2, (), Firing(at("2027-06-03T06:00"), day("2027-06-03")))
    assert table.missed(at("2027-06-01T06:00"), at("2027-06-02T05:59"), 5) == Missed(0, None, None, ())
    assert table.missed(at("2027-06-02T06:00"), at("2027-06-01T05:59"), 5) == Missed(0, None, None, ())


def test_ten_years_missed_of_several_schedules_are_a_number() -> None:
    """Union, calendar and clock changes included; what falls together counts once."""
    table = timetable("* * * * *", "*/7 3 * * *", AtSpec(times=(time(9),)), timezone="Europe/Berlin")
    missed = table.missed(at("2016-07-12T00:00"), at("2026-07-12T00:00"), 100)
    assert missed.count == 5_258_880
    assert shown(missed.newest[0]) == "2026-07-11T22:21"


# --------------------------------------------------------------------------- jitter


def test_jitter_delays_a_job_always_by_the_same() -> None:
    """A stable fraction of the job's own, so it is spread among others and never drifts; the instant stays nominal."""
    spec = AtSpec(times=(time(6),), jitter_s=600)
    firings = list(timetable(spec, name="alpha").between(at("2027-06-01T00:00"), at("2027-06-09T00:00")))
    assert {it.jitter_s for it in firings} == {firings[0].jitter_s}
    assert all(it.scheduled_at.time() == time(6) for it in firings)
    spread = {timetable(spec, name=f"job{n}").next(at("2027-06-01T00:00")) for n in range(50)}
    delays = [it.jitter_s for it in spread if it]
    assert len(set(delays)) == 50
    assert 0 <= min(delays) < 100 < 500 < max(delays) <= 600


def test_a_jobs_jitter_is_the_same_in_every_release() -> None:
    """An upgrade must not move the starts of a whole park."""
    firing = timetable(AtSpec(times=(time(6),), jitter_s=1000), name="nightly").next(at("2027-06-01T00:00"))
    assert firing is not None
    assert firing.jitter_s == NIGHTLY_JITTER_S


NIGHTLY_JITTER_S = 24.161


def test_jitter_is_each_schedules_own() -> None:
    """Where two name one instant, the earlier landing day's, and the smaller of equals."""
    table = timetable(AtSpec(times=(time(6),), jitter_s=600), AtSpec(times=(time(6), time(7))))
    assert [it.jitter_s for it in table.between(at("2027-06-01T00:00"), at("2027-06-02T00:00"))] == [0.0, 0.0]
    apart = timetable(AtSpec(times=(time(6),), jitter_s=600), AtSpec(times=(time(7),)))
    assert [it.jitter_s > 0 for it in apart.between(at("2027-06-01T00:00"), at("2027-06-02T00:00"))] == [True, False]


# --------------------------------------------------------------------------- boots, words


def test_a_boot_is_among_a_jobs_firings_once_it_is_known() -> None:
    """The engine says when; without it `@reboot` is silent."""
    both = job(RebootSpec(), "0 6 * * *")
    booted = Timetable.of(both, ALL_DAYS, booted_at=at("2027-06-01T03:00:07"))
    assert rows(booted, "2027-06-01T00:00", 3) == ["2027-06-01T03:00:07", "2027-06-01T06:00", "2027-06-02T06:00"]
    assert rows(Timetable.of(both, ALL_DAYS), "2027-06-01T00:00", 1) == ["2027-06-01T06:00"]


def test_the_reading_of_a_star_reaches_the_schedules() -> None:
    """`cron_star` is the configuration's, handed through."""
    both = job("0 9 */2 * 1")
    assert Timetable.of(both, ALL_DAYS, star="leading").schedules != Timetable.of(both, ALL_DAYS).schedules


def test_the_rule_of_a_clock_change_is_said_of_its_firing() -> None:
    """Whichever schedule of the job it came from."""
    table = timetable("0 12 * * *", "30 2 * * *", timezone="Europe/Berlin")
    gap = table.next(at("2027-03-27T12:00"))
    assert gap is not None
    assert table.rule_at(gap).endswith("runs at the end of the gap")
    noon = table.next(gap.scheduled_at)
    assert noon is not None
    assert table.rule_at(noon) == ""


def test_why_nothing_fires_on_a_date_is_said() -> None:
    """A day the schedules name but something drops; None where one fires or none was meant."""
    table = timetable("0 9 * * *", "0 9 17 * *", calendar=UK_2027, timezone="Europe/Berlin")
    assert table.skipped_by(day("2027-05-17")) == "2027-05-17 is a holiday of calendar uk"
    assert table.skipped_by(at("2027-05-16T22:30")) == "2027-05-17 is a holiday of calendar uk"
    assert table.skipped_by(day("2027-05-18")) is None
    assert timetable("0 9 1 * *", calendar=UK_2027).skipped_by(day("2027-05-17")) is None
    ended = CronSpec(text="0 9 * * *", end=date(2027, 5, 1))
    assert timetable(ended).skipped_by(day("2027-05-17")) == "the schedule ended on 2027-05-01"
    lunch = AtSpec(times=(time(12),), exclude=(Window(start_time=time(12), end_time=time(13)),))
    assert timetable(lunch).skipped_by(day("2027-05-17")) == "its exclude windows cover every time on 2027-05-17"
    assert timetable(lunch, "0 9 * * *").skipped_by(day("2027-05-17")) is None


def test_a_timetable_travels() -> None:
    """Parsed configurations are cached and sent between processes."""
    table = timetable("0 9 * * *", EverySpec(every_s=60), calendar=UK_2027, run_date=PREVIOUS, timezone="Europe/Berlin")
    copy = pickle.loads(pickle.dumps(table))
    assert copy == table
    assert copy.next(at("2027-05-20T00:00")) == table.next(at("2027-05-20T00:00"))
