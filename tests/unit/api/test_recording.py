"""What of a request goes into the audit log: its name, what it is done to, and no more of its body than is listed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message

from pyscheduler.api.callers import Caller, Role, Via
from pyscheduler.api.ledger import Ledger
from pyscheduler.api.recording import MOST_BODY, Recorder, deed_of, record_of
from pyscheduler.model.audit import AuditEntry

NOON = datetime(2027, 5, 20, 12, tzinfo=UTC)
ANN = Caller("ann", Role.OPERATOR, Via.TOKEN, "192.0.2.7")


@pytest.mark.parametrize(
    ("method", "path", "action", "subject"),
    [
        ("POST", "/api/runs/load.2027-05-20.1/force-start", "force_start", "load.2027-05-20.1"),
        ("POST", "/api/jobs/load/trigger", "trigger", "load"),
        ("POST", "/api/scheduler/pause", "pause", ""),
        ("POST", "/api/reload", "reload", ""),
        ("POST", "/api/catch-up", "catch_up", ""),
        ("POST", "/api/alerts/7/replay", "alerts_replay", "7"),
        ("POST", "/api/admin/users/ann/reset", "admin_reset", "users/ann"),
        ("DELETE", "/api/sessions/7", "sessions_delete", "7"),
        ("DELETE", "/api/runs/a.2027-05-20.1", "runs_delete", "a.2027-05-20.1"),
        ("POST", "/api/runs/a/b/hold", "hold", "a/b"),
        ("POST", "/api/", "POST /api/", ""),
        ("PUT", "/elsewhere", "PUT /elsewhere", ""),
    ],
)
def test_a_request_is_named_by_its_path(method: str, path: str, action: str, subject: str) -> None:
    """The words of the logbook where it has any; no path makes it fail."""
    assert deed_of(method, path) == (action, subject)


@given(method=st.sampled_from(["POST", "PUT", "DELETE"]), path=st.text())
def test_every_path_has_a_name(method: str, path: str) -> None:
    """Whatever is asked for."""
    action, subject = deed_of(method, "/api/" + path)
    assert action
    assert isinstance(subject, str)


class Book:
    """A ledger that is a list. What happened in which order is in `told`."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.announced: list[AuditEntry] = []
        self.rows: list[AuditEntry] = []

    def entry(self, who: Caller, action: str, subject: str = "", **more: Any) -> AuditEntry:
        return AuditEntry(
            at=NOON, actor=who.name, role=who.role, via=who.via, address=who.address, action=action, subject=subject
        )

    def announce(self, entry: AuditEntry) -> str:
        self.announced.append(entry)
        self.told.append("announced")
        return "key"

    async def record(self, *entries: AuditEntry, key: str = "") -> None:
        self.rows += entries
        self.told.append(f"recorded {key}".strip())

    async def send(self, message: Message) -> None:
        self.told.append(message["type"].rpartition(".")[2])


def recorder(book: Book, path: str = "/api/jobs/load/trigger") -> tuple[Recorder, dict[str, Any]]:
    scope = {"type": "http", "method": "POST", "path": path}
    return Recorder(cast("Ledger", book), scope, ANN), scope


async def answer(recorder: Recorder, book: Book, status: int, *bodies: bytes) -> None:
    send = recorder.watching(book.send)
    await send({"type": "http.response.start", "status": status, "headers": []})
    for place, body in enumerate(bodies, 1):
        await send({"type": "http.response.body", "body": body, "more_body": place < len(bodies)})


async def test_no_answer_leaves_before_its_row() -> None:
    """Announced, done, written down, answered; who, from where and why are in it."""
    book = Book()
    watch, _ = recorder(book)
    watch.begin(b'{"run_date": "2027-05-20", "reason": "asked by bob", "password": "s3cret"}')
    await answer(watch, book, 200, b"{}")
    await watch.close()
    assert book.told == ["announced", "recorded key", "start", "body"]
    (row,) = book.rows
    assert (row.actor, row.role, row.via, row.address) == ("ann", "operator", "token", "192.0.2.7")
    assert (row.action, row.subject, row.reason, row.result) == ("trigger", "load", "asked by bob", "done")
    assert row.detail == {"run_date": "2027-05-20"}


async def test_a_refusal_says_why() -> None:
    """By status and in the answer's own words; it is held back until they are known."""
    book = Book()
    watch, _ = recorder(book)
    watch.begin(b"")
    await answer(watch, book, 409, b'{"error": "it is ', b'running"}')
    assert book.told == ["announced", "recorded key", "start", "body"]
    assert book.rows[0].result == "refused 409 it is running"
    book = Book()
    watch, _ = recorder(book)
    await answer(watch, book, 503, b"no json")
    assert book.rows[0].result == "failed 503"


async def test_a_handler_may_say_more() -> None:
    """A row for each thing done, each with its result; none for a preview, unless it was refused."""
    book = Book()
    watch, scope = recorder(book, "/api/bulk")
    record = record_of(scope)
    assert record is not None
    record.action, record.each = "hold", [("a.2027-05-20.1", "done"), ("b.2027-05-20.1", "refused 409 it has ended")]
    await answer(watch, book, 200, b"{}")
    found = [(row.action, row.subject, row.result) for row in book.rows]
    assert found == [("hold", "a.2027-05-20.1", "done"), ("hold", "b.2027-05-20.1", "refused 409 it has ended")]
    for status, rows in ((200, 0), (403, 1)):
        book = Book()
        watch, scope = recorder(book)
        record = record_of(scope)
        assert record is not None
        record.is_look = True
        await answer(watch, book, status, b"{}")
        assert len(book.rows) == rows


async def test_a_request_without_an_answer_has_a_row() -> None:
    """Once."""
    book = Book()
    watch, _ = recorder(book)
    watch.begin(b"{}")
    await watch.close()
    await watch.close()
    assert [row.result for row in book.rows] == ["interrupted"]


@pytest.mark.parametrize(
    "body",
    [b"", b"no json", b"[1]", b'{"reason": 7}', b"[" * 60_000, b'{"reason": "' + b"x" * MOST_BODY + b'"}', b"\xff"],
)
async def test_no_body_makes_it_fail(body: bytes) -> None:
    """What is no text for a reason is none."""
    book = Book()
    watch, _ = recorder(book)
    watch.begin(body)
    await answer(watch, book, 400, b"")
    assert (book.rows[0].reason, book.rows[0].detail) == ("", {})


async def test_long_lists_are_cut_and_parts_left_out() -> None:
    """A row stays small."""
    book = Book()
    watch, _ = recorder(book)
    watch.begin(json.dumps({"run_ids": [str(n) for n in range(30)], "to": {"a": [1], "b": 2}}).encode())
    (entry,) = book.announced
    assert entry.detail["to"] == {"a": "…", "b": 2}
    assert isinstance(runs := entry.detail["run_ids"], list)
    assert runs[-2:] == ["19", "and 10 more"]
