"""The sections of all files, one after another: names, duplicates, and what each name is defined as. Spec: jobs.md 1.1.

Where two files define one name, both places are named and the first wins for all later checks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from pyscheduler.config.alerting import check_agents, check_notifier, check_routes
from pyscheduler.config.calendars import BUILT_IN, CalendarDraft, draft_calendar
from pyscheduler.config.complaints import Complaints, Spot, shown
from pyscheduler.config.inactive import Inactive
from pyscheduler.config.jobs import Draft, Ground, build_job, sketch_job
from pyscheduler.config.reading import Reading
from pyscheduler.config.schema import INCLUDED, MAIN_ONLY, CalendarKeys, SchedulerKeys
from pyscheduler.config.schema_cluster import ClusterKeys, cluster_settings
from pyscheduler.config.schema_job import JobDefaults, JobKeys
from pyscheduler.config.shapes import Salvage, read_shape, salvaged
from pyscheduler.config.source import File
from pyscheduler.config.tree import Block
from pyscheduler.config.values import BadValue, check_name, parse_int
from pyscheduler.model.ids import SCHEDULER
from pyscheduler.model.job import SourceRef

_RESERVED: Final = {"jobs": SCHEDULER, "calendars": BUILT_IN}


@dataclass(slots=True)
class Sections:
    """Reads the sections of files that could be parsed; `main` is None where the main file could not."""

    files: list[File]
    main: File | None
    complaints: Complaints
    reading: Reading
    inactive: Inactive
    ics_texts: dict[str, str] = field(default_factory=dict)
    job_sketches: dict[str, Draft] = field(default_factory=dict)
    """What could be read of faulty jobs, once `jobs` has been asked."""
    calendar_sketches: dict[str, CalendarDraft] = field(default_factory=dict)
    """What could be read of faulty calendars, once `calendars` has been asked."""

    # ----------------------------------------------------------------- top level

    def check_names(self) -> None:
        """Complain about unknown sections, and about sections that stand in the wrong file."""
        for file in self.files:
            spot = file.spot(self.complaints)
            for name in file.root or ():
                if name in INCLUDED or (name in MAIN_ONLY and file is self.main):
                    self.inactive.check_section(name, spot)
                elif name in MAIN_ONLY:
                    spot.key_error((name,), f"{name} is only allowed in the main file", "move it there")
                else:
                    hint = self.complaints.did_you_mean(name, (*MAIN_ONLY, *INCLUDED))
                    spot.key_error((name,), f"unknown key {shown(name)}", hint)

    def scheduler(self) -> Mapping[str, Any]:
        """Return the keys of `scheduler:` that were written; none where the section is wrong."""
        spot = self._section(self.main, "scheduler")
        keys = read_shape(SchedulerKeys, spot, self.reading) if spot is not None else None
        given = keys.given() if keys is not None else {}
        if spot is not None and (cluster := given.get("cluster")) is not None:
            _check_cluster(cluster, given, spot)
        return given

    def _section(self, file: File | None, name: str) -> Spot | None:
        if file is None or file.root is None or name not in file.root:
            return None
        return file.spot(self.complaints).below(name)

    def _entries(self, section: str, files: list[File]) -> Iterator[tuple[str, Spot, SourceRef]]:
        """Yield every name defined in a section, with the spot of its definition and where its key stands."""
        first_seen: dict[str, SourceRef] = {}
        for file in files:
            spot = self._section(file, section)
            if spot is None:
                continue
            if not isinstance(spot.tree, Block):
                spot.error((), "must be a mapping", "write NAME: lines, indented below it")
                continue
            for number, name in enumerate(spot.tree):
                places = spot.tree.places
                ref = SourceRef(file.shown, places[4 * number], places[4 * number + 1])
                if self._accept(section, name, spot, first_seen, ref):
                    yield name, spot.below(name), ref

    def _accept(self, section: str, name: str, spot: Spot, first_seen: dict[str, SourceRef], ref: SourceRef) -> bool:
        if self.complaints.full:
            return False
        try:
            check_name(name)
        except BadValue as error:
            spot.key_error((name,), f"{shown(name)} {error.what}", error.mend)
            return False
        if _RESERVED.get(section) == name:
            spot.key_error((name,), f"{shown(name)} is a reserved name", "choose another")
            return False
        first = first_seen.setdefault(name, ref)
        if first is not ref:
            what = f"{shown(name)} is defined twice, first in {first}"
            spot.key_error((name,), what, "rename or remove one")
        return first is ref

    # ----------------------------------------------------------------- calendars and pools

    def calendars(self, today: date) -> tuple[dict[str, CalendarDraft], frozenset[str]]:
        """Return the calendars with their own dates, and the names of those that could not be read."""
        drafts: dict[str, CalendarDraft] = {}
        broken = set()
        for name, spot, ref in self._entries("calendars", self.files):
            keys = read_shape(CalendarKeys, spot, self.reading)
            rest = salvaged(CalendarKeys, spot, self.reading) if keys is None else Salvage(keys, {})
            draft, sound = (None, False)
            if rest is not None:
                draft, sound = draft_calendar(name, rest.keys, spot, os.path.dirname(ref.file), today)
            if draft is None or keys is None or not sound:
                broken.add(name)
                self.calendar_sketches.update({} if draft is None else {name: draft})
            else:
                drafts[name] = draft
                self.ics_texts.update(draft.texts)
        return drafts, frozenset(broken)

    def pools(self) -> tuple[dict[str, int], frozenset[str]]:
        """Return the pools' sizes, and the names of those that could not be read."""
        sizes: dict[str, int] = {}
        broken = set()
        for name, spot, _ in self._entries("pools", self.files):
            size = self._pool_size(spot)
            if size is None:
                broken.add(name)
            else:
                sizes[name] = size
        return dict(sorted(sizes.items())), frozenset(broken)

    def _pool_size(self, spot: Spot) -> int | None:
        if not isinstance(spot.tree, str):
            spot.error((), "must be a number of slots, 1 or more")
            return None
        try:
            size = parse_int(self.reading.variables.expand(spot.tree))
            if size >= 1:
                return size
            spot.error((), f"{shown(spot.tree)} is less than 1, the least allowed")
        except BadValue as error:
            spot.error((), f"{shown(spot.tree)} {error.what}", error.mend)
        return None

    # ----------------------------------------------------------------- jobs

    def defaults(self) -> tuple[Mapping[str, Any], Spot | None]:
        """Return the keys of `defaults:` that were written, and where they stand."""
        spot = self._section(self.main, "defaults")
        keys = read_shape(JobDefaults, spot, self.reading) if spot is not None else None
        return (keys.given() if keys is not None else {}), spot

    def jobs(self, ground: Ground, defaults_spot: Spot | None) -> tuple[dict[str, Draft], frozenset[str]]:
        """Return the drafts of all jobs in the order of names, and the names of those that could not be read."""
        drafts: dict[str, Draft] = {}
        broken = set()
        for name, section_spot, ref in self._entries("jobs", self.files):
            spot = Spot(
                self.complaints, section_spot.order, ref.file, section_spot.tree, (ref.line, ref.column),
                job=name, fallback=defaults_spot,
            )  # fmt: skip
            keys = read_shape(JobKeys, spot, self.reading)
            draft = build_job(name, keys, spot, ref, ground) if keys is not None else None
            if draft is None:
                broken.add(name)
                self._sketch(name, keys, spot, ref, ground)
            else:
                drafts[name] = draft
        return dict(sorted(drafts.items())), frozenset(broken)

    def _sketch(self, name: str, keys: JobKeys | None, spot: Spot, ref: SourceRef, ground: Ground) -> None:
        """Keep what can be read of a faulty job for the checks of names."""
        rest = salvaged(JobKeys, spot, self.reading, "depends_on") if keys is None else Salvage(keys, {})
        if rest is not None:
            numbers = rest.kept.get("depends_on")
            self.job_sketches[name] = sketch_job(name, rest.keys, spot, ref, ground, numbers)

    # ----------------------------------------------------------------- people and agents

    def notifiers(self) -> tuple[dict[str, Mapping[str, Any]], frozenset[str]]:
        """Return the notifiers as typed, and the names of all that are defined."""
        kept: dict[str, Mapping[str, Any]] = {}
        names = set()
        for name, spot, _ in self._entries("notifiers", [self.main] if self.main is not None else []):
            names.add(name)
            notifier = check_notifier(spot, self.reading)
            if notifier is not None:
                kept[name] = notifier
        return dict(sorted(kept.items())), frozenset(names)

    def routes(self, notifiers: frozenset[str], jobs: frozenset[str]) -> tuple[Mapping[str, Any], ...]:
        """Return the routes as typed."""
        spot = self._section(self.main, "routes")
        return check_routes(spot, self.reading, notifiers, jobs) if spot is not None else ()

    def agents(self) -> Mapping[str, Any] | None:
        """Return the agents section as typed; None where there is none or it is wrong."""
        spot = self._section(self.main, "agents")
        return check_agents(spot, self.reading, os.path.dirname(spot.file)) if spot is not None else None

    def check_agent(self, draft: Draft) -> None:
        """Complain about a job that needs an agent where the configuration has none."""
        for key in ("agent", "agent_tags"):
            if getattr(draft.job, key) and (self.main is None or "agents" not in (self.main.root or ())):
                draft.spot.error((key,), "needs an agents: section, and there is none", at_key=True)


def _check_cluster(cluster: ClusterKeys, given: Mapping[str, Any], spot: Spot) -> None:
    """Complain about times that do not hold together, and of a cluster without a store that can be shared."""
    cluster_settings(cluster.given(), spot.below("cluster"))
    if given.get("store") is None:
        what = "a cluster needs a store that its schedulers share"
        spot.error(("cluster",), what, "name one with `store: postgresql+psycopg://…`, or remove this", at_key=True)
