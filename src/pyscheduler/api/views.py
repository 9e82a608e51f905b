"""Nouns as plain dicts, as the API and the pages show them. Spec: jobs.md 13.3, 13.5.

Instants are ISO 8601 in UTC with `Z`, dates ISO, durations seconds in `*_seconds`, enums their words. Every value of a
job's `env` is `***`, and no variable of the environment is ever filled in: what a configuration says is shown as typed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import UTC, date, datetime, time
from typing import Any, Final

from pyscheduler.engine.pauses import EVERYTHING, Pause
from pyscheduler.model.firing import Firing
from pyscheduler.model.job import Dependency, Job, JobAlerts, RetryPolicy
from pyscheduler.model.run import Attempt, LogbookLine, Run
from pyscheduler.rules.why import Answer
from pyscheduler.timetable.firings import Timetable
from pyscheduler.timetable.forecast import ForecastEntry

HIDDEN: Final = "***"
DEEPEST_WHY: Final = 20

View = dict[str, Any]


def instant(value: datetime | None) -> str | None:
    """Return an aware instant in UTC, to the microsecond where it has any."""
    if value is None:
        return None
    utc = value if value.tzinfo is UTC else value.astimezone(UTC)
    return utc.isoformat()[: -len("+00:00")] + "Z"


def seconds_between(start: datetime | None, end: datetime | None) -> float | None:
    """Return how long something took, None while that is unknown."""
    return None if start is None or end is None else round((end - start).total_seconds(), 3)


# --------------------------------------------------------------------------- runs

RUN_COLUMNS: Final = (
    "run_id",
    "job",
    "run_date",
    "scheduled_at",
    "state",
    "reason",
    "attempt",
    "reruns",
    "trigger",
    "started_at",
    "ended_at",
    "duration_seconds",
    "config_version",
    "created_at",
    "updated_at",
    "held_from",
)


def run_view(run: Run, latest: Attempt | None = None) -> View:
    """Return a run, with the times of its latest attempt."""
    return {
        "run_id": run.run_id,
        "job": run.job,
        "run_date": run.run_date.isoformat(),
        "seq": run.seq,
        "scheduled_at": instant(run.scheduled_at),
        "state": run.state.value,
        "reason": run.reason,
        "cause": run.cause.value,
        "attempt": run.attempt,
        "reruns": run.reruns,
        "trigger": run.trigger.value,
        "config_version": run.config_version,
        "created_at": instant(run.created_at),
        "updated_at": instant(run.updated_at),
        "forced": run.forced,
        "held_from": None if run.held_from is None else run.held_from.value,
        "not_before": instant(run.not_before),
        "queued_at": instant(run.queued_at),
        "wait_until": instant(run.wait_until),
        "offered_at": instant(run.offered_at),
        "started_at": instant(latest.started_at) if latest else None,
        "ended_at": instant(latest.ended_at) if latest else None,
        "duration_seconds": seconds_between(latest.started_at, latest.ended_at) if latest else None,
    }


ATTEMPT_COLUMNS: Final = (
    "run_id",
    "attempt",
    "started_at",
    "ended_at",
    "duration_seconds",
    "outcome",
    "exit_code",
    "signal",
    "reason",
    "note",
    "cpu_seconds",
    "max_rss_bytes",
    "pid",
    "config_version",
    "stdout_path",
    "stderr_path",
)


def attempt_view(attempt: Attempt) -> View:
    """Return an attempt."""
    return {
        "run_id": attempt.run_id,
        "attempt": attempt.attempt,
        "started_at": instant(attempt.started_at),
        "ended_at": instant(attempt.ended_at),
        "duration_seconds": seconds_between(attempt.started_at, attempt.ended_at),
        "outcome": None if attempt.outcome is None else attempt.outcome.value,
        "exit_code": attempt.exit_code,
        "signal": attempt.signal,
        "reason": attempt.reason,
        "note": attempt.note,
        "pid": attempt.pid,
        "kill_by": attempt.kill_by,
        "cpu_seconds": attempt.cpu_s,
        "max_rss_bytes": attempt.max_rss_bytes,
        "config_version": attempt.config_version,
        "stdout_path": attempt.stdout_path,
        "stderr_path": attempt.stderr_path,
        "status_path": attempt.status_path,
    }


EVENT_COLUMNS: Final = ("at", "actor", "action", "run_id", "job", "detail")


def event_view(line: LogbookLine) -> View:
    """Return a line of the logbook."""
    return {
        "at": instant(line.at),
        "actor": line.actor,
        "run_id": line.run_id,
        "job": line.job,
        "action": line.action,
        "detail": dict(line.detail),
    }


# --------------------------------------------------------------------------- jobs

JOB_COLUMNS: Final = (
    "name",
    "description",
    "owner",
    "tags",
    "criticality",
    "enabled",
    "calendar",
    "schedules",
    "depends_on",
    "next_firing",
)


def job_view(job: Job, timetable: Timetable, next_firing: datetime | None, paused: View | None) -> View:
    """Return a job in short. `next_firing` is None too where the job is disabled."""
    return {
        "name": job.name,
        "description": job.description,
        "owner": job.owner,
        "tags": list(job.tags),
        "criticality": job.criticality.word,
        "enabled": job.enabled,
        "inactive": job.inactive,
        "paused": paused,
        "calendar": job.calendar,
        "timezone": job.timezone,
        "schedules": schedule_texts(job, timetable),
        "depends_on": [dependency.job for dependency in job.depends_on],
        "next_firing": instant(next_firing),
    }


def schedule_texts(job: Job, timetable: Timetable) -> list[str]:
    """Return the schedules in words, `manual` last."""
    texts = [schedule.text() for schedule in timetable.schedules]
    return [*texts, "manual"] if job.manual else texts


_AS_SECONDS: Final = "_s"
_LEFT_OUT: Final = frozenset({"name", "source", "schedules", "kind", "command", "env"})


def definition_view(job: Job, timetable: Timetable) -> View:
    """Return all keys of a job with their defaults."""
    keys = (each.name for each in fields(Job) if each.name not in _LEFT_OUT)
    return {
        "type": job.kind.value,
        "command": job.command if isinstance(job.command, str) else list(job.command),
        "env": dict.fromkeys(job.env, HIDDEN),
        "schedules": schedule_texts(job, timetable),
        **{_named(key): _plain(getattr(job, key)) for key in keys},
        "source": {"file": job.source.file, "line": job.source.line},
    }


def _named(key: str) -> str:
    return f"{key.removesuffix(_AS_SECONDS)}_seconds" if key.endswith(_AS_SECONDS) else key


def _plain(value: Any) -> Any:
    """Return a key's value as JSON has it."""
    match value:
        case Dependency():
            return {"job": value.job, "on": value.on.value, "run_date_offset": value.run_date}
        case RetryPolicy() | JobAlerts():
            return {_named(each.name): _plain(getattr(value, each.name)) for each in fields(value)}
        case frozenset():
            return sorted(value)
        case tuple() | list():
            return [_plain(each) for each in value]
        case Mapping():
            return {name: _plain(each) for name, each in value.items()}
        case time():
            return value.isoformat()
        case date():
            return value.isoformat()
    return getattr(value, "word", getattr(value, "value", value))


