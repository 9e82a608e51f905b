"""What a changed configuration changes: its definitions, and the firings, run dates and waits that follow from them.

`config_diff` compares what is written, `firing_diff` what will happen in a window. Neither touches anything; templates
are compared as typed, and a setting is shown with its `${NAME}` put back, so that no value of the environment can show.
DESIGN 11 (`pysched diff OLD NEW --days 90`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from pyscheduler.config.result import Config
from pyscheduler.config.templates import redact
from pyscheduler.model.job import Dependency, Job
from pyscheduler.timetable.forecast import forecast
from pyscheduler.timetable.zone import zone

_NOT_COMPARED: Final = frozenset({"name", "source"})
_MOVES_FIRINGS: Final = frozenset({"schedules", "calendar", "timezone", "run_date", "enabled", "depends_on", "manual"})
MAX_LINES: Final = 10_000


@dataclass(frozen=True, slots=True)
class ConfigDiff:
    """What differs between two configurations. `changed` names the fields of each job that differ, in order.

    `settings` and `pools` hold old and new value as people may see them, None where a pool is missing. `calendars`
    names those that were added, removed or have other days. False where nothing differs.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    settings: Mapping[str, tuple[object, object]] = field(default_factory=dict)
    pools: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict)
    calendars: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.settings or self.pools or self.calendars)


def config_diff(old: Config, new: Config) -> ConfigDiff:
    """Return what differs between two configurations; where in the files a job stands is no difference."""
    both = [name for name in old.jobs if name in new.jobs]
    changed = {name: _changed_fields(old.jobs[name], new.jobs[name]) for name in both}
    pools = {*old.pools, *new.pools}
    calendars = {*old.calendars, *new.calendars}
    return ConfigDiff(
        added=tuple(name for name in new.jobs if name not in old.jobs),
        removed=tuple(name for name in old.jobs if name not in new.jobs),
        changed={name: names for name, names in changed.items() if names},
        settings=_changed_settings(old, new),
        pools={
            name: (old.pools.get(name), new.pools.get(name))
            for name in sorted(pools)
            if old.pools.get(name) != new.pools.get(name)
        },
        calendars=tuple(name for name in sorted(calendars) if old.calendars.get(name) != new.calendars.get(name)),
    )


def _changed_fields(old: Job, new: Job) -> tuple[str, ...]:
    names = (each.name for each in fields(Job) if each.name not in _NOT_COMPARED)
    return tuple(name for name in names if getattr(old, name) != getattr(new, name))


def _changed_settings(old: Config, new: Config) -> dict[str, tuple[object, object]]:
    pairs: Iterator[tuple[str, Any, Any]] = (
        (each.name, getattr(old.settings, each.name), getattr(new.settings, each.name)) for each in fields(old.settings)
    )
    return {name: (_safe(before, old), _safe(after, new)) for name, before, after in pairs if before != after}


def _safe(value: object, config: Config) -> object:
    """Return a setting as people may see it: an address may hold a token of the environment."""
    if not isinstance(value, (str, Path)):
        return value
    shown = redact(str(value), config.variables)
    return value if shown == str(value) else shown


# --------------------------------------------------------------------------- what will happen


@dataclass(frozen=True, slots=True)
class FiringChange:
    """One expected run, or one wait, that a change adds, loses or moves.

    `kind` is `added`, `lost`, `moved` (another start for the same run date), `redated` (another run date for the same
    start), `wait added`, `wait lost` or `more`. Instants are aware UTC. `text` is the line for people, times in the
    new configuration's zone with their offset.
    """

    kind: str
    job: str
    text: str
    run_date: date | None = None
    before: datetime | None = None
    after: datetime | None = None

    def __str__(self) -> str:
        return self.text


def firing_diff(old: Config, new: Config, since: datetime, until: datetime) -> list[FiringChange]:
    """Return what the change from `old` to `new` does to runs expected in (since, until], waits first, then by time.

    Dependency-only jobs are looked at with their upstreams, a typical duration of 0. At most 10,000 lines, the last of
    which then says how many more there are.
    """
    touched = _touched(old, new)
    before, after = _expected(old, touched, since, until), _expected(new, touched, since, until)
    changes = list(_waits(old, new))
    firings = [change for name in sorted(touched) for change in _compare(name, before.get(name), after.get(name), new)]
    changes += sorted(firings, key=lambda change: (change.before or change.after or since, change.job, change.kind))
    if len(changes) > MAX_LINES:
        left = len(changes) - MAX_LINES + 1
        changes[MAX_LINES - 1 :] = [FiringChange("more", "", f"and {left:,} more changes")]
    return changes


