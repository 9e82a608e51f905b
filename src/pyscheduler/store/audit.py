"""The audit log in the store: appended to by the one writer, thrown away from its beginning only, paged and walked.

Appending reads the chain's head inside the transaction that writes the rows, so whatever is committed is a chain, in
the order of the commits. A head that is missing or behind (somebody has been at the file) must not stop a commit: the
rows go behind the last one there is, and `verify` finds the break. Format: `chain.py`, `schema.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache, partial
from operator import itemgetter
from typing import Any, Final, NamedTuple

from sqlalchemy import LargeBinary, and_, bindparam, cast, delete, func, insert, or_, select

from pyscheduler.model.audit import AuditEntry
from pyscheduler.model.batch import Batch
from pyscheduler.store import people_rows, rows, schema
from pyscheduler.store.catalogue import engine_values
from pyscheduler.store.chain import ANCHOR, COLUMNS, HEAD, START, Break, Link, Walk, hash_of, link_of
from pyscheduler.store.questions import AuditQuery, Page, cursor_at, no_cursor, position
from pyscheduler.store.readers import Read, Snapshot
from pyscheduler.store.run_streams import FOREVER
from pyscheduler.store.statements import PUT_ENGINE, Statement, compiled
from pyscheduler.store.streams import Piece, Row, gathered, stream, whole
from pyscheduler.store.transaction import Transaction

BUDGET: Final = 5_000
"""Rows looked at for one page."""
AT_ONCE: Final = 500
"""Rows of one snapshot of a walk: a millisecond or two of the interpreter."""
ROUNDS: Final = 3
"""How often a walk begins anew because rows were thrown away under its feet."""
NUMBERS: Final = ("id", "at")
"""Columns that are no texts. Texts are read as bytes: one that is no UTF-8 would be an error of the whole read."""
_audit: Final = schema.audit.c
_FILTERED: Final = ("actor", "action", "subject", "reason", "address", "result")
_LISTED: Final = ("at", "id", *_FILTERED, *(name for name in COLUMNS if name not in ("at", "id", *_FILTERED)))
"""A page's rows: the list's order, what is filtered by, the rest."""
_IN_ORDER: Final = itemgetter(*(_LISTED.index(name) for name in COLUMNS))


# --------------------------------------------------------------------------- writing


def perform(transaction: Transaction, batch: Batch) -> None:
    """Throw away and append what a batch says, inside the transaction that the caller has begun."""
    if batch.audit_gone_until is not None:
        _prune(transaction, batch.audit_gone_until)
    if batch.audit:
        _append(transaction, batch.audit)


def _append(transaction: Transaction, entries: tuple[AuditEntry, ...]) -> None:
    last = _head(transaction)
    made = []
    for entry in entries:
        number = last.id + 1
        values = transaction.storable(people_rows.audit_values(entry))
        last, previous = Link(number, hash_of(last.hash, (number, *values))), last.hash
        made.append((number, *values, previous, last.hash))
    transaction.put(_add(), made)
    transaction.put(PUT_ENGINE, [(HEAD, last.to_text())])


def _head(transaction: Transaction) -> Link:
    """Return the place behind which the next row goes."""
    head = _engine_link(transaction, HEAD) or _engine_link(transaction, ANCHOR) or START
    found = transaction.rows(_last())
    last = Link(int(found[0][0]), str(found[0][1])) if found else START
    return head if head.id >= last.id else last


def _prune(transaction: Transaction, until: int) -> None:
    """Remove the rows up to a number and leave its hash as the anchor; nothing where that row is not there."""
    found = transaction.rows(_hash_at(), id=until)
    if found:
        transaction.put(_remove_until(), [(until,)])
        transaction.put(PUT_ENGINE, [(ANCHOR, Link(until, str(found[0][0])).to_text())])


def _engine_link(transaction: Transaction, key: str) -> Link | None:
    found = transaction.rows(_engine_value(), key=key)
    return link_of(found[0][0]) if found else None


# --------------------------------------------------------------------------- walking the chain


class Verified(NamedTuple):
    """What a walk found: how many rows hold, from after `anchor` to `head`, and the first break if there is one."""

    rows: int
    anchor: Link
    head: Link
    broken: Break | None


def verify(read: Read, known: Link | None = None) -> Verified:
    """Walk the whole chain. `known` is a row's hash that was noted elsewhere: the chain must have it.

    Rows that are thrown away meanwhile make the walk begin anew; those that are added meanwhile are not looked at.
    """
    for left in reversed(range(ROUNDS)):
        walk = read(lambda snapshot: Walk(engine_values(snapshot), snapshot.value(_last()) or 0, known))
        broken = walk.begin() or _walked(read, walk)
        found = Verified(walk.rows, walk.anchor, walk.last, broken)
        if broken is None or not left or link_of(read(engine_values).get(ANCHOR)) in (None, walk.anchor):
            return found
    raise AssertionError("the last round returns")


def _walked(read: Read, walk: Walk) -> Break | None:
    after = -FOREVER
    while found := read(partial(Snapshot.rows, statement=_following(), after=after, until=walk.newest, count=AT_ONCE)):
        for is_plain, *values in found:
            if (broken := walk.step(list(map(_as_text, values)), is_plain=bool(is_plain))) is not None:
                return broken
        after = found[-1][1]
    return walk.end()


def _as_text(value: object) -> object:
    """Return a text as it lies in the file, be it UTF-8 or not."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _readable(value: object) -> object:
    """Return a text as it can be shown, what is no UTF-8 as U+FFFD: somebody has been at the file, and must be seen."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


# --------------------------------------------------------------------------- reading


def list_entries(snapshot: Snapshot, query: AuditQuery) -> Page[AuditEntry]:
    """Return one page. Raises BadRequest for a cursor that is none of ours."""
    start = None if query.cursor is None else _position(query.cursor)
    found = gathered(_stream(snapshot, query, start), _check(query), query.limit, BUDGET)
    last = found.resume_after
    items = tuple(_entry_of(row) for row in found.rows)
    return Page(items, None if last is None else cursor_at(last[0], last[1]))


def last_before(snapshot: Snapshot, horizon: datetime, limit: int) -> int | None:
    """Return the number up to which the log may be thrown away: every row of the beginning was asked for before.

    At most `limit` rows go at once; None where none may.
    """
    beginning = snapshot.rows(_beginning(), count=limit)
    until, edge = None, rows.micros(horizon)
    for number, at in beginning:
        if at >= edge:
            break
        until = number
    return until


def _entry_of(row: Row) -> AuditEntry:
    return people_rows.audit_of(_IN_ORDER(row))


def _check(query: AuditQuery) -> Callable[[Row], bool]:
    low, high = _bounds(query)
    wanted, text = (query.actor, query.action, query.subject), query.text.casefold()

    def check(row: Row) -> bool:
        return (
            low <= row[0] <= high
            and all(want is None or want == found for want, found in zip(wanted, row[2:5], strict=True))
            and (not text or text in "\n".join(map(str, row[2 : 2 + len(_FILTERED)])).casefold())
        )

    return check


def _bounds(query: AuditQuery) -> tuple[int, int]:
    low = -FOREVER if query.since is None else rows.micros(query.since)
    return low, FOREVER if query.until is None else rows.micros(query.until) - 1


def _stream(snapshot: Snapshot, query: AuditQuery, start: tuple[int, int] | None) -> Iterator[Row]:
    statement = _walk_list(query.actor is not None, query.newest_first)
    low, high = _bounds(query)
    newest = query.newest_first
    equal = {} if query.actor is None else {"actor": query.actor}

    def fetch(last: Row | None, count: int) -> Piece:
        at, number = last[:2] if last is not None else start or ((high, FOREVER) if newest else (low, -FOREVER))
        near_low, near_high = (low, min(high, at)) if newest else (max(low, at), high)
        place = {"low": near_low, "high": near_high, "at": at, "number": number, "count": count}
        found = [tuple(map(_readable, row)) for row in snapshot.rows(statement, **equal, **place)]
        return whole(found, count)

    return stream(fetch)


def _position(cursor: str) -> tuple[int, int]:
    at, number = position(cursor)
    if not number.isdecimal() or len(number) > 18:
        raise no_cursor(cursor)
    return at, int(number)


# --------------------------------------------------------------------------- the statements


@cache
def _add() -> Statement:
    return compiled(insert(schema.audit).values({name: bindparam(name) for name in COLUMNS}))


@cache
def _last() -> Statement:
    return compiled(select(_audit.id, _audit.hash).where(_audit.id > 0).order_by(_audit.id.desc()).limit(1))


@cache
def _hash_at() -> Statement:
    return compiled(select(_audit.hash).where(_audit.id == bindparam("id")))


@cache
def _remove_until() -> Statement:
    return compiled(delete(schema.audit).where(_audit.id <= bindparam("until")))


@cache
def _engine_value() -> Statement:
    return compiled(select(schema.engine.c.value).where(schema.engine.c.key == bindparam("key")))


@cache
def _beginning() -> Statement:
    return compiled(select(_audit.id, _audit.at).where(_audit.id > 0).order_by(_audit.id).limit(bindparam("count")))


@cache
def _following() -> Statement:
    chosen = and_(_audit.id > bindparam("after"), _audit.id <= bindparam("until"))
    typed = (func.typeof(_audit[name]) == ("integer" if name in NUMBERS else "text") for name in COLUMNS)
    values = (_audit[name] if name in NUMBERS else cast(_audit[name], LargeBinary) for name in COLUMNS)
    found = select(and_(*typed), *values).where(chosen)
    return compiled(found.order_by(_audit.id).limit(bindparam("count")))


@cache
def _walk_list(of_actor: bool, newest_first: bool) -> Statement:
    at, number = _audit.at, _audit.id
    after_at: Any = bindparam("at")
    after_number: Any = bindparam("number")
    beyond = or_(at < after_at, number < after_number) if newest_first else or_(at > after_at, number > after_number)
    chosen = [at >= bindparam("low"), at <= bindparam("high"), beyond]
    if of_actor:
        chosen.append(_audit.actor == bindparam("actor"))
    order = [at.desc(), number.desc()] if newest_first else [at, number]
    listed = [_audit[name] if name in NUMBERS else cast(_audit[name], LargeBinary) for name in _LISTED]
    return compiled(select(*listed).where(and_(*chosen)).order_by(*order).limit(bindparam("count")))
