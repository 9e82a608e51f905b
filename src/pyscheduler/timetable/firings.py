"""All firings of one job: its schedules united, with the run date each is for.

What always holds: firings ascend and no instant comes twice; where several schedules, or two landing days, name one
instant, the earlier landing day gives the run date; `next`, `between`, `on` and `missed` tell one and the same story.
`missed` counts by arithmetic, so a clock that jumps ten years costs milliseconds (field case FC-024).
Spec: jobs.md 2.3, 9.2, 11.1; DESIGN 8 row 14.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from hashlib import blake2b

from pyscheduler.model.firing import Firing, Missed
from pyscheduler.model.job import Job, RebootSpec, RunDateRule, ScheduleSpec
from pyscheduler.timetable.calendars import BusinessCalendar
from pyscheduler.timetable.counting import count_firings, newest_from
from pyscheduler.timetable.moments import DAY_S, LAST_SECOND, date_of, day_of, instant_of, second_of
from pyscheduler.timetable.schedule import Schedule, boot_schedule, compile_schedule
from pyscheduler.timetable.zone import Zone, zone


@dataclass(frozen=True, slots=True)
class Timetable:
    """When one job fires. Immutable and picklable; build it with `of`.

    `fraction` is the job's own, 0 to 1: which part of a schedule's `jitter` its starts are delayed by, always the same.
    """

    schedules: tuple[Schedule, ...]
    zone: Zone
    calendar: BusinessCalendar
    run_date_rule: RunDateRule = RunDateRule.SAME_DAY
    fraction: float = 0.0

    @classmethod
    def of(
        cls, job: Job, calendar: BusinessCalendar, *, star: str = "lone", booted_at: datetime | None = None
    ) -> Timetable:
        """Return a job's timetable on its effective calendar. Raises ScheduleError and UnknownZone.

        `booted_at` (aware) is when this boot began: what `@reboot` fires at; without it `@reboot` never fires.
        """

        def compiled(spec: ScheduleSpec) -> Schedule:
            if isinstance(spec, RebootSpec) and booted_at is not None:
                return boot_schedule(spec, job.timezone, calendar, booted_at, star)
            return compile_schedule(spec, job.timezone, calendar, star=star)

        schedules = tuple(dict.fromkeys(compiled(spec) for spec in job.schedules))
        return cls(schedules, zone(job.timezone), calendar, job.run_date, _fraction(job.name))

    def next(self, after: datetime) -> Firing | None:
        """Return the first firing strictly after `after` (aware); None where fifty years hold none. NaiveTime."""
        return next(self._walk(second_of(after) + 1, LAST_SECOND), None)

    def between(self, since: datetime, until: datetime) -> Iterator[Firing]:
        """Yield the firings in (since, until], ascending. NaiveTime."""
        return self._walk(second_of(since) + 1, second_of(until))

    def on(self, run_date: date) -> tuple[Firing, ...]:
        """Return every firing whose run date this is, ascending."""
        return tuple(self._on(run_date))

    def first_on(self, run_date: date) -> Firing | None:
        """Return the first firing whose run date this is, without looking at the others; None where there is none."""
        return next(self._on(run_date), None)

    def missed(self, since: datetime, until: datetime, keep: int) -> Missed:
        """Return how many firings lie in (since, until], the first, the last, and the newest `keep` in ascending order.

        Raises NaiveTime.
        """
        begin, end = second_of(since) + 1, second_of(until)
        first = next(self._walk(begin, end), None)
        if first is None:
            return Missed(0, None, None, ())
        count = count_firings(self.schedules, begin, end)
        newest = tuple(self._walk(newest_from(self.schedules, begin, end, max(keep, 1), count), end))
        return Missed(count, first, newest[-1], newest[-keep:] if keep > 0 else ())

    def run_date(self, landing_day: date) -> date:
        """Return the run date of a firing that belongs to this local date; the date itself where none lies before."""
        if self.run_date_rule is RunDateRule.SAME_DAY:
            return landing_day
        return self.calendar.previous(landing_day) or landing_day

    def rule_at(self, firing: Firing) -> str:
        """Say what a clock change did to a firing, in words for people; empty where nothing. DESIGN 8 row 4."""
        second = second_of(firing.scheduled_at)
        return next(filter(None, (schedule.change(second) for schedule in self.schedules)), "")

    def skipped_by(self, when: date | datetime) -> str | None:
        """Say why nothing fires on a local date that a bare schedule names: calendar, window, start, end.

        `when` is a date, or an aware instant whose local date is meant. None where something fires or nothing is named.
        """
        day = day_of(self.zone.today(when) if isinstance(when, datetime) else when)
        if any(next(schedule.on(day), None) is not None for schedule in self.schedules):
            return None
        return next(filter(None, (schedule.why_not(day) for schedule in self.schedules)), None)

    def _walk(self, second: int, last: int) -> Iterator[Firing]:
        heads = [(schedule.first(second), schedule) for schedule in self.schedules]
        while live := [(found, schedule) for found, schedule in heads if found is not None and found[0] <= last]:
            at, day = min(found for found, _ in live)
            jitter_s = min(schedule.spec.jitter_s for found, schedule in live if found == (at, day)) * self.fraction
            yield Firing(instant_of(at), self.run_date(date_of(day)), round(jitter_s, 3))
            heads = [(schedule.first(at + 1) if found[0] == at else found, schedule) for found, schedule in live]

    def _on(self, run_date: date) -> Iterator[Firing]:
        landing = self._landing_day(run_date)
        if landing is None:
            return
        begins = [next(schedule.on(landing), None) for schedule in self.schedules]
        begin = min((second for second in begins if second is not None), default=None)
        if begin is None:
            return
        # A window may run into the next day, and a repeated hour lie behind midnight; never beyond that day's end.
        for firing in self._walk(begin, self.zone.first_pass((landing + 2) * DAY_S)):
            if firing.run_date == run_date:
                yield firing

    def _landing_day(self, run_date: date) -> int | None:
        """Return the one landing day whose firings are for a run date."""
        if self.run_date_rule is RunDateRule.SAME_DAY:
            return day_of(run_date)
        landing = self.calendar.next(run_date) if self.calendar.is_business_day(run_date) else None
        return None if landing is None else day_of(landing)


def default_run_date(job: Job, calendar: BusinessCalendar, now: datetime) -> date:
    """Return the run date a trigger without one is for, at `now` (aware). Spec: jobs.md 11.1.

    `same_day`: today in the job's zone, or the latest working day before it. `previous_business_day`: the working day
    before today. A calendar without working days: today.
    """
    today = zone(job.timezone).today(now)
    if job.run_date is RunDateRule.SAME_DAY and calendar.is_business_day(today):
        return today
    return calendar.previous(today) or today


def _fraction(name: str) -> float:
    """Return a number from 0 to 1 that is the job's own, the same in every process and release."""
    return int.from_bytes(blake2b(name.encode(), digest_size=6).digest()) / 2**48
