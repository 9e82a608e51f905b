"""What a store promises about sessions: who had signed in before a restart still has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from pyscheduler.store import Batch
from tests.contract.store_kit import EVERY_STORE, NOON, OpenAgain, a_session, every_opener


@pytest.fixture(params=EVERY_STORE)
def open_again(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAgain]:
    with every_opener(request, tmp_path / "state", monkeypatch) as again:
        yield again


def test_a_session_is_there_after_opening_again(open_again: OpenAgain) -> None:
    """All of it, the revoked one with who revoked it."""
    live = a_session("a" * 64)
    revoked = a_session("b" * 64, revoked_at=NOON, revoked_by="root", expires_at=NOON + timedelta(hours=7))
    store = open_again()
    store.apply(Batch(sessions=(revoked, live)))
    store.close()
    assert open_again().sessions(10) == [live, revoked]


def test_the_longest_lasting_come_first_and_no_more_than_asked_for(open_again: OpenAgain) -> None:
    """A bound leaves out what ends first."""
    sessions = [a_session(f"{number:064x}", expires_at=NOON + timedelta(minutes=number)) for number in range(5)]
    store = open_again()
    store.apply(Batch(sessions=tuple(sessions)))
    assert store.sessions(2) == [sessions[4], sessions[3]]


def test_a_session_may_be_seen_and_revoked_but_never_changes_hands(open_again: OpenAgain) -> None:
    """Who it belongs to and what it rests on is fixed with the first save."""
    store, first = open_again(), a_session()
    store.apply(Batch(sessions=(first,)))
    later = replace(first, user="eve", proof="q", csrf="d", seen_at=NOON + timedelta(hours=1), revoked_at=NOON)
    store.apply(Batch(sessions=(later,)))
    assert store.sessions(10) == [replace(later, user="ada", proof="p", csrf="c")]


def test_a_deleted_session_is_gone(open_again: OpenAgain) -> None:
    """And no other goes with it."""
    store, kept, gone = open_again(), a_session("a" * 64), a_session("b" * 64)
    store.apply(Batch(sessions=(kept, gone)))
    store.apply(Batch(deleted_sessions=(gone.session_hash,)))
    assert store.sessions(10) == [kept]
