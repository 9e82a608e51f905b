"""Keeps the audit log: nobody gets an answer before the row that says what they did is on disk.

Of each deed two things are written. Its *announcement* goes to the disk with, or before, the first thing the deed
changes (`StoreWriter.ride_along`), at no cost of its own. Its *row* follows when the outcome is known, takes the
announcement away in the same commit, and is waited for before the answer is sent. So after a crash at any instant a
deed that changed anything has its row: the next engine finds announcements without one and writes them down as
`interrupted`. What was refused, or failed, has a row because its answer waited for it.

While no engine is open nothing can be written, and nothing can be done either: rows about that wait in memory, BACKLOG
at most, for the next engine; how many more there were is a row of its own. A crash meanwhile loses these.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from pyscheduler.api.callers import Caller
from pyscheduler.api.host import Host
from pyscheduler.engine.clock import SystemClock
from pyscheduler.engine.core import Engine
from pyscheduler.errors import ActionError, ConfigError, PyschedError
from pyscheduler.model.audit import DONE, INTERRUPTED, AuditEntry
from pyscheduler.model.batch import Batch

log = logging.getLogger(__name__)

ANNOUNCED: Final = "audit_announced."
"""Begins the engine value that an announcement is."""
BACKLOG: Final = 1000
LONGEST: Final = 1000
"""Characters of a reason or a result."""
LONGEST_NAME: Final = 200
LONGEST_DETAIL: Final = 2000
SCHEDULER: Final = "scheduler"


class Ledger:
    """The audit log of one service, whichever engine it has at the moment."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._open: set[str] = set()
        """Announcements of deeds that this process is still about."""
        self._backlog: deque[tuple[tuple[AuditEntry, ...], str]] = deque()
        self._dropped = 0

    # ----------------------------------------------------------------- deeds

    def entry(self, who: Caller, action: str, subject: str = "", **more: Any) -> AuditEntry:
        """Return an entry about somebody, its texts cut to what a row may hold."""
        return bounded(
            AuditEntry(
                at=self._now(),
                actor=who.name,
                role=who.role.value,
                via=who.via.value,
                address=who.address,
                action=action,
                subject=subject,
                **more,
            )
        )

    def announce(self, entry: AuditEntry) -> str:
        """Let what this deed changes not reach the disk without word of it; returns what `record` wants as `key`."""
        key = ANNOUNCED + secrets.token_hex(8)
        engine = self._engine()
        if engine is not None:
            self._open.add(key)
            engine.writer.ride_along(Batch(engine={key: _to_text(entry)}))
        return key

    async def record(self, *entries: AuditEntry, key: str = "") -> None:
        """Return when the rows are on disk; at once where no engine is open, and then they follow later."""
        engine = self._engine()
        if engine is None or not await self._save(engine, entries, key):
            self._put_aside(entries, key)

    @asynccontextmanager
    async def deed(self, who: Caller, action: str, subject: str = "", **more: Any) -> AsyncIterator[None]:
        """Record what the block does: done, or how it failed. What it raises passes on."""
        entry = self.entry(who, action, subject, **more)
        key = self.announce(entry)
        try:
            yield
        except PyschedError as error:
            await self.record(bounded(replace(entry, result=result_of(error))), key=key)
            raise
        except BaseException:
            self._open.discard(key)  # whatever it came to, the next engine finds the announcement
            raise
        await self.record(entry, key=key)

    # ----------------------------------------------------------------- people who come and go

    async def signed_in(self, who: Caller, **detail: object) -> None:
        """Record that somebody has signed in, or came by a one-time link."""
        await self.record(self.entry(who, "sign_in", who.name, detail=detail))

    async def signed_out(self, who: Caller, **detail: object) -> None:
        """Record that somebody has signed out."""
        await self.record(self.entry(who, "sign_out", who.name, detail=detail))

    async def sign_in_failed(self, name: str, address: str, why: str, **detail: object) -> None:
        """Record that somebody who is nobody yet was not let in. `name` is what was typed, never a password."""
        at = self._now()
        entry = AuditEntry(
            at=at, actor="", address=address, action="sign_in", subject=name, result=f"refused {why}", detail=detail
        )
        await self.record(bounded(entry))

    # ----------------------------------------------------------------- engines come and go

    async def opened(self, engine: Engine) -> None:
        """Write down what an engine before this one could not: what was interrupted, what has waited."""
        values = await asyncio.to_thread(engine.store.engine_values)
        left = {key: text for key, text in values.items() if key.startswith(ANNOUNCED) and key not in self._open}
        if left:  # looked at again: a deed of our own may have come to its row while the first answer was on its way
            values = await asyncio.to_thread(engine.store.engine_values)
            left = {key: text for key, text in left.items() if key in values}
        if left:
            rows = tuple(entry for text in left.values() if (entry := _of_text(text)) is not None)
            log.warning("%d actions were under way when the scheduler was ended: see `pysched audit list`", len(left))
            await engine.writer.save(Batch(audit=rows, engine=dict.fromkeys(left)))
        while self._backlog:
            if not await self._save(engine, *self._backlog[0]):
                return
            self._backlog.popleft()
        if self._dropped:
            lost, self._dropped = self._dropped, 0
            at = engine.clock.now()
            await engine.writer.save(
                Batch(audit=(AuditEntry(at=at, actor=SCHEDULER, action="audit_lost", detail={"rows": lost}),))
            )

    async def _save(self, engine: Engine, entries: tuple[AuditEntry, ...], key: str) -> bool:
        """Write rows; False where the engine has failed, and the next one has to."""
        try:
            await engine.writer.save(Batch(audit=entries, engine={key: None} if key else {}))
        except PyschedError:
            return False
        self._open.discard(key)
        return True

    def _put_aside(self, entries: tuple[AuditEntry, ...], key: str) -> None:
        if len(self._backlog) < BACKLOG:
            self._backlog.append((entries, key))
        else:
            self._dropped += len(entries)
            self._open.discard(key)

    def _engine(self) -> Engine | None:
        try:
            return self._host.engine()
        except PyschedError:
            return None

    def _now(self) -> datetime:
        engine = self._engine()
        return (SystemClock() if engine is None else engine.clock).now()


