"""What ran when, and what is expected: a lane a job, a bar an attempt, a ghost a run to come. Spec: jobs.md 15.8.

A page has at most 200 lanes. What ran is found through the logbook's own index of starts, from a day before the
stretch on: an attempt that began even earlier is seen while it runs, and else not. What is due and has not begun is a
hollow bar from then until now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from pyscheduler.api.coming import expected, with_upstreams
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.durations import Durations
from pyscheduler.errors import BadRequest
from pyscheduler.model.job import Job
from pyscheduler.model.run import Attempt, Run, RunState
from pyscheduler.store import Store
from pyscheduler.store.questions import LineQuery
from pyscheduler.timetable.zone import Zone, zone
from pyscheduler.web import timescale
from pyscheduler.web.asked import ROWS, Paged, TimelinePage, link
from pyscheduler.web.lanes import SHOWN, Lane, Piece, lane, percent
from pyscheduler.web.press import Press
from pyscheduler.web.timescale import Span, Zoom

STARTS_READ: Final = SHOWN + 100
"""Starts of one job that are looked up: beyond them the lane says that there are more."""
LOOK_BACK: Final = timedelta(days=1)
BEFORE_READ: Final = 20
RUNNING: Final = "running"


@dataclass(frozen=True, slots=True)
class Ran:
    """What one job's attempts were; `more` where not all were looked up."""

    pieces: tuple[Piece, ...]
    more: bool = False


def router(desk: FrontDesk, press: Press) -> APIRouter:
    """Return the route."""
    routes = APIRouter(include_in_schema=False)
    durations = Durations()

    @routes.get("/timeline")
    async def timeline(request: Request, asked: Annotated[TimelinePage, Query()]) -> Response:
        engine = desk.engine
        now, there = engine.clock.now(), zone(engine.config.settings.timezone)
        span = _span(there, asked, now)
        jobs = [job for job in engine.config.jobs.values() if _matches(job, asked)]
        shown = Paged(sorted(jobs, key=lambda job: job.name), asked.page)
        names = [job.name for job in shown.rows]
        open_runs = {name: engine.book.open_for(name) for name in names} if span.start <= now else {}
        going = {run.run_id for runs in open_runs.values() for run in runs if run.attempt}
        ran = await desk.ask(lambda store: {name: _ran(store, name, span) for name in names})
        going -= {piece.run_id for found in ran.values() for piece in found.pieces}
        late = await desk.ask(lambda store: _attempts(store, going))
        durations.listen_to(engine)
        coming, remark = await _coming(desk, durations, names, span, now)
        due = {name: list(_due(runs, now)) for name, runs in open_runs.items()}
        lanes = [
            _lane(name, span, now, ran[name], late.get(name, []), [*due.get(name, []), *coming.get(name, [])])
            for name in names
        ]
        filled = [each for each in lanes if each.bars or each.ghosts]
        hides = shown.pages == 1 and not asked.empty and len(filled) < len(lanes)
        return await press.page(
            request,
            "timeline.html",
            "/timeline",
            asked=asked,
            span=span,
            lanes=filled if hides else lanes,
            hidden=len(lanes) - len(filled) if hides else 0,
            shown=shown,
            ticks=[(percent(span, tick.at), tick) for tick in timescale.ticks(there, span)],
            changes=[(percent(span, change.at), change) for change in timescale.changes(there, span)],
            now_at=percent(span, now) if span.start <= now < span.end else None,
            remark=remark,
            table=_table(lanes),
            **_links(there, asked, span, now),
        )

    return routes


def _span(there: Zone, asked: TimelinePage, now: datetime) -> Span:
    today = there.today(now)
    day = asked.date or (there.today(asked.at) if asked.at else today)
    at = asked.at or (now if day == today else None)
    try:
        return timescale.span_of(there, asked.zoom, day, at)
    except ValueError as error:
        raise BadRequest(str(error)) from None


def _matches(job: Job, asked: TimelinePage) -> bool:
    needle = asked.q.casefold()
    if asked.tag is not None and asked.tag not in job.tags:
        return False
    return not needle or any(needle in text.casefold() for text in (job.name, *job.tags))


