"""The conductor: from a path to a Config, every complaint of every file on the way. Spec: jobs.md 1.1.

The order is that of meaning: files, settings, calendars and pools, defaults, jobs, what lies between them, schedules,
look-aheads. No complaint stops the pass; only a flood of them does.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from pyscheduler import collector
from pyscheduler.config.alerting import check_notified
from pyscheduler.config.calendars import resolve_calendars
from pyscheduler.config.check import World, check_world
from pyscheduler.config.complaints import Complaints
from pyscheduler.config.inactive import Inactive
from pyscheduler.config.jobs import Draft, Ground
from pyscheduler.config.lookahead import look_ahead
from pyscheduler.config.process import today_utc
from pyscheduler.config.reading import Reading
from pyscheduler.config.result import Config
from pyscheduler.config.schedule_checks import check_programs, check_schedules
from pyscheduler.config.schema_cluster import check_nodes
from pyscheduler.config.sections import Sections
from pyscheduler.config.settings import settings_of
from pyscheduler.config.source import Files
from pyscheduler.config.users import check_users
from pyscheduler.config.variables import Variables
from pyscheduler.errors import ConfigError
from pyscheduler.model.job import CalendarSpec, ConfigSource, Job
from pyscheduler.model.problem import Problem, Severity
from pyscheduler.timetable.calendars import ALL_DAYS, BusinessCalendar


def load_config(
    path: str | os.PathLike[str],
    *,
    env: Mapping[str, str] | None = None,
    today: date | None = None,
    allow_inactive: bool = False,
) -> Config:
    """Return the configuration of a main file. Raises ConfigError with every problem, warnings included.

    `env` is where `${NAME}` is read (None: this process's environment), `today` the day from which horizons are
    counted (None: today in UTC). `allow_inactive` blocks jobs that need a part which is not active yet, instead of
    refusing the configuration.
    """
    config, problems = build_config(path, env=env, today=today, allow_inactive=allow_inactive)
    if any(problem.severity is Severity.ERROR for problem in problems):
        raise ConfigError(problems)
    return config


def build_config(
    path: str | os.PathLike[str],
    *,
    env: Mapping[str, str] | None = None,
    today: date | None = None,
    allow_inactive: bool = False,
) -> tuple[Config, list[Problem]]:
    """Return what can be made of a main file and all problems, in the order of files and lines.

    Never raises for problems of the text; where one is an error the configuration is not to be run.
    """
    with collector.at_rest():
        return _Loading(Path(path), os.environ if env is None else env, today or today_utc(), allow_inactive).run()


class _Loading:
    """One pass over all files."""

    def __init__(self, path: Path, env: Mapping[str, str], today: date, allow_inactive: bool) -> None:
        self._path, self._env, self._today = path, env, today
        self._complaints, self._variables = Complaints(), Variables(env)
        files = Files(self._complaints, self._variables.expand)
        files.read_all(path)
        readable = [file for file in files.loaded if file.root is not None]
        main = readable[0] if readable and readable[0].order == 0 else None
        inactive = Inactive(allow=allow_inactive)
        self._files = files
        self._sections = Sections(readable, main, self._complaints, Reading(self._variables), inactive)

    def run(self) -> tuple[Config, list[Problem]]:
        parts = self._parts()
        problems = self._complaints.sorted(self._variables.redact)
        texts = self._sections.ics_texts.items()
        sources = (*self._files.sources(), *(ConfigSource(path=name, text=text) for name, text in texts))
        config = Config(
            path=self._path.absolute(),
            sources=sources,
            digest=digest_of(sources),
            loaded_on=self._today,
            variables=dict(sorted(self._variables.read.items())),
            withheld=frozenset(self._variables.read),
            patterns=dict(self._files.patterns),
            variables_in_clear=frozenset(self._variables.plain),
            warnings=tuple(problem for problem in problems if problem.severity is Severity.WARNING),
            **parts,
        )
        return config, problems

    def _parts(self) -> dict[str, Any]:
        """Return the configuration's parts, every check done on the way."""
        sections = self._sections
        sections.check_names()
        settings = settings_of(sections.scheduler(), self._path)
        calendar_drafts, broken_calendars = sections.calendars(self._today)
        calendars = resolve_calendars(calendar_drafts, broken_calendars, self._today, sections.calendar_sketches)
        pools, broken_pools = sections.pools()
        defaults, defaults_spot = sections.defaults()
        ground = Ground(settings, defaults, sections.inactive)
        drafts, broken_jobs = sections.jobs(ground, defaults_spot)
        known, broken = frozenset(calendars), broken_calendars
        sketches = sections.job_sketches
        check_world(World(drafts, broken_jobs, known, broken, pools, broken_pools, self._complaints, sketches))
        check_schedules(drafts, calendars, settings.cron_star, self._today)
        check_programs(drafts, self._env.get("PATH", os.defpath))
        check_users(drafts)
        check_nodes(drafts, settings)
        parts = self._alerting(drafts, broken_jobs)
        pending = self._look_ahead(drafts, calendars, settings.cron_star)
        jobs = {name: draft.job for name, draft in drafts.items()}
        return {"settings": settings, "jobs": jobs, "calendars": calendars, "pools": pools, "pending": pending, **parts}

    def _alerting(self, drafts: Mapping[str, Draft], broken_jobs: frozenset[str]) -> dict[str, Any]:
        sections = self._sections
        notifiers, names = sections.notifiers()
        for draft in drafts.values():
            check_notified(draft.job.alerts.notify, names, draft.spot, ("alerts", "notify"))
        agents = sections.agents()
        for draft in drafts.values():
            sections.check_agent(draft)
        routes = sections.routes(names, frozenset(drafts) | broken_jobs)
        return {"notifiers": notifiers, "routes": routes, "agents": agents or {}}

    def _look_ahead(
        self, drafts: Mapping[str, Draft], calendars: Mapping[str, CalendarSpec], star: str
    ) -> tuple[str, ...]:
        """Look ahead where all references are sound; a faulty configuration will not be run, so nothing lies ahead."""
        if self._complaints.errors:
            return ()
        known = {name: BusinessCalendar.of(spec) for name, spec in calendars.items()}
        jobs = {name: draft.job for name, draft in drafts.items()}
        spots = {name: draft.spot for name, draft in drafts.items()}

        def calendar_of(job: Job) -> BusinessCalendar:
            return ALL_DAYS if job.calendar is None else known[job.calendar]

        return look_ahead(jobs, spots, calendar_of, star, self._today)


def digest_of(sources: Iterable[ConfigSource]) -> str:
    """Return the SHA-256 over each file's normalised path and text, in load order, NUL after each part (spec 1.1)."""
    sha = hashlib.sha256()
    for source in sources:
        sha.update(os.path.abspath(source.path).encode("utf-8", "surrogateescape") + b"\0")
        sha.update(source.text.encode("utf-8", "surrogatepass") + b"\0")
    return sha.hexdigest()