def pause_view(what: str, pause: Pause) -> View:
    """Return a pause; `job` is null where everything is paused."""
    return {
        "job": None if what == EVERYTHING else what,
        "by": pause.by,
        "since": instant(pause.since),
        "reason": pause.reason,
    }


# --------------------------------------------------------------------------- what will be, and why

FORECAST_COLUMNS: Final = (
    "job",
    "run_date",
    "expected_start",
    "expected_duration_seconds",
    "expected_end",
    "via",
)


def forecast_view(entry: ForecastEntry) -> View:
    """Return what is expected of one run."""
    return {
        "job": entry.job,
        "run_date": entry.run_date.isoformat(),
        "expected_start": instant(entry.expected_start),
        "expected_duration_seconds": entry.expected_duration_s,
        "expected_end": instant(entry.expected_end),
        "via": entry.via,
    }


FIRING_COLUMNS: Final = ("scheduled_at", "local", "run_date", "jitter_seconds", "rule")


def firing_view(firing: Firing, local: str, rule: str) -> View:
    """Return a coming firing: UTC, local with its offset, and what a clock change does to it."""
    return {
        "scheduled_at": instant(firing.scheduled_at),
        "local": local,
        "run_date": firing.run_date.isoformat(),
        "jitter_seconds": firing.jitter_s,
        "rule": rule,
    }


def runs_of_answer(answer: Answer) -> Iterator[Run]:
    """Yield the runs of an answer's chain, as far as it is shown."""
    link: Answer | None = answer
    for _ in range(DEEPEST_WHY + 1):
        if link is None:
            return
        if link.run is not None:
            yield link.run
        link = link.because


def answer_view(answer: Answer, latest: Mapping[str, Attempt], depth: int = 0) -> View:
    """Return an answer to "why", with the chain of answers it rests on. `latest` holds attempts by run id."""
    because = answer.because if depth < DEEPEST_WHY else None
    return {
        "job": answer.job,
        "run_date": answer.run_date.isoformat(),
        "culprit": answer.culprit.value,
        "text": answer.text,
        "release": answer.release,
        "run": None if answer.run is None else run_view(answer.run, latest.get(answer.run.run_id)),
        "because": None if because is None else answer_view(because, latest, depth + 1),
    }
