"""The audit log in a real store: a chain over every commit, thrown away from its beginning only, and proof of both."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyscheduler.errors import BadRequest
from pyscheduler.model.audit import AuditEntry
from pyscheduler.store import AuditQuery, Batch, Break, Link, Peek, Store
from pyscheduler.store.dialects import SQLITE
from tests.contract.store_kit import EVERY_STORE, NOON, STORES, OpenAgain, every_opener


def entry(number: int = 0, **fields: Any) -> AuditEntry:
    defaults: dict[str, Any] = {
        "at": NOON + timedelta(minutes=number),
        "actor": "ann",
        "role": "operator",
        "via": "token",
        "address": "192.0.2.7",
        "action": "hold",
        "subject": f"load.2027-05-20.{number}",
        "reason": "disk is full",
        "detail": {"downstream": True},
    }
    return AuditEntry(**(defaults | fields))


@pytest.fixture(params=EVERY_STORE)
def again(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAgain]:
    with every_opener(request, tmp_path, monkeypatch) as found:
        yield found


def filled(store: Store, count: int) -> None:
    store.apply(Batch(audit=tuple(map(entry, range(1, count + 1)))))


def broken(store: Store, known: Link | None = None) -> Break | None:
    return store.verify_audit(known).broken


def meddled(again: OpenAgain, *statements: str) -> Store:
    """Close the store, change its file behind its back, and open it again."""
    again.opened[-1].close()
    with again.meddling() as execute:
        for statement in statements:
            execute(statement)
    return again()


def test_what_was_appended_comes_back_chained(again: OpenAgain) -> None:
    """Over several commits and openings, numbered from 1, each row with the hash before it."""
    store = again()
    store.apply(Batch(audit=(entry(1), entry(2))))
    store.apply(Batch(audit=(entry(3, detail={"run_date": "2027-05-20"}),)))
    store.close()
    store = again()
    store.apply(Batch(audit=(entry(4),)))
    rows = store.audit_entries(AuditQuery(newest_first=False)).items
    assert [row.id for row in rows] == [1, 2, 3, 4]
    assert [row.previous_hash for row in rows[1:]] == [row.hash for row in rows[:-1]]
    assert rows[2].detail == {"run_date": "2027-05-20"}
    found = store.verify_audit()
    assert (found.rows, found.anchor.id, found.head, found.broken) == (4, 0, Link(4, rows[3].hash), None)


def test_a_group_of_batches_is_one_piece_of_the_chain(again: OpenAgain) -> None:
    """In the order in which they were posted."""
    store = again()
    store.apply(Batch(audit=(entry(1),)).merge(Batch(audit=(entry(2), entry(3)))))
    assert [row.subject[-1] for row in store.audit_entries(AuditQuery()).items] == ["3", "2", "1"]
    assert broken(store) is None


def test_odd_text_is_stored_and_still_proved(again: OpenAgain) -> None:
    """Lone surrogates become `?` before they are hashed; quotes and emoji stay what they are, and NUL in a file."""
    store = again()
    store.apply(Batch(audit=(entry(actor="a\udc80b", reason="x\0y'\"\n🦉", subject="job/ü%20"),)))
    (row,) = store.audit_entries(AuditQuery()).items
    nul = "\0" if store.dialect == SQLITE else "?"
    assert (row.actor, row.reason, row.subject) == ("a?b", f"x{nul}y'\"\n🦉", "job/ü%20")
    assert broken(store) is None


TEXTS = ("actor", "role", "via", "address", "action", "subject", "reason", "result", "detail", "previous_hash", "hash")


@pytest.mark.parametrize(
    "change",
    [f"UPDATE audit SET {name} = {name} || 'x' WHERE id = 2" for name in TEXTS]
    + [f"UPDATE audit SET {name} = CAST({name} AS BLOB) WHERE id = 2" for name in TEXTS]
    + [f"UPDATE audit SET {name} = CAST(x'ff' AS TEXT) WHERE id = 2" for name in TEXTS]
    + [
        "UPDATE audit SET at = at + 1 WHERE id = 2",
        "UPDATE audit SET at = at + 0.5 WHERE id = 2",
        "UPDATE audit SET id = 40 WHERE id = 2",
        "UPDATE audit SET id = -2 WHERE id = 2",
        "DELETE FROM audit WHERE id = 1",
        "DELETE FROM audit WHERE id = 2",
        "DELETE FROM audit WHERE id = 3",
        "DELETE FROM audit",
        "UPDATE audit SET actor = (SELECT actor FROM audit WHERE id = 2) || char(0) WHERE id = 2",
        f"INSERT INTO audit SELECT 4, at, {', '.join(TEXTS)} FROM audit WHERE id = 3",
    ],
)
def test_any_change_behind_its_back_is_found(tmp_path: Path, change: str) -> None:
    """Whatever is done to a row, its type included; and the service goes on writing all the same."""
    again = OpenAgain(tmp_path)
    filled(again(), 3)
    store = meddled(again, change)
    assert broken(store) is not None
    store.apply(Batch(audit=(entry(9),)))
    assert broken(store) is not None
    again.close()


@pytest.mark.parametrize("key", ["audit_head", "audit_anchor"])
def test_notes_that_were_changed_are_found(tmp_path: Path, key: str) -> None:
    """Of the last row and of what was thrown away; rows can still be added."""
    again = OpenAgain(tmp_path)
    store = again()
    filled(store, 3)
    store.apply(Batch(audit_gone_until=1))
    for change in (f"DELETE FROM engine WHERE key = '{key}'", f"UPDATE engine SET value = 'x' WHERE key = '{key}'"):
        store = meddled(again, change)
        assert broken(store) is not None
    store.apply(Batch(audit=(entry(9),)))
    again.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(data=st.data())
def test_any_byte_changed_is_found(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """One byte of one value of one row becomes another."""
    again = OpenAgain(tmp_path_factory.mktemp("audit"))
    store = again()
    filled(store, 4)
    store.close()
    row, column = data.draw(st.integers(1, 4)), data.draw(st.sampled_from(TEXTS))
    with closing(sqlite3.connect(again.state_dir / "pysched.db")) as connection:
        (text,) = connection.execute(f"SELECT CAST({column} AS BLOB) FROM audit WHERE id = ?", (row,)).fetchone()
        place, value = data.draw(st.integers(0, len(text) - 1)), data.draw(st.integers(0, 255))
        other = bytes([*text[:place], value, *text[place + 1 :]])
        connection.execute(f"UPDATE audit SET {column} = CAST(? AS TEXT) WHERE id = ?", (other, row))
        connection.commit()
    store = again()
    assert (broken(store) is None) == (other == text)
    again.close()


@settings(max_examples=25)
@given(steps=st.lists(st.one_of(st.integers(1, 5), st.floats(0, 1)), min_size=1, max_size=8))
def test_thrown_away_at_any_point_it_still_verifies(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int | float]
) -> None:
    """Appending and pruning in any order, all of it pruned included."""
    again = OpenAgain(tmp_path_factory.mktemp("audit"))
    store, written, gone = again(), 0, 0
    for step in steps:
        if isinstance(step, int):
            store.apply(Batch(audit=tuple(entry(written + n) for n in range(1, step + 1))))
            written += step
        else:
            gone = max(gone, gone + round(step * (written - gone)))
            store.apply(Batch(audit_gone_until=gone))
        found = store.verify_audit()
        assert (found.broken, found.rows, found.anchor.id) == (None, written - gone, gone)
    again.close()


def test_only_a_beginning_is_thrown_away(again: OpenAgain) -> None:
    """A row that is old by a clock set back, behind one that is not, stays; and so many at a time."""
    store = again()
    ages = (1, 2, 3, 10, 2, 11)
    store.apply(Batch(audit=tuple(entry(age) for age in ages)))
    last: Callable[[datetime, int], int | None] = store.audit_last_before
    assert last(NOON + timedelta(minutes=5), 100) == 3
    assert last(NOON + timedelta(minutes=5), 2) == 2
    assert last(NOON, 100) is None
    store.apply(Batch(audit_gone_until=3))
    assert last(NOON + timedelta(minutes=5), 100) is None
    assert sorted(row.id for row in store.audit_entries(AuditQuery()).items) == [4, 5, 6]
    assert broken(store) is None


def test_numbers_go_on_after_everything_was_thrown_away(again: OpenAgain) -> None:
    """No number is given twice."""
    store = again()
    filled(store, 2)
    store.apply(Batch(audit_gone_until=2))
    store.apply(Batch(audit=(entry(3),)))
    assert [row.id for row in store.audit_entries(AuditQuery()).items] == [3]
    assert broken(store) is None


def test_a_hash_noted_elsewhere_finds_a_log_that_was_written_anew(tmp_path: Path) -> None:
    """An older copy put back, and something else done since, does not have it."""
    again = OpenAgain(tmp_path)
    store = again()
    filled(store, 3)
    known = store.verify_audit().head
    assert broken(store, known) is None
    store = meddled(again, "DELETE FROM audit", "DELETE FROM engine WHERE key = 'audit_head'")
    filled(store, 2)
    assert broken(store) is None
    assert broken(store, known) == Break(3, "is missing: the last row is 2")
    store.apply(Batch(audit=(entry(8),)))
    assert broken(store, known) == Break(3, "has not the hash that was given: the chain was written anew")
    again.close()


def subjects(store: Store, **asked: Any) -> list[str]:
    return [row.subject[-1] for row in store.audit_entries(AuditQuery(**asked)).items]


def test_it_is_listed_by_every_filter(again: OpenAgain) -> None:
    """Newest first; text in any column that people read, whatever its case."""
    store = again()
    store.apply(
        Batch(
            audit=(
                entry(1),
                entry(2, actor="bob", action="kill", result="refused 409 it is not running"),
                entry(3, reason="Grüße"),
                entry(4, actor="bob"),
            )
        )
    )
    assert subjects(store) == ["4", "3", "2", "1"]
    assert subjects(store, newest_first=False) == ["1", "2", "3", "4"]
    assert subjects(store, actor="bob") == ["4", "2"]
    assert subjects(store, action="kill") == ["2"]
    assert subjects(store, subject="load.2027-05-20.3") == ["3"]
    assert subjects(store, since=NOON + timedelta(minutes=2), until=NOON + timedelta(minutes=4)) == ["3", "2"]
    assert subjects(store, text="NOT RUNNING") == ["2"]
    assert subjects(store, text="GRÜSSE") == ["3"]
    assert subjects(store, actor="bob", text="kill") == ["2"]
    assert subjects(store, text="nothing") == []


def test_it_is_paged_to_its_end(again: OpenAgain) -> None:
    """Each row once, in both orders; a cursor that is none is refused."""
    store = again()
    store.apply(Batch(audit=tuple(entry(n % 3) for n in range(1, 24))))
    for newest_first in (True, False):
        seen: list[int] = []
        cursor = None
        while True:
            page = store.audit_entries(AuditQuery(limit=4, cursor=cursor, newest_first=newest_first))
            seen += [row.id for row in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert sorted(seen) == list(range(1, 24))
    for wrong in ("x", "1~x", "1~-2"):
        with pytest.raises(BadRequest):
            store.audit_entries(AuditQuery(cursor=wrong))


def test_it_is_read_and_proved_from_outside(again: OpenAgain) -> None:
    """While a scheduler has the store open, and while none has."""
    store = again()
    filled(store, 5)
    for _ in range(2):
        peek = Peek.open(again.state_dir, url=again.url)
        assert peek is not None
        with peek:
            assert len(peek.audit_entries(AuditQuery()).items) == 5
            assert peek.verify_audit().broken is None
        store.close()


@pytest.mark.parametrize("again", STORES, indirect=True)
def test_a_text_that_is_no_utf8_is_shown_as_far_as_it_can_be(again: OpenAgain) -> None:
    """Somebody has been at the file: the list shows it, the walk finds it, and neither is an error."""
    filled(again(), 3)
    store = meddled(again, "UPDATE audit SET reason = CAST(x'6469736bff' AS TEXT), detail = x'ff' WHERE id = 2")
    page = store.audit_entries(AuditQuery(newest_first=False))
    assert [row.reason for row in page.items] == ["disk is full", "disk\ufffd", "disk is full"]
    assert [row.id for row in store.audit_entries(AuditQuery(text="disk\ufffd")).items] == [2]
    assert [row.id for row in store.audit_entries(AuditQuery(actor="ann")).items] == [3, 2, 1]
    assert broken(store) is not None
