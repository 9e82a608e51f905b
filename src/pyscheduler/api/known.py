"""What the store alone knows of runs, as the API shows it: for the scheduler's routes, and while none runs."""

from __future__ import annotations

from typing import Final

from pyscheduler.api.told_views import alert_view
from pyscheduler.api.views import View, attempt_view, event_view, run_view
from pyscheduler.errors import NotFound
from pyscheduler.model.alert import Told
from pyscheduler.model.run import Attempt, LogbookLine, Run
from pyscheduler.store.questions import LineQuery, Page, RunQuery
from pyscheduler.store.reads import Reads

EVENTS_SHOWN: Final = 1000


def page_with_latest(store: Reads, query: RunQuery) -> Page[tuple[Run, Attempt | None]]:
    """Return a page of runs, each with its latest attempt."""
    page = store.runs(query)
    latest = store.latest_attempts([run.run_id for run in page.items if run.attempt])
    return Page(tuple((run, latest.get(run.run_id)) for run in page.items), page.next_cursor)


Known = tuple[Run, list[Attempt], Page[LogbookLine], list[Told]]


def one_run(store: Reads, run_id: str, scheduler: str) -> View:
    """Return all that the store knows of one run. Raises NotFound."""
    return known_view(*known(store, run_id), scheduler=scheduler)


def known(store: Reads, run_id: str) -> Known:
    """Return a run, its attempts, the first page of its logbook lines, and its alerts. Raises NotFound."""
    run = store.get_run(run_id)
    if run is None:
        raise NotFound(f"there is no run {run_id[:100]}", mend="`pysched runs` lists them")
    lines = store.lines(LineQuery(run_id=run_id, limit=EVENTS_SHOWN, newest_first=False))
    return run, list(store.attempts(run_id)), lines, store.alerts_of_run(run_id)


def known_view(
    run: Run, attempts: list[Attempt], lines: Page[LogbookLine], alerts: list[Told], *, scheduler: str
) -> View:
    """Return the same as the API shows it."""
    return {
        "run": run_view(run, attempts[-1] if attempts else None),
        "attempts": [attempt_view(attempt) for attempt in attempts],
        "events": [event_view(line) for line in lines.items],
        "next_events_cursor": lines.next_cursor,
        "alerts": [alert_view(told, scheduler) for told in alerts],
    }
