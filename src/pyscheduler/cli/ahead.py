"""What is to come, as documents in the API's shapes: from a configuration file, or from a scheduler elsewhere.

`next` and `forecast` show the same of both. A file answers also for what is not in force yet and takes typical
durations from the history beside it; a scheduler answers for what it has in force.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol

from pyscheduler.cli.client import Client, segment
from pyscheduler.cli.faults import Refused, WrongUsage, no_such_job
from pyscheduler.cli.history import not_begun, typical_durations
from pyscheduler.cli.times import Times, json_instant
from pyscheduler.errors import StoreError

if TYPE_CHECKING:
    from pyscheduler.cli.session import Session
    from pyscheduler.config import Config
    from pyscheduler.model.firing import Firing
    from pyscheduler.model.job import Job
    from pyscheduler.timetable import ForecastEntry

Document = Mapping[str, Any]
MOST_FIRINGS: Final = 100
"""What a scheduler tells of one job at once."""
MOST_JOBS: Final = 1000
"""Jobs that it tells the next firing of at once."""


class Ahead(Protocol):
    """Who knows what is to come. Raises CommandError for a job that there is not."""

    @property
    def timezone(self) -> str:
        """The scheduler's zone."""
        ...

    def job(self, name: str, since: datetime, count: int) -> Document:
        """Return a job's schedules and its firings after an instant, `count` at most."""
        ...

    def jobs(self, since: datetime) -> list[Document]:
        """Return the same of every job, with one firing at most."""
        ...

    def expected(self, since: datetime, until: datetime, only: str | None = None) -> list[Document]:
        """Return the runs to expect in (since, until] that have not begun, of one job alone if so asked."""
        ...


def ahead(session: Session) -> Ahead:
    """Return whom to ask: the scheduler with an address, else the file."""
    return FromFile(session) if session.address is None else FromScheduler(session)


class FromFile:
    """Works everything out from the configuration as it is on disk."""

    def __init__(self, session: Session) -> None:
        self._session, self._config = session, session.load()

    @property
    def timezone(self) -> str:
        """The scheduler's zone."""
        return self._config.settings.timezone

    def job(self, name: str, since: datetime, count: int) -> Document:
        """Return a job's schedules and its firings after an instant, `count` at most."""
        self._check(name)
        return _document(self._config, self._config.jobs[name], since, count)

    def jobs(self, since: datetime) -> list[Document]:
        """Return the same of every job by name, with one firing at most."""
        return [_document(self._config, job, since, 1) for _, job in sorted(self._config.jobs.items())]

    def expected(self, since: datetime, until: datetime, only: str | None = None) -> list[Document]:
        """Return the runs to expect in (since, until] that have not begun."""
        from pyscheduler.timetable import forecast

        config = self._config
        if only is not None:
            self._check(only)
        entries = forecast(config.jobs, config.timetable, config.calendar_for, since, until, self._durations())
        entries = not_begun(config, entries, self._session.now())
        return [_entry_json(entry) for entry in entries if only in (None, entry.job)]

    def _check(self, name: str) -> None:
        if name not in self._config.jobs:
            raise no_such_job(name, self._config.jobs, self._config.path)

    def _durations(self) -> Mapping[str, float]:
        """Return what is known of durations; a history that cannot be read is done without, and that is said."""
        try:
            return typical_durations(self._config)
        except StoreError as error:
            self._session.note(f"remark: without typical durations, since the history cannot be read: {error}")
            return {}