def _links(there: Zone, asked: TimelinePage, span: Span, now: datetime) -> dict[str, Any]:
    """Return the addresses of what lies beside: stretches before and after, other zooms, other lanes."""

    def to(zoom: Zoom, day: date | None, at: datetime | None = None, empty: str = asked.empty) -> str:
        said = None if at is None or zoom is not Zoom.HOUR else at.isoformat().replace("+00:00", "Z")
        return link("/timeline", zoom=zoom, date=day, at=said, q=asked.q, tag=asked.tag, empty=empty)

    middle = now if span.start <= now < span.end else span.start
    return {
        "earlier": to(span.zoom, *timescale.before(there, span)),
        "later": to(span.zoom, *timescale.after(there, span)),
        "present": to(span.zoom, None),
        "zooms": [(zoom, to(zoom, there.today(middle), middle)) for zoom in Zoom],
        "base": to(span.zoom, span.day, span.start),
        "with_empty": to(span.zoom, span.day, span.start, "1"),
    }


# --------------------------------------------------------------------------- what ran


def _ran(store: Store, name: str, span: Span) -> Ran:
    """Return a job's attempts that began in the stretch, and the latest ones that began in the day before it."""
    started = LineQuery(job=name, action="attempt_started", limit=STARTS_READ)
    page = store.lines(replace(started, since=span.start, until=span.end, newest_first=False))
    before = store.lines(replace(started, since=span.start - LOOK_BACK, until=span.start, limit=BEFORE_READ))
    wanted = {(line.run_id, line.detail.get("attempt")) for line in (*page.items, *before.items) if line.run_id}
    attempts = store.attempts_of({run_id for run_id, _ in wanted})
    rows = [row for each in attempts.values() for row in each if (row.run_id, row.attempt) in wanted]
    return Ran(tuple(map(_piece, rows)), page.next_cursor is not None)


def _attempts(store: Store, run_ids: Iterable[str]) -> dict[str, list[Piece]]:
    """Return the attempts of these runs by job: those that began long before the stretch and still go on."""
    found: dict[str, list[Piece]] = {}
    for run_id, attempts in store.attempts_of(run_ids).items():
        found.setdefault(run_id.split(".", 1)[0], []).extend(map(_piece, attempts))
    return found


def _piece(attempt: Attempt) -> Piece:
    word = RUNNING if attempt.outcome is None else attempt.outcome.value
    return Piece(attempt.started_at, attempt.ended_at, word, attempt.run_id, attempt.attempt)


def _due(runs: Iterable[Run], now: datetime) -> Iterator[Piece]:
    """Yield what is due and has not begun, or waits for its next try."""
    for run in runs:
        if run.state is not RunState.RUNNING and run.scheduled_at < now:
            yield Piece(run.scheduled_at, None, run.state.value, run.run_id)


def _lane(name: str, span: Span, now: datetime, ran: Ran, late: list[Piece], coming: list[Piece]) -> Lane:
    return lane(name, span, now, [*ran.pieces, *late], coming, more=ran.more)


def _table(lanes: Iterable[Lane]) -> list[tuple[str, Piece]]:
    """Return the first bars of the page, for the table behind it."""
    found = [(each.job, bar.piece) for each in lanes for bar in each.bars]
    return sorted(found, key=lambda pair: pair[1].start)[:ROWS]


# --------------------------------------------------------------------------- what is to come


async def _coming(
    desk: FrontDesk, durations: Durations, names: list[str], span: Span, now: datetime
) -> tuple[Mapping[str, list[Piece]], str]:
    """Return what is expected of these jobs from now on, and why it is not shown where that would be too much."""
    since = max(now, span.start)
    if since >= span.end:
        return {}, ""
    engine, config = desk.engine, desk.engine.config
    jobs = with_upstreams(config, names)
    try:
        entries = await desk.threads(expected, durations, engine, config, jobs, since, span.end)
    except BadRequest as error:
        return {}, f"What is to come is not shown: {error.what}."
    found: dict[str, list[Piece]] = {name: [] for name in names}
    for entry in entries:
        if entry.job in found and engine.desk.pauses.covers(entry.job) is None:
            found[entry.job].append(Piece(entry.expected_start, entry.expected_end, "expected"))
    return found, ""
