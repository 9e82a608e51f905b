"""Answers a scheduler's routes from its store while none runs: the same questions, views and refusals as the API's.

Only what the store remembers is told: runs, attempts, the logbook, logs by the paths that attempts recorded, pauses.
What a living engine alone knows (slots, the next firing, whether an attempt has ended since) is left out or stays as
it was last written down. Read-only, a fresh snapshot for each question.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from pyscheduler.api import logfile, logpart
from pyscheduler.api.asking import AlertsAsked, AuditAsked, DeadAsked, EventsAsked, LogAsked, RunsAsked, VerifyAsked
from pyscheduler.api.known import one_run, page_with_latest
from pyscheduler.api.questions import alerts_asked, known_of, lines_asked, rows_asked, runs_asked
from pyscheduler.api.told_views import alert_view, audit_view, dead_view, verified_view
from pyscheduler.api.views import (
    event_view,
    pause_view,
    run_view,
)
from pyscheduler.cli.client import Json
from pyscheduler.cli.faults import CommandError, Refused, Unreachable
from pyscheduler.cli.times import json_instant
from pyscheduler.engine.pauses import Pauses
from pyscheduler.errors import ActionError
from pyscheduler.store import Peek

if TYPE_CHECKING:
    from pyscheduler.cli.session import Session
    from pyscheduler.model.job import Job

RAW_BLOCK: Final = 64 * 1024


class StoreClient:
    """A client without a scheduler. `error` says why there is none. Raises it where there is no store either.

    `where` is what people call the store, behind "the store".
    """

    def __init__(self, session: Session, error: Unreachable) -> None:
        self._session, self._error = session, error
        place = session.place
        with self._peek() as store:  # found out now, before anybody is told what follows
            on_server = place.store_url(session.environ) is not None
            self.where = f"at {store.where}" if on_server else f"in {place.state_dir}"

    def get(self, path: str, **query: object) -> Json:
        """Return the answer's JSON."""
        given = {key: value for key, value in query.items() if value is not None}
        with self._peek() as store, _refusals():
            match path.removeprefix("/api/").split("/"):
                case ["scheduler"]:
                    return self._scheduler(store)
                case ["runs"]:
                    return self._runs(store, given)
                case ["runs", run_id]:
                    return one_run(store, run_id, self._session.place.name)
                case ["runs", run_id, "log"]:
                    return _log(store, run_id, LogAsked.model_validate(given))
                case ["audit"]:
                    rows = store.audit_entries(rows_asked(AuditAsked.model_validate(given)))
                    return {"audit": list(map(audit_view, rows.items)), "next_cursor": rows.next_cursor}
                case ["audit", "verify"]:
                    known = known_of(VerifyAsked.model_validate(given).head)
                    return verified_view(store.verify_audit(known))
                case ["alerts"]:
                    alerts = store.alerts(alerts_asked(AlertsAsked.model_validate(given)))
                    views = [alert_view(told, self._session.place.name) for told in alerts.items]
                    return {"alerts": views, "next_cursor": alerts.next_cursor}
                case ["alerts", "dead"]:
                    found = store.dead_deliveries(DeadAsked.model_validate(given).limit)
                    name = self._session.place.name
                    return {"deliveries": [dead_view(each, told, name) for each, told in found]}
                case ["events"]:
                    page = store.lines(lines_asked(EventsAsked.model_validate(given)))
                    return {"events": list(map(event_view, page.items)), "next_cursor": page.next_cursor}
        raise self._error

    def post(self, path: str, body: Mapping[str, object] | None = None, *, key: str | None = None) -> Json:
        """Refuse: a store does nothing."""
        del path, body, key
        raise self._error

    def raw(self, path: str, **query: object) -> tuple[bytes, Mapping[str, str]]:
        """Return a log's bytes, as the scheduler would."""
        asked = LogAsked.model_validate({key: str(value) if key == "raw" else value for key, value in query.items()})
        with self._peek() as store, _refusals():
            run, attempts = logpart.attempts_of(store, path.split("/")[3])
            attempt = logpart.chosen(run, attempts, asked.attempt)
            file = logpart.path_of(attempt, asked.stream)
            size = logpart.size_of(file, attempt)
            start = min(asked.offset or 0, size)
            data = logfile.block(file, start, min(asked.limit, RAW_BLOCK))
        return data, {"x-log-size": str(size)}

    @contextmanager
    def _peek(self) -> Iterator[Peek]:
        place = self._session.place
        store = Peek.open(place.state_dir, url=place.store_url(self._session.environ))
        if store is None:
            raise self._error
        with store:
            yield store

    def _runs(self, store: Peek, given: Mapping[str, Any]) -> Json:
        asked = RunsAsked.model_validate(given)
        page = page_with_latest(store, runs_asked(self._jobs(asked), asked))
        return {"runs": [run_view(*pair) for pair in page.items], "next_cursor": page.next_cursor}

    def _jobs(self, asked: RunsAsked) -> Collection[Job]:
        """Return the jobs of the configuration on disk, where the question needs them at all."""
        return self._session.load().jobs.values() if asked.tag is not None or asked.q else ()

    def _scheduler(self, store: Peek) -> Json:
        place, now, values = self._session.place, self._session.now(), store.engine_values()
        held = values.get("catch_up_held")
        until = json_instant(now)
        return {
            "error": self._error.what,
            "mend": self._error.mend,
            "name": place.name,
            "timezone": place.timezone,
            "today": place.times.local(now).date().isoformat(),
            "now": until,
            "config": {"path": str(place.config), "reload_failure": None},
            "last_tick": values.get("last_tick"),
            "next_firing": None,
            "pauses": [pause_view(*each) for each in Pauses.from_text(values.get("paused")).items()],
            "catch_up_held": None if not held else {"since": _as_json(held), "until": until},
            "state_dir": str(place.state_dir),
        }


def _as_json(text: str) -> str:
    return json_instant(datetime.fromisoformat(text))


def _log(store: Peek, run_id: str, asked: LogAsked) -> Json:
    run, attempts = logpart.attempts_of(store, run_id)
    attempt = logpart.chosen(run, attempts, asked.attempt)
    shown = logpart.text_of(logpart.path_of(attempt, asked.stream), asked, attempt)
    return shown | logpart.standing_of(run, attempt, attempts)


@contextmanager
def _refusals() -> Iterator[None]:
    """Make refusals what they would be as answers."""
    try:
        yield
    except ActionError as error:
        raise Refused(error.what, where=error.where, mend=error.mend, status=error.status) from error
    except ValidationError as error:
        fault = error.errors()[0]
        raise Refused(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}", status=400) from error
    except OSError as error:
        raise CommandError(f"cannot be read ({error.strerror})", where=str(error.filename or "")) from error
