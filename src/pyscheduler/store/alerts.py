"""Alerts and their deliveries: the list people page through, and what the senders have to do. Spec: jobs.md 13.4, 15.3.

The list is one walk over the alerts by time, newest first; the filters are looked up row by row, bounded by BUDGET, so
a page may be short and still not be the last. The alerts of one run are few and come in the order raised.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import bindparam, func, not_, or_, select

from pyscheduler.model.alert import AlertKind, Delivery, DeliveryStatus, Told
from pyscheduler.store import columns, people_rows, rows, schema
from pyscheduler.store.questions import AlertQuery, Page, no_cursor
from pyscheduler.store.readers import Snapshot
from pyscheduler.store.run_streams import FOREVER, HIGHEST_ID
from pyscheduler.store.statements import Statement, compiled, is_one_of
from pyscheduler.store.streams import Piece, Row, gathered, stream, whole

BUDGET: Final = 20_000
COUNTED: Final = 100_000
_CURSOR: Final = re.compile(r"(-?[0-9]{1,18})~([A-Za-z0-9_.:-]{1,200})")
_alerts: Final = schema.alerts.c
_deliveries: Final = schema.deliveries.c
_KIND, _JOB, _AT = (columns.ALERT.index(name) for name in ("kind", "job", "raised_at"))


def list_alerts(snapshot: Snapshot, query: AlertQuery) -> Page[Told]:
    """Return one page, newest first. Raises BadRequest for a cursor that is none of ours."""
    start = None if query.cursor is None else _position(query.cursor)
    found = gathered(_walked(snapshot, start, query), _check(query), query.limit, BUDGET)
    last = found.resume_after
    cursor = None if last is None else f"{last[_AT]}~{last[0]}"
    return Page(tuple(_told(snapshot, found.rows)), cursor)


def of_run(snapshot: Snapshot, run_id: str, limit: int) -> list[Told]:
    """Return the alerts of one run, oldest first."""
    return list(_told(snapshot, snapshot.rows(_of_run(), run_id=run_id, count=limit)))


def one(snapshot: Snapshot, alert_id: str) -> Told | None:
    """Return one alert, or None."""
    return next(_told(snapshot, snapshot.rows(_by_ids(), alert_ids=json.dumps([alert_id]))), None)


def dead(snapshot: Snapshot, limit: int) -> list[tuple[Delivery, Told]]:
    """Return deliveries that were given up, oldest first, each with its alert."""
    return _with_alerts(snapshot, snapshot.rows(_of_status(), status=DeliveryStatus.DEAD.value, count=limit))


def pending(snapshot: Snapshot, notifier: str, limit: int, but: Collection[str]) -> list[tuple[Delivery, Told]]:
    """Return what one notifier still has to tell, oldest alert first, without the deliveries (`but`) in hand."""
    given = {"status": DeliveryStatus.PENDING.value, "notifier": notifier, "count": limit}
    return _with_alerts(snapshot, snapshot.rows(_pending(), **given, but=json.dumps(sorted(but))))


def pending_notifiers(snapshot: Snapshot) -> list[str]:
    """Return the names that have something pending, whether they are configured or not."""
    return [row[0] for row in snapshot.rows(_pending_names(), status=DeliveryStatus.PENDING.value)]


def counts(snapshot: Snapshot) -> dict[DeliveryStatus, int]:
    """Return how many deliveries wait and how many were given up, each COUNTED at most. What is sent is not counted."""
    unsent = (DeliveryStatus.PENDING, DeliveryStatus.DEAD)
    return {status: snapshot.rows(_count(), status=status.value, most=COUNTED)[0][0] for status in unsent}


def _with_alerts(snapshot: Snapshot, found: Sequence[Row]) -> list[tuple[Delivery, Told]]:
    deliveries = [people_rows.delivery_of(row) for row in found]
    ids = json.dumps(sorted({delivery.alert_id for delivery in deliveries}))
    alerts = {told.alert.alert_id: told for told in _told(snapshot, snapshot.rows(_by_ids(), alert_ids=ids))}
    return [(delivery, alerts[delivery.alert_id]) for delivery in deliveries if delivery.alert_id in alerts]


def _told(snapshot: Snapshot, found: Sequence[Row]) -> Iterator[Told]:
    """Yield alerts with their deliveries."""
    by_alert: dict[str, list[Delivery]] = {row[0]: [] for row in found}
    for row in snapshot.rows(_deliveries_of(), alert_ids=json.dumps(list(by_alert))) if found else ():
        delivery = people_rows.delivery_of(row)
        by_alert[delivery.alert_id].append(delivery)
    for row in found:
        yield Told(people_rows.alert_of(row), tuple(by_alert[row[0]]))


def _walked(snapshot: Snapshot, start: tuple[int, str] | None, query: AlertQuery) -> Iterator[Row]:
    statement = _walk()
    low = -FOREVER if query.since is None else rows.micros(query.since)

    def fetch(last: Row | None, count: int) -> Piece:
        at, alert_id = (last[_AT], last[0]) if last is not None else start or (FOREVER, HIGHEST_ID)
        return whole(snapshot.rows(statement, low=low, at=at, alert_id=alert_id, count=count), count)

    return stream(fetch)


def _check(query: AlertQuery) -> Callable[[Row], bool]:
    def check(row: Row) -> bool:
        return query.kind in (None, AlertKind(row[_KIND])) and query.job in (None, row[_JOB])

    return check


def _position(cursor: str) -> tuple[int, str]:
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise no_cursor(cursor)
    return int(found[1]), found[2]


# --------------------------------------------------------------------------- the statements


@cache
def _walk() -> Statement:
    at, alert_id = _alerts.raised_at, _alerts.alert_id
    before: Any = bindparam("at")
    beyond = or_(at < before, alert_id < bindparam("alert_id"))
    found = select(*_all(_alerts, columns.ALERT)).where(at >= bindparam("low"), at <= before, beyond)
    return compiled(found.order_by(at.desc(), alert_id.desc()).limit(bindparam("count")))


@cache
def _of_run() -> Statement:
    found = select(*_all(_alerts, columns.ALERT)).where(_alerts.run_id == bindparam("run_id"))
    return compiled(found.order_by(_alerts.raised_at, _alerts.alert_id).limit(bindparam("count")))


@cache
def _by_ids() -> Statement:
    return compiled(select(*_all(_alerts, columns.ALERT)).where(is_one_of(_alerts.alert_id, "alert_ids")))


@cache
def _deliveries_of() -> Statement:
    found = select(*_all(_deliveries, columns.DELIVERY)).where(is_one_of(_deliveries.alert_id, "alert_ids"))
    return compiled(found.order_by(_deliveries.notifier))


@cache
def _of_status() -> Statement:
    found = select(*_all(_deliveries, columns.DELIVERY)).where(_deliveries.status == bindparam("status"))
    in_order = found.order_by(_deliveries.updated_at, _deliveries.delivery_id)
    return compiled(in_order.limit(bindparam("count")))


@cache
def _pending() -> Statement:
    both = schema.deliveries.join(schema.alerts, _alerts.alert_id == _deliveries.alert_id)
    found = select(*_all(_deliveries, columns.DELIVERY)).select_from(both)
    due = found.where(
        _deliveries.status == bindparam("status"),
        _deliveries.notifier == bindparam("notifier"),
        not_(is_one_of(_deliveries.delivery_id, "but")),
    )
    return compiled(due.order_by(_alerts.raised_at, _alerts.alert_id).limit(bindparam("count")))


@cache
def _count() -> Statement:
    found = select(_deliveries.status).where(_deliveries.status == bindparam("status")).limit(bindparam("most"))
    return compiled(select(func.count()).select_from(found.subquery()))


@cache
def _pending_names() -> Statement:
    found = select(_deliveries.notifier).where(_deliveries.status == bindparam("status"))
    return compiled(found.distinct().order_by(_deliveries.notifier))


def _all(table: Any, names: Sequence[str]) -> list[Any]:
    return [table[name] for name in names]