_Starts = Mapping[date, list[datetime]]


def _touched(old: Config, new: Config) -> set[str]:
    """Return the jobs whose runs may differ: changed ones, and dependency-only ones that hang on them."""
    difference = config_diff(old, new)
    touched = {*difference.added, *difference.removed}
    touched |= {name for name, names in difference.changed.items() if not _MOVES_FIRINGS.isdisjoint(names)}
    for config in (old, new):
        for name, job in config.jobs.items():
            if job.calendar in difference.calendars or ("cron_star" in difference.settings and job.schedules):
                touched.add(name)
    pending = list(touched)
    while pending:
        name = pending.pop()
        for config in (old, new):
            for each in config.dependents(name):
                if config.jobs[each].dependency_only and each not in touched:
                    touched.add(each)
                    pending.append(each)
    return touched


def _expected(config: Config, touched: Iterable[str], since: datetime, until: datetime) -> Mapping[str, _Starts]:
    needed = {name for name in touched if name in config.jobs}
    pending = list(needed)
    while pending:
        job = config.jobs[pending.pop()]
        for upstream in (each.job for each in job.depends_on) if job.dependency_only else ():
            if upstream not in needed:
                needed.add(upstream)
                pending.append(upstream)
    jobs = {name: job for name, job in config.jobs.items() if name in needed}
    starts: dict[str, dict[date, list[datetime]]] = {}
    for entry in forecast(jobs, config.timetable, config.calendar_for, since, until, {}):
        starts.setdefault(entry.job, {}).setdefault(entry.run_date, []).append(entry.expected_start)
    return starts


def _compare(name: str, before: _Starts | None, after: _Starts | None, new: Config) -> list[FiringChange]:
    lost: list[tuple[datetime, date]] = []
    added: list[tuple[datetime, date]] = []
    changes = []
    for run_date in {*(before or ()), *(after or ())}:
        gone, come = _unmatched((before or {}).get(run_date, []), (after or {}).get(run_date, []))
        for was, becomes in zip(gone, come, strict=False):
            changes.append(_change("moved", name, run_date, was, becomes, new))
        lost += [(start, run_date) for start in gone[len(come) :]]
        added += [(start, run_date) for start in come[len(gone) :]]
    dates = dict(added)
    for start, run_date in lost:
        if start in dates:
            changes.append(_change("redated", name, dates.pop(start), start, start, new, was_for=run_date))
        else:
            changes.append(_change("lost", name, run_date, start, None, new))
    still = [(start, run_date) for start, run_date in added if dates.get(start) == run_date]
    return changes + [_change("added", name, run_date, None, start, new) for start, run_date in still]


def _unmatched(before: list[datetime], after: list[datetime]) -> tuple[list[datetime], list[datetime]]:
    gone, come = Counter(before), Counter(after)
    return sorted((gone - come).elements()), sorted((come - gone).elements())


def _change(
    kind: str, name: str, run_date: date, before: datetime | None, after: datetime | None, new: Config,
    was_for: date | None = None,
) -> FiringChange:  # fmt: skip
    place = zone(new.settings.timezone)

    def local(instant: datetime) -> str:
        naive = place.local(instant)
        minutes = round((naive - instant.replace(tzinfo=None)).total_seconds() / 60)
        sign = "-" if minutes < 0 else "+"
        return f"{naive:%Y-%m-%d %H:%M:%S}{sign}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"

    times = " -> ".join(local(each) for each in dict.fromkeys((before, after)) if each is not None)
    dates = f"{was_for} -> {run_date}" if was_for is not None else str(run_date)
    return FiringChange(kind, name, f"{kind}: {name} {times} for run date {dates}", run_date, before, after)


def _waits(old: Config, new: Config) -> Iterator[FiringChange]:
    for name in sorted({*old.jobs, *new.jobs}):
        before, after = _edges(old, name), _edges(new, name)
        for edge in before:
            if edge not in after:
                yield FiringChange("wait lost", name, f"wait lost: {name} no longer waits for {_edge(edge)}")
        for edge in after:
            if edge not in before:
                yield FiringChange("wait added", name, f"wait added: {name} waits for {_edge(edge)}")


def _edges(config: Config, name: str) -> tuple[Dependency, ...]:
    job = config.jobs.get(name)
    return job.depends_on if job is not None else ()


def _edge(edge: Dependency) -> str:
    when = "the same run date" if edge.run_date == 0 else f"the run date {-edge.run_date} working days before"
    return f"the {edge.on.value} of {edge.job} of {when}"