def result_of(error: PyschedError) -> str:
    """Return what an entry says of an error."""
    if isinstance(error, ConfigError):
        return f"refused 400 the configuration has errors: {error.problems[0] if error.problems else ''}"
    if isinstance(error, ActionError):
        return answered(error.status, error.what)
    return f"failed {error.what}"


def answered(status: int, text: str) -> str:
    """Return what an entry says of an answer with this status."""
    if status < 400:
        return DONE
    return f"{'refused' if status < 500 else 'failed'} {status} {text}".rstrip()


def bounded(entry: AuditEntry) -> AuditEntry:
    """Return an entry with its texts cut to what a row may hold."""
    return replace(
        entry,
        actor=entry.actor[:LONGEST_NAME],
        address=entry.address[:LONGEST_NAME],
        action=entry.action[:LONGEST_NAME],
        subject=entry.subject[:LONGEST_NAME],
        reason=entry.reason[:LONGEST],
        result=entry.result[:LONGEST],
        detail=_bounded_detail(entry.detail),
    )


def _bounded_detail(detail: Mapping[str, object]) -> Mapping[str, object]:
    kept: dict[str, object] = {}
    room = LONGEST_DETAIL
    for name, value in detail.items():
        room -= len(json.dumps([name, value], default=str))
        if room < 0:
            return kept | {"cut": True}
        kept[name] = value
    return kept


def _to_text(entry: AuditEntry) -> str:
    """Return an announcement's text."""
    names: Iterable[str] = ("actor", "role", "via", "address", "action", "subject", "reason")
    values = {name: getattr(entry, name) for name in names}
    return json.dumps({**values, "at": entry.at.isoformat(), "detail": dict(entry.detail)}, default=str)


def _of_text(text: str) -> AuditEntry | None:
    """Return the row for an announcement that nothing followed; None for a text that is none."""
    try:
        values = json.loads(text)
        values["at"] = datetime.fromisoformat(values["at"])
        return AuditEntry(**values, result=INTERRUPTED)
    except (ValueError, TypeError, KeyError):
        log.warning("an announcement of the audit log cannot be read: %.200s", text)
        return None
