"""From what the configuration says to a schedule that answers: cron, every, at, business_day, once, reboot.

What always holds: what compiles can be asked without an exception ever after, whatever the date; what cannot be
understood is refused here with a ScheduleError, and `check_can_fire` refuses in bounded time what would never fire.
"""

from __future__ import annotations

from datetime import date, datetime
from functools import lru_cache
from typing import Final

from pyscheduler.model.job import (
    AtSpec,
    BusinessDaySpec,
    CronSpec,
    EverySpec,
    OnceSpec,
    RebootSpec,
    ScheduleSpec,
)
from pyscheduler.timetable.calendars import ALL_DAYS, BusinessCalendar
from pyscheduler.timetable.compiled import Schedule
from pyscheduler.timetable.cron_days import STARS, cron_days
from pyscheduler.timetable.cron_text import read_cron
from pyscheduler.timetable.days import EVERY_DAY, DayRule, LandingDays, MonthlyBusinessDay, OneDay
from pyscheduler.timetable.exclude import Excluded
from pyscheduler.timetable.mistakes import ScheduleError
from pyscheduler.timetable.moments import DAY_S, HORIZON_DAYS, LAST_DAY, date_of, day_of, second_of, wall_of
from pyscheduler.timetable.named import NamedTimes
from pyscheduler.timetable.steps import Steps
from pyscheduler.timetable.times import Listed, Times, clock_times, cron_times, second_of_day
from pyscheduler.timetable.walks import InRealTime, Moment, OnTheWall, Walk
from pyscheduler.timetable.wording import duration_s, duration_text, schedule_text
from pyscheduler.timetable.zone import Zone
from pyscheduler.timetable.zone import zone as zone_of

__all__ = ["Schedule", "ScheduleError", "boot_schedule", "check_can_fire", "compile_schedule", "spec_from_text"]

_NO_TIMES: Final = Listed(())


def spec_from_text(text: str) -> CronSpec | EverySpec | RebootSpec:
    """Return the specification that a schedule's text stands for: cron, a macro, `@every D` or `@reboot`.

    Raises ScheduleError. Spec: jobs.md 2.1, DESIGN 8 row 14.
    """
    words = text.split()
    if words == ["@reboot"]:
        return RebootSpec()
    if words and words[0] == "@every":
        every_s = duration_s(words[1]) if len(words) == 2 else None
        if every_s is None:
            raise ScheduleError("macro", f"{text.strip()!r} names no duration", "write for example @every 1h30m")
        return EverySpec(every_s=every_s)
    read_cron(text)
    return CronSpec(text=text)


def compile_schedule(
    spec: ScheduleSpec, zone: str, calendar: BusinessCalendar = ALL_DAYS, *, star: str = "lone"
) -> Schedule:
    """Return the schedule of a specification in an IANA zone, its days off dropped.

    `star` says when a cron day field is unrestricted: `lone` or `leading` (`cron_days.py`). Equal arguments give the
    same object. A RebootSpec compiles to a schedule that never fires; `boot_schedule` knows the instant. Raises
    ScheduleError and UnknownZone.
    """
    if star not in STARS:
        raise ScheduleError("cron_star", f"cron_star is {star!r}", f"write {' or '.join(STARS)}")
    return _compiled(spec, zone, calendar, star)


@lru_cache(maxsize=16384)
def _compiled(spec: ScheduleSpec, zone: str, calendar: BusinessCalendar, star: str) -> Schedule:
    _check_filters(spec)
    place = zone_of(zone)
    days, excluded = LandingDays(_day_rule(spec, calendar, star), spec, calendar), Excluded(spec.exclude)
    walk = _walk(spec, place, days, excluded)
    return Schedule(spec, place, days, excluded, walk, (_compiled, (spec, zone, calendar, star)))


def boot_schedule(
    spec: RebootSpec, zone: str, calendar: BusinessCalendar, booted_at: datetime, star: str = "lone"
) -> Schedule:
    """Return the schedule that fires once, when this boot began; never where its filters drop that day or time."""
    plain = compile_schedule(spec, zone, calendar, star=star)
    second = second_of(booted_at)
    day, at = divmod(second + plain.zone.offset_at(second), DAY_S)
    days = LandingDays(OneDay(day), spec, calendar)
    if plain.excluded.end_of(day * DAY_S + at) is not None or not days.names(day):
        return plain
    made_by = (boot_schedule, (spec, zone, calendar, booted_at, star))
    return Schedule(spec, plain.zone, days, plain.excluded, Moment(second, day), made_by)


# --------------------------------------------------------------------------- parts


