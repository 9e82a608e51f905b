"""What a loading yields: the whole configuration, checked, every default filled in. Frozen; equal where digests are.

No value of the environment leaves with it: `variables` is not in its repr, not in a pickle and not compared. Fields
that are no templates had their `${NAME}` filled in while loading; `variables_in_clear` names those variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from pyscheduler.model.job import CalendarSpec, ConfigSource, Job, Settings
from pyscheduler.model.problem import Problem
from pyscheduler.timetable.calendars import ALL_DAYS, BusinessCalendar
from pyscheduler.timetable.firings import Timetable


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Config:
    """A configuration that may be used.

    `jobs` is in the order of names. `sources` are the files as typed, in load order, ICS calendars included. `digest`
    covers all of them (spec 1.1). `variables` holds every `${NAME}` the text read, with its value; `withheld` their
    names (DESIGN 8 row 7). `notifiers`, `routes` and `agents` are checked and kept as typed. `loaded_on` is the day
    from which horizons were counted; `pending` names the jobs whose look-ahead had no time (`deferred_checks`).
    `patterns` holds every include pattern with the files it named.
    """

    path: Path
    settings: Settings
    jobs: Mapping[str, Job]
    calendars: Mapping[str, CalendarSpec]
    pools: Mapping[str, int]
    sources: tuple[ConfigSource, ...]
    digest: str
    loaded_on: date
    warnings: tuple[Problem, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    withheld: frozenset[str] = frozenset()
    variables_in_clear: frozenset[str] = frozenset()
    notifiers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    routes: tuple[Mapping[str, Any], ...] = ()
    agents: Mapping[str, Any] = field(default_factory=dict)
    pending: tuple[str, ...] = ()
    patterns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def calendar_for(self, job: Job | str) -> BusinessCalendar:
        """Return the calendar by which the job's days count; without one every day does. KeyError: no such job."""
        name = (self.jobs[job] if isinstance(job, str) else job).calendar
        return ALL_DAYS if name is None else self.calendar(name)

    def calendar(self, name: str) -> BusinessCalendar:
        """Return the calendar of that name. KeyError: there is none."""
        known: dict[str, BusinessCalendar] = self._kept("calendars")
        if name not in known:
            known[name] = BusinessCalendar.of(self.calendars[name])
        return known[name]

    def timetable(self, job: str, *, booted_at: datetime | None = None) -> Timetable:
        """Return the job's firings, computed once. `booted_at` is when `@reboot` fires; without it, it never does."""
        known: dict[tuple[str, datetime | None], Timetable] = self._kept("timetables")
        key = (job, booted_at)
        if key not in known:
            spec = self.jobs[job]
            known[key] = Timetable.of(spec, self.calendar_for(spec), star=self.settings.cron_star, booted_at=booted_at)
        return known[key]

    def dependents(self, name: str) -> tuple[str, ...]:
        """Return the jobs that depend on `name`, in the order of names."""
        known: dict[str, tuple[str, ...]] = self._kept("dependents")
        if not known:
            edges: dict[str, list[str]] = {"": []}
            for job in self.jobs.values():
                for upstream in dict.fromkeys(dependency.job for dependency in job.depends_on):
                    edges.setdefault(upstream, []).append(job.name)
            known.update((upstream, tuple(jobs)) for upstream, jobs in edges.items())
        return known.get(name, ())

    def with_environment(self, env: Mapping[str, str]) -> Config:
        """Return the same configuration with its variables' values taken from `env`. KeyError names a missing one."""
        return replace(self, variables={name: env[name] for name in sorted(self.withheld)})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and (self.path, self.digest) == (other.path, other.digest)

    def __hash__(self) -> int:
        return hash((self.path, self.digest))

    def __repr__(self) -> str:
        return f"Config({str(self.path)!r}, {len(self.jobs)} jobs, digest {self.digest[:12]})"

    def __getstate__(self) -> dict[str, Any]:
        state = {each.name: getattr(self, each.name) for each in fields(self)}
        state["variables"] = {}
        return state

    def _kept(self, what: str) -> dict[Any, Any]:
        kept: dict[Any, Any] = self.__dict__.setdefault(f"_{what}", {})
        return kept
