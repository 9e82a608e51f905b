"""One request that may change something, on its way into the audit log: watched from the gates to its answer.

What it is called and what it is done to follow from its path, so that one that was refused at the door has a row as
well; a handler that knows better says so through `record_of`. Of a body only what is listed in TOLD is kept: others may
be secrets. Sign-in and sign-out are not watched: who handles them knows who came (`Ledger.signed_in` and its like).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from starlette.types import Message, Scope, Send

from pyscheduler.api.callers import Caller
from pyscheduler.api.ledger import Ledger, answered, bounded
from pyscheduler.model.audit import DONE, INTERRUPTED, AuditEntry

OWN: Final = frozenset({"/login", "/logout"})
"""Whoever answers these records them."""
_FIELDS: Final = "run_date from to downstream catch_up decision notifier action run_ids selection"
TOLD: Final = frozenset(_FIELDS.split())
"""Fields of a body that an entry repeats."""
MOST_BODY: Final = 64 * 1024
"""A longer body is not looked into."""
MOST_ANSWER: Final = 16 * 1024
MOST_ITEMS: Final = 20
_AS_THEY_ARE: Final = frozenset({"runs", "jobs", "scheduler", "nodes"})


@dataclass(slots=True)
class Record:
    """What a handler may say of its request, before it answers. Its `each` makes one row for each thing done."""

    action: str
    subject: str
    reason: str = ""
    detail: dict[str, object] = field(default_factory=dict)
    each: list[tuple[str, str]] = field(default_factory=list)
    """Subjects with their results: `done`, or `refused 409 …` (`ledger.answered`)."""
    is_look: bool = False
    """Nothing was to be changed, a preview: no row, unless it was refused."""


def record_of(scope: Scope) -> Record | None:
    """Return what goes into the audit log about this request; None where nothing does."""
    found: Record | None = scope.get("state", {}).get("audit")
    return found


def only_looks(scope: Scope) -> None:
    """Let this request have no row, unless it is refused: nothing is to be changed."""
    if (record := record_of(scope)) is not None:
        record.is_look = True


class Recorder:
    """Watches one request of somebody who is known."""

    def __init__(self, ledger: Ledger, scope: Scope, who: Caller) -> None:
        self._ledger = ledger
        self._record = Record(*deed_of(scope["method"], scope["path"]))
        self._entry = ledger.entry(who, self._record.action, self._record.subject)
        self._key, self._is_written = "", False
        self._start: Message | None = None
        self._answer = bytearray()
        scope.setdefault("state", {})["audit"] = self._record

    def begin(self, body: bytes) -> None:
        """Announce the request, which has its body and is handed on now."""
        told = _told(body)
        self._record.reason = reason if isinstance(reason := told.pop("reason", ""), str) else ""
        self._record.detail = told
        self._key = self._ledger.announce(self._row(self._record.subject, INTERRUPTED))

    def watching(self, send: Send) -> Send:
        """Return a send that lets no answer out before its row is on disk."""

        async def watched(message: Message) -> None:
            if self._is_written:
                await send(message)
            elif message["type"] == "http.response.start":
                self._start = message
                if message["status"] < 400:
                    await self._write(DONE)
                    await send(message)
            elif self._start is not None:
                self._answer += message.get("body", b"")
                if message.get("more_body", False) and len(self._answer) <= MOST_ANSWER:
                    return
                await self._write(answered(self._start["status"], _error_of(self._answer)))
                await send(self._start)
                await send({**message, "body": bytes(self._answer)})

        return watched

    async def close(self) -> None:
        """Write down a request that came to no answer."""
        if not self._is_written:
            await self._write(INTERRUPTED)

    async def _write(self, result: str) -> None:
        self._is_written = True
        record = self._record
        rows = [self._row(subject, each) for subject, each in record.each] if result == DONE else []
        if not rows and not (record.is_look and result == DONE):
            rows = [self._row(record.subject, result)]
        await self._ledger.record(*rows, key=self._key)

    def _row(self, subject: str, result: str) -> AuditEntry:
        record = self._record
        entry = replace(
            self._entry,
            action=record.action,
            subject=subject,
            reason=record.reason,
            result=result,
            detail=record.detail,
        )
        return bounded(entry)


def deed_of(method: str, path: str) -> tuple[str, str]:
    """Return how a request is called, and what it is done to.

    `POST /api/runs/ID/force-start` is `force_start` done to ID, `POST /api/reload` is `reload`; of other nouns the noun
    belongs to the name: `POST /api/alerts/7/replay` is `alerts_replay`, `DELETE /api/sessions/7` `sessions_delete`.
    """
    parts = [part for part in path.removeprefix("/api/").split("/") if part]
    if not path.startswith("/api/") or not parts:
        return f"{method} {path}", ""
    verb = method.lower()
    noun, *middle = parts
    if method == "POST" and middle:
        verb = middle.pop()
    elif method == "POST":
        return _word(noun), ""
    name = verb if noun in _AS_THEY_ARE and method == "POST" else f"{noun}_{verb}"
    return _word(name), "/".join(middle)


def _word(text: str) -> str:
    return text.replace("-", "_")


def _told(body: bytes) -> dict[str, object]:
    """Return what an entry repeats of a body, and the reason with it."""
    if not body or len(body) > MOST_BODY:
        return {}
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, Mapping):
        return {}
    return {name: _short(found[name]) for name in found if name in TOLD or name == "reason"}


def _short(value: object) -> object:
    if isinstance(value, list):
        more = len(value) - MOST_ITEMS
        return [_plain(item) for item in value[:MOST_ITEMS]] + ([f"and {more} more"] if more > 0 else [])
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in list(value.items())[:MOST_ITEMS]}
    return _plain(value)


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | bool | None) else "…"


def _error_of(answer: bytes | bytearray) -> str:
    """Return what a refusal's body says."""
    try:
        found: Any = json.loads(answer)
    except (ValueError, RecursionError):
        return ""
    error = found.get("error") if isinstance(found, Mapping) else None
    return error if isinstance(error, str) else ""