def _day_rule(spec: ScheduleSpec, calendar: BusinessCalendar, star: str) -> DayRule:
    match spec:
        case CronSpec():
            return cron_days(read_cron(spec.text), star)
        case BusinessDaySpec():
            if spec.nth == 0 or abs(spec.nth) > 31:
                raise ScheduleError(
                    "business_day", f"business_day is {spec.nth}, and it runs from -31 to 31 without 0", "write 1 or -1"
                )
            return MonthlyBusinessDay(spec.nth, calendar)
        case OnceSpec():
            return OneDay(wall_of(spec.at) // DAY_S)
        case _:
            return EVERY_DAY


def _walk(spec: ScheduleSpec, zone: Zone, days: LandingDays, excluded: Excluded) -> Walk:
    if isinstance(spec, EverySpec):
        return _steps(spec, zone, days, excluded)
    named = NamedTimes(days, _times(spec), excluded)
    if isinstance(spec, CronSpec) and read_cron(spec.text).keeps_real_time:
        return InRealTime(named, zone)
    return OnTheWall(named, zone)


def _times(spec: ScheduleSpec) -> Times:
    match spec:
        case CronSpec():
            text = read_cron(spec.text)
            return cron_times(text.seconds, text.minutes, text.hours)
        case AtSpec() | BusinessDaySpec():
            if not spec.times:
                raise ScheduleError(
                    "at", "the list of times is empty, so it never fires", 'write for example at: "07:15"'
                )
            return clock_times(spec.times)
        case OnceSpec():
            return Listed((wall_of(spec.at) % DAY_S,))
        case _:
            return _NO_TIMES


def _steps(spec: EverySpec, zone: Zone, days: LandingDays, excluded: Excluded) -> Steps:
    if spec.every_s < 1:
        raise ScheduleError("every", f"every is {spec.every_s} s, and a step is a second or more")
    if (spec.opens is None) != (spec.closes is None):
        raise ScheduleError("between", "the window has only one end", 'write for example between: "07:00-19:00"')
    if spec.opens is not None and spec.closes is not None:
        opens, closes = second_of_day(spec.opens), second_of_day(spec.closes)
        return Steps(days, zone, excluded, step=spec.every_s, opens=opens, closes=closes)
    if spec.every_s > DAY_S:
        raise ScheduleError(
            "every",
            f"every {duration_text(spec.every_s)} is longer than a day, and steps begin anew at each local midnight",
            "write a cron expression, or at with days",
        )
    return Steps(days, zone, excluded, step=spec.every_s, opens=0, closes=DAY_S)


def _check_filters(spec: ScheduleSpec) -> None:
    if any(not 0 <= day <= 6 for day in spec.days):
        raise ScheduleError("days", f"days are {spec.days}, and weekdays run from 0 (Monday) to 6")
    if any(not 1 <= month <= 12 for month in spec.months):
        raise ScheduleError("months", f"months are {spec.months}, and months run from 1 to 12")
    if spec.start is not None and spec.end is not None and spec.end < spec.start:
        raise ScheduleError("end", f"the schedule ends on {spec.end}, before it starts on {spec.start}", "swap the two")
    if spec.jitter_s < 0:
        raise ScheduleError("jitter", f"jitter is {spec.jitter_s} s, and it cannot be negative")


# --------------------------------------------------------------------------- can it fire at all?

_KNOWN_DAYS: Final = 4
"""So many named days that are all holidays are no accident: a yearly day has four of them in the 1464 days after which
jobs.md 2.3 gives up."""

_ANY_YEAR: Final = date(2000, 1, 1)


def check_can_fire(spec: ScheduleSpec, zone: str, calendar: BusinessCalendar = ALL_DAYS, star: str = "lone") -> None:
    """Raise ScheduleError where the schedule cannot be compiled or can never fire; else return.

    Looks through fifty years, so 29 February is right over 2096 to 2104, in under 50 ms. What is only over (`once` or
    `end` in the past) has fired and is no error here; what waits for a boot is none either. Where a calendar's sources
    end, a schedule that names nothing but holidays up to there never fires as far as anybody knows.
    """
    schedule = compile_schedule(spec, zone, calendar, star=star)
    if isinstance(spec, RebootSpec):
        return
    begin = _first_day_to_look_at(spec, calendar)
    found = schedule.first((begin - 1) * DAY_S)
    if found is None:
        raise ScheduleError("schedule", "this schedule can never fire", _why_never(schedule, begin))
    ends = LAST_DAY if calendar.ends is None else day_of(calendar.ends)
    if found[1] > ends and _only_days_off(schedule, begin, ends):
        raise ScheduleError(
            "schedule",
            f"this schedule can never fire: up to {calendar.ends} it names days off of calendar {calendar.name} only",
            "choose other days or another calendar",
        )


def _first_day_to_look_at(spec: ScheduleSpec, calendar: BusinessCalendar) -> int:
    """Return a day from which fifty years show all there is; where the schedule starts later, it looks from there."""
    if spec.end is not None:
        return max(day_of(spec.end) - HORIZON_DAYS + 366, 1)
    if isinstance(spec, OnceSpec):
        return 1
    return day_of(date(min(calendar.holidays).year, 1, 1)) if calendar.holidays else day_of(_ANY_YEAR)


def _only_days_off(schedule: Schedule, begin: int, ends: int) -> bool:
    """Return whether the schedule names at least `_KNOWN_DAYS` days up to `ends`, given that no working day is one."""
    for _ in range(_KNOWN_DAYS):
        day = schedule.days.first_bare(begin)
        if day is None or day > ends:
            return False
        begin = day + 1
    return True


def _why_never(schedule: Schedule, begin: int) -> str:
    days = schedule.days
    day = days.first(begin)
    if day is not None:
        return f"its exclude windows cover every time it names, on {date_of(day)} and on any other day"
    day = days.first_bare(begin) or days.rule.first(max(begin, days.first_day))
    return days.why_not(day) if day else f"no year has a day that {schedule_text(schedule.spec)} names"
