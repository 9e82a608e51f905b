"""What a request asks of the store: the parameters of the lists as the store's own questions.

Nothing here needs a web server: commands that look while no scheduler runs ask in the same way, and start the quicker.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain

from pyscheduler.api.asking import AlertsAsked, AuditAsked, EventsAsked, Order, RunsAsked
from pyscheduler.errors import BadRequest
from pyscheduler.model.job import Job
from pyscheduler.store import AuditQuery, Link
from pyscheduler.store.questions import AlertQuery, LineQuery, RunQuery


def runs_asked(jobs: Collection[Job], asked: RunsAsked) -> RunQuery:
    """Return the store's question; what a tag or a text means among the jobs the store does not know."""
    return RunQuery(
        job=asked.job,
        jobs=None if asked.tag is None else jobs_tagged(jobs, asked.tag),
        states=asked.state,
        run_date=asked.run_date,
        since=asked.since,
        until=asked.until,
        trigger=asked.trigger,
        text=asked.q,
        text_jobs=_named(jobs, asked.q.casefold()) if asked.q else (),
        limit=asked.limit,
        cursor=asked.cursor,
        newest_first=asked.order is Order.NEWEST,
    )


def _named(jobs: Collection[Job], needle: str) -> list[str]:
    """Return the jobs in whose name or tags a text stands: of ten thousand, which share their tags."""
    tags = {tag for tag in set(chain.from_iterable(job.tags for job in jobs)) if needle in tag.casefold()}
    return [job.name for job in jobs if needle in job.name.casefold() or not tags.isdisjoint(job.tags)]


def jobs_tagged(jobs: Iterable[Job], tag: str) -> frozenset[str]:
    """Return the names of the jobs with a tag. Raises BadRequest where no job has it: it may be misspelt."""
    names = frozenset(job.name for job in jobs if tag in job.tags)
    if not names:
        raise BadRequest(f"no job has the tag {tag}", mend="`pysched jobs` lists the jobs")
    return names


def lines_asked(asked: EventsAsked) -> LineQuery:
    """Return the store's question."""
    return LineQuery(
        run_id=asked.run,
        job=asked.job,
        actor=asked.actor,
        action=asked.action,
        since=asked.since,
        until=asked.until,
        text=asked.q,
        limit=asked.limit,
        cursor=asked.cursor,
        newest_first=asked.order is Order.NEWEST,
    )


def rows_asked(asked: AuditAsked) -> AuditQuery:
    """Return the store's question."""
    return AuditQuery(
        actor=asked.actor,
        action=asked.action,
        subject=asked.subject,
        since=asked.since,
        until=asked.until,
        text=asked.q,
        limit=asked.limit,
        cursor=asked.cursor,
        newest_first=asked.order is Order.NEWEST,
    )


def known_of(text: str | None) -> Link | None:
    """Return the row that `ID:HASH` names."""
    number, _, digest = (text or "").partition(":")
    return Link(int(number), digest) if digest else None


def alerts_asked(asked: AlertsAsked) -> AlertQuery:
    """Return the store's question."""
    return AlertQuery(kind=asked.kind, job=asked.job, since=asked.since, limit=asked.limit, cursor=asked.cursor)
