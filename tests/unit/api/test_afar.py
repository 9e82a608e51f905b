"""The word by which one scheduler vouches for whoever asked it: signed, for one request, once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from pyscheduler.api.afar import HEADER, Vouching
from pyscheduler.api.callers import Caller, Via
from pyscheduler.errors import Forbidden
from pyscheduler.model.person import Role
from tests.builders import NOON

ANN = Caller("ann", Role.OPERATOR, Via.SOCKET, "10.0.0.1", frozenset({"finance"}))
SECRET = "a secret that is long enough"


def scope(word: bytes | None, *, method: str = "POST", path: bytes = b"/api/jobs/load/trigger") -> dict[str, Any]:
    headers = [] if word is None else [(HEADER, word)]
    return {"method": method, "raw_path": path, "query_string": b"", "headers": headers}


def test_a_word_brings_name_role_and_teams() -> None:
    """Whoever is vouched for is who they were where they came in."""
    vouching = Vouching(SECRET, lambda: NOON)
    word = vouching.word(ANN, "POST", b"/api/jobs/load/trigger")
    assert vouching.caller(scope(word)) == ANN
    assert vouching.caller(scope(None)) is None


@pytest.mark.parametrize(
    "changed",
    [{"method": "GET"}, {"path": b"/api/jobs/other/trigger"}],
    ids=["another method", "another target"],
)
def test_a_word_is_for_one_request(changed: dict[str, Any]) -> None:
    """It opens nothing else."""
    vouching = Vouching(SECRET, lambda: NOON)
    word = vouching.word(ANN, "POST", b"/api/jobs/load/trigger")
    with pytest.raises(Forbidden):
        vouching.caller(scope(word, **changed))


def test_a_word_counts_once() -> None:
    """Who has listened on the wire cannot say it again."""
    vouching = Vouching(SECRET, lambda: NOON)
    word = vouching.word(ANN, "POST", b"/api/jobs/load/trigger")
    assert vouching.caller(scope(word)) == ANN
    with pytest.raises(Forbidden):
        vouching.caller(scope(word))


def test_a_word_of_another_secret_or_of_another_hour_is_none() -> None:
    """And neither is one that was changed, or no word at all."""
    here = Vouching(SECRET, lambda: NOON)
    for word in (
        Vouching("another secret of this length", lambda: NOON).word(ANN, "POST", b"/api/jobs/load/trigger"),
        Vouching(SECRET, lambda: NOON - timedelta(hours=1)).word(ANN, "POST", b"/api/jobs/load/trigger"),
        b"x" + here.word(ANN, "POST", b"/api/jobs/load/trigger"),
        b"",
        b"nothing",
    ):
        with pytest.raises(Forbidden):
            here.caller(scope(word))
