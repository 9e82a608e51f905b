"""A prompt without a machine behind it: commands are run in this process, and a scheduler answers as a test says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.cli.main import main
from pyscheduler.cli.session import Session
from pyscheduler.cli.terminal import Terminal
from pyscheduler.errors import PyschedError

NOW = datetime(2027, 5, 20, 12, 0, tzinfo=UTC)
CONFIG = "scheduler:\n  name: night\n  timezone: Europe/Berlin\n"

Reply = Any
"""What a route answers: JSON, an error to raise, or a function of the query or body."""


@dataclass(frozen=True)
class Said:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The answer for programs."""
        return json.loads(self.out)


@dataclass
class FakeScheduler:
    """Answers by route (`GET /api/health`) and remembers what it was asked."""

    replies: dict[str, Reply] = field(default_factory=dict)
    asked: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)

    def get(self, path: str, **query: object) -> Any:
        return self._reply(f"GET {path}", {key: value for key, value in query.items() if value is not None})

    def post(self, path: str, body: Mapping[str, object] | None = None, *, key: str | None = None) -> Any:
        self.keys.append(key)
        return self._reply(f"POST {path}", {key: value for key, value in (body or {}).items() if value is not None})

    def raw(self, path: str, **query: object) -> tuple[bytes, Mapping[str, str]]:
        found: tuple[bytes, Mapping[str, str]] = self._reply(f"RAW {path}", query)
        return found

    def _reply(self, route: str, given: Mapping[str, Any]) -> Any:
        self.asked.append((route, given))
        reply = self.replies[route]
        if isinstance(reply, PyschedError):
            raise reply
        return reply(given) if callable(reply) else reply


class Prompt:
    """Runs commands in a folder with a configuration."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.scheduler = FakeScheduler()
        self._capture = capture
        self.config = folder / "pysched.yaml"
        self.config.write_text(CONFIG)

    def __call__(
        self,
        *arguments: str,
        terminal: Terminal | None = None,
        now: Callable[[], datetime] = lambda: NOW,
        environ: Mapping[str, str] | None = None,
    ) -> Said:
        session = Session(
            environ={"PATH": "/usr/bin:/bin", **(environ or {})},
            folder=self.folder,
            connect=lambda _place, _timeout: self.scheduler,
            now=now,
            shown_on=terminal or Terminal(),
        )
        self._capture.readouterr()
        code = main(arguments, session)
        said = self._capture.readouterr()
        return Said(code, said.out, said.err)


def a_run(run_id: str = "load.2027-05-20.1", **fields: Any) -> dict[str, Any]:
    """Return a run in the API's shape, succeeded within three minutes unless told otherwise."""
    job, run_date, seq = run_id.rsplit(".", 2)
    return {
        "run_id": run_id,
        "job": job,
        "run_date": run_date,
        "seq": int(seq),
        "scheduled_at": "2027-05-20T01:00:00Z",
        "state": "succeeded",
        "reason": "",
        "cause": "",
        "attempt": 1,
        "reruns": 0,
        "trigger": "schedule",
        "config_version": 1,
        "created_at": "2027-05-20T01:00:00Z",
        "updated_at": "2027-05-20T01:03:05Z",
        "forced": False,
        "held_from": None,
        "not_before": None,
        "queued_at": None,
        "wait_until": None,
        "started_at": "2027-05-20T01:00:00Z",
        "ended_at": "2027-05-20T01:03:05Z",
        "duration_seconds": 185.0,
        **fields,
    }


def waiting(run_id: str, reason: str, state: str = "waiting") -> dict[str, Any]:
    """Return a run that has not started."""
    return a_run(run_id, state=state, reason=reason, attempt=0, started_at=None, ended_at=None, duration_seconds=None)


def a_scheduler(**fields: Any) -> dict[str, Any]:
    """Return what a scheduler says of itself when all is well."""
    return {
        "name": "night",
        "version": "0.1.0",
        "timezone": "Europe/Berlin",
        "today": "2027-05-20",
        "now": "2027-05-20T12:00:00Z",
        "config": {"jobs": 3, "version": 1, "reload_failure": None, "warnings": []},
        "engine": {"phase": "running", "last_trouble": "", "failures": 0},
        "next_firing": "2027-05-21T01:00:00Z",
        "pauses": [],
        "catch_up_held": None,
        "remarks": [],
        "strangers": [],
        **fields,
    }
