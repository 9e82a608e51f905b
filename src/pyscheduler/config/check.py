"""Whole-config checks: what jobs say of each other, of calendars and of pools. Spec: jobs.md 4.1, 4.7, 4.9, 12.2.

All complaints at once: of a job with faults of its own, the names that its sound keys refer to are checked too. Beyond
that it is left out, and so is every judgement about depending on it: one fault is said once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pyscheduler.config.complaints import Complaints, shown
from pyscheduler.config.graph import cycles, upstream_first
from pyscheduler.config.jobs import NO_CALENDAR, Draft
from pyscheduler.config.templates import placeholders_in
from pyscheduler.model.job import Job, JobKind

_NOT_IN_WATCH: Final = ("files", "attempt")


@dataclass(frozen=True, slots=True)
class World:
    """Everything that was defined, for checks that look beyond one job.

    `broken_*` are names that are defined but could not be read: they exist, and nothing more is said of them but for
    what `sketches` holds: the names that faulty jobs refer to.
    """

    drafts: Mapping[str, Draft]
    broken_jobs: frozenset[str]
    calendars: frozenset[str]
    broken_calendars: frozenset[str]
    pools: Mapping[str, int]
    broken_pools: frozenset[str]
    complaints: Complaints
    sketches: Mapping[str, Draft] = field(default_factory=dict)

    def job(self, name: str) -> Job | None:
        draft = self.drafts.get(name)
        return draft.job if draft is not None else None


def check_world(world: World) -> None:
    """Complain about everything between the jobs, and let dependency-only jobs inherit their calendars."""
    for draft in world.drafts.values():
        if world.complaints.full:
            return
        _check_names(draft, world)
        _check_files(draft, world)
    for draft in world.sketches.values():
        _check_names(draft, world)
    _check_cycles(world)
    _inherit_calendars(world)
    for draft in world.drafts.values():
        _check_calendars_along_edges(draft, world)
    _check_letter_case(world)


# --------------------------------------------------------------------------- names


def _check_names(draft: Draft, world: World) -> None:
    _check_dependencies(draft, world)
    _check_calendar_name(draft, world)
    _check_pools(draft, world)


def _check_dependencies(draft: Draft, world: World) -> None:
    for number, dependency in enumerate(draft.job.depends_on):
        upstream = world.job(dependency.job)
        if upstream is None:
            if dependency.job not in world.broken_jobs:
                hint = world.complaints.did_you_mean(dependency.job, world.drafts, world.broken_jobs)
                draft.spot.error(draft.upstream_loc(number), f"unknown job {shown(dependency.job)}", hint)
        elif not upstream.enabled and draft.job.enabled:
            what = f'"{upstream.name}" is disabled, so it never gets a run to wait for'
            draft.spot.warning(draft.upstream_loc(number), what)


def _check_calendar_name(draft: Draft, world: World) -> None:
    name = draft.job.calendar
    if name is not None and name not in world.calendars and name not in world.broken_calendars:
        hint = world.complaints.did_you_mean(name, world.calendars, world.broken_calendars, [NO_CALENDAR])
        draft.spot.error(("calendar",), f"unknown calendar {shown(name)}", hint)


def _check_pools(draft: Draft, world: World) -> None:
    for pool, slots in draft.job.pools.items():
        size = world.pools.get(pool)
        if size is not None and slots > size:
            draft.spot.error(
                ("pools", pool), f"it needs {slots} slots, and the pool has {size}", "lower it, or widen the pool"
            )
        elif size is None and pool not in world.broken_pools:
            hint = world.complaints.did_you_mean(pool, world.pools, world.broken_pools)
            draft.spot.error(
                ("pools", pool), f"unknown pool {shown(pool)}", hint or "define it under pools:", at_key=True
            )


def _check_letter_case(world: World) -> None:
    """Warn of names that would share their log files on a disk that folds letter case (field case FC-068)."""
    by_folded: dict[str, str] = {}
    for name, draft in world.drafts.items():
        first = by_folded.setdefault(name.lower(), name)
        if first != name:
            what = f'"{first}" differs from it in letter case only: their log files meet on a disk that folds case'
            draft.spot.warning((), what, "rename one")


# --------------------------------------------------------------------------- templates


def _check_files(draft: Draft, world: World) -> None:
    """`{files}` stands only where a direct dependency is a watcher; `watch` has neither it nor `{attempt}`."""
    job = draft.job
    if job.watch is not None:
        for name in _NOT_IN_WATCH:
            if name in placeholders_in(job.watch):
                draft.spot.error(("watch",), f"{{{name}}} has no value before the files are found", "remove it")
    if job.kind is JobKind.FILE_WATCHER or _watches(job, world):
        return
    for loc, text in _templates(job):
        if "{files" in text and "files" in placeholders_in(text):
            draft.spot.error(loc, "{files} stands only in a job that depends on a file watcher directly")


def _watches(job: Job, world: World) -> bool:
    for dependency in job.depends_on:
        upstream = world.job(dependency.job)
        if upstream is None or upstream.kind is JobKind.FILE_WATCHER:
            return True
    return False


def _templates(job: Job) -> list[tuple[tuple[str | int, ...], str]]:
    command = job.command
    texts: list[tuple[tuple[str | int, ...], str]] = [(("stdout",), job.stdout), (("stderr",), job.stderr)]
    if isinstance(command, tuple):
        texts.extend((("command", number), part) for number, part in enumerate(command))
    else:
        texts.append((("command",), command))
    texts.extend((("env", name), value) for name, value in job.env.items())
    if job.cwd is not None:
        texts.append((("cwd",), job.cwd))
    return texts


# --------------------------------------------------------------------------- the graph


def _check_cycles(world: World) -> None:
    """Complain of circles of dependencies on the same date; an earlier date anywhere breaks the circle."""
    drafts = {**world.drafts, **world.sketches}
    edges = {
        name: [each.job for each in draft.job.depends_on if each.run_date == 0 and each.job in drafts]
        for name, draft in drafts.items()
    }
    for cycle in cycles(edges):
        first = drafts[cycle[0]]
        path = " -> ".join((*cycle, cycle[0]))
        follows = cycle[1] if len(cycle) > 1 else cycle[0]
        number = next(at for at, each in enumerate(first.job.depends_on) if each.job == follows and each.run_date == 0)
        what = f"it waits for itself: {path}"
        first.spot.error(
            first.upstream_loc(number), what, "break the circle, or let one edge look at an earlier run_date"
        )


def _inherit_calendars(world: World) -> None:
    """Give each dependency-only job that names no calendar the one its upstreams share (spec 4.7).

    Upstreams first; round again while something was settled, for jobs in a circle of earlier dates.
    """
    heirs = {name: draft for name, draft in world.drafts.items() if _inherits(draft)}
    settled = {name: draft.job.calendar for name, draft in world.drafts.items() if name not in heirs}
    order = upstream_first({name: [each.job for each in draft.job.depends_on] for name, draft in heirs.items()})
    while True:
        before = len(settled)
        for name in order:
            if name not in settled:
                _settle(heirs[name], world, settled)
        if len(settled) == before:
            break
    for name, draft in heirs.items():
        if settled.get(name) is not None:
            draft.job = replace(draft.job, calendar=settled[name])


def _inherits(draft: Draft) -> bool:
    return draft.job.dependency_only and not draft.names_calendar


def _settle(draft: Draft, world: World, settled: dict[str, str | None]) -> None:
    """Settle a job's calendar by those of its upstreams that are settled, if any is."""
    found = {each.job: settled[each.job] for each in draft.job.depends_on if each.job in settled}
    if not found:
        return
    if len(set(found.values())) == 1 or any(each.job in world.broken_jobs for each in draft.job.depends_on):
        settled[draft.job.name] = next(iter(found.values()))
        return
    listed = ", ".join(f"{each} is on {found[each] or NO_CALENDAR}" for each in sorted(found))
    what = f"its upstreams are on different calendars ({listed}), so none can be inherited"
    draft.spot.error(("depends_on",), what, "put them on one calendar", at_key=True)
    settled[draft.job.name] = _DISAGREED


_DISAGREED: Final = "<several>"


def _check_calendars_along_edges(draft: Draft, world: World) -> None:
    mine = draft.job.calendar
    for number, dependency in enumerate(draft.job.depends_on):
        upstream = world.job(dependency.job)
        if upstream is None or _DISAGREED in (mine, upstream.calendar) or mine == upstream.calendar:
            continue
        if {mine, upstream.calendar} & world.broken_calendars:
            continue
        theirs = f'"{upstream.name}" is on calendar {upstream.calendar or NO_CALENDAR}'
        what = f"{theirs} and this job on {mine or NO_CALENDAR}: their run dates do not match"
        draft.spot.error(("depends_on", number), what, "put both on one calendar")