class FromScheduler:
    """Asks a scheduler for what it has in force."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._client: Client = session.client()

    @property
    def timezone(self) -> str:
        """The scheduler's zone."""
        return self._session.place.timezone

    def job(self, name: str, since: datetime, count: int) -> Document:
        """Return a job's schedules and its firings after an instant, `count` at most."""
        if count > MOST_FIRINGS:
            what = f"a scheduler with an address tells {MOST_FIRINGS} firings at once"
            raise WrongUsage(what, mend="ask for less, or go on with --after")
        with self._naming(name):
            return self._with_firings(self._client.get(f"/api/jobs/{segment(name)}"), since, count)

    def jobs(self, since: datetime) -> list[Document]:
        """Return the same of every job, with one firing at most."""
        found: list[Document] = []
        cursor: str | None = None
        while True:
            answer = self._client.get("/api/next", after=json_instant(since), limit=MOST_JOBS, cursor=cursor)
            found += [_of_next(job) for job in answer["jobs"]]
            cursor = answer["next_cursor"]
            if cursor is None:
                return found

    def expected(self, since: datetime, until: datetime, only: str | None = None) -> list[Document]:
        """Return the runs to expect in (since, until] that have not begun."""
        window = {"from": json_instant(since), "to": json_instant(until)}
        with self._naming(only):
            found: list[Document] = self._client.get("/api/forecast", job=only, **window)["entries"]
            return found

    @contextmanager
    def _naming(self, name: str | None) -> Iterator[None]:
        """Name a near job where there is none of this name."""
        try:
            yield
        except Refused as error:
            if name is None or error.status != 404:
                raise
            raise no_such_job(name, [job["name"] for job in self._all()], self._session.place.config) from error

    def _all(self) -> Sequence[Document]:
        found: Sequence[Document] = self._client.get("/api/jobs")["jobs"]
        return found

    def _with_firings(self, job: Document, since: datetime, count: int) -> Document:
        fires = job["enabled"] and any(schedule != "manual" for schedule in job["schedules"])
        asked = {"job": job["name"], "after": json_instant(since), "count": count}
        firings = self._client.get("/api/next", **asked)["firings"] if fires else []
        return {
            "job": job["name"],
            "timezone": job["timezone"],
            "enabled": job["enabled"],
            "schedules": job["schedules"],
            "depends_on": job["depends_on"],
            "firings": _with_local(firings, job["timezone"]),
        }


def _of_next(job: Document) -> Document:
    kept = ("job", "timezone", "enabled", "schedules", "depends_on")
    return {**{name: job[name] for name in kept}, "firings": _with_local(job["firings"], job["timezone"])}


def _with_local(firings: Sequence[Document], zone_name: str) -> list[Document]:
    return [{**firing, "local": _local(firing["scheduled_at"], zone_name)} for firing in firings]


def _local(scheduled_at: str, zone_name: str) -> str:
    return Times.of(zone_name).local(datetime.fromisoformat(scheduled_at)).isoformat()


def _document(config: Config, job: Job, since: datetime, count: int) -> Document:
    from pyscheduler.timetable.wording import schedule_text

    return {
        "job": job.name,
        "timezone": job.timezone,
        "enabled": job.enabled,
        "schedules": [*map(schedule_text, job.schedules), *(["manual"] if job.manual else [])],
        "depends_on": [dependency.job for dependency in job.depends_on],
        "firings": [_firing_json(config, job, firing) for firing in islice(_firings(config, job, since), count)],
    }


def _firings(config: Config, job: Job, since: datetime) -> Iterator[Firing]:
    timetable = config.timetable(job.name)
    at = since
    while job.enabled and (firing := timetable.next(at)) is not None:
        yield firing
        at = firing.scheduled_at


def _firing_json(config: Config, job: Job, firing: Firing) -> Document:
    return {
        "scheduled_at": json_instant(firing.scheduled_at),
        "local": Times.of(job.timezone).local(firing.scheduled_at).isoformat(),
        "run_date": firing.run_date.isoformat(),
        "jitter_seconds": firing.jitter_s,
        "rule": config.timetable(job.name).rule_at(firing),
    }


def _entry_json(entry: ForecastEntry) -> Document:
    return {
        "job": entry.job,
        "run_date": entry.run_date.isoformat(),
        "expected_start": json_instant(entry.expected_start),
        "expected_duration_seconds": entry.expected_duration_s,
        "expected_end": json_instant(entry.expected_end),
        "via": entry.via,
    }
