"""A put whose connection broke: once more, then what the row says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pypepper.scheduler.store.doubt import put_through_a_break, reads_as_ours
from pypepper.scheduler.store.interfaces import JobRecord

MINE = JobRecord("a", None, "c", "InProgress", "born", "later", version=2)


class Broken(Exception):
    """The line went dead."""


class Store:
    """Answers puts from a script: True, False, or an error to raise."""

    def __init__(self, *script: bool | Exception, durable: JobRecord | None = None) -> None:
        self.script = list(script)
        self.durable = durable

    def put(self, _record: JobRecord) -> bool:
        said = self.script.pop(0)
        if isinstance(said, Exception):
            raise said
        return said

    def get(self, _job_id: str) -> JobRecord | None:
        return self.durable

    def through(self) -> bool:
        return put_through_a_break(MINE, self.put, self.get, lambda error: isinstance(error, Broken))


@pytest.mark.parametrize("answer", [True, False])
def test_an_answer_is_an_answer(answer: bool) -> None:
    """Nothing broke: one put, and what it says, even if the row happens to read as ours."""
    store = Store(answer, durable=replace(MINE, version=3))
    assert store.through() is answer
    assert store.script == []


def test_other_errors_pass() -> None:
    """Only a broken connection is a doubt."""
    with pytest.raises(ValueError, match="full"):
        Store(ValueError("full"), True).through()


def test_it_had_not_landed() -> None:
    """The second put is the first that counts."""
    assert Store(Broken(), True).through() is True


def test_it_had_landed() -> None:
    """The row refuses ours because ours is in it."""
    assert Store(Broken(), False, durable=replace(MINE, created="long ago", version=3)).through() is True


@pytest.mark.parametrize(
    "durable",
    [None, replace(MINE, version=2), replace(MINE, version=4), replace(MINE, version=3, updated="by another")],
)
def test_somebody_else_was_quicker(durable: JobRecord | None) -> None:
    """The row refuses ours and is not ours."""
    assert Store(Broken(), False, durable=durable).through() is False


def test_a_server_that_stays_away_is_the_callers_trouble() -> None:
    """The second error is raised."""
    with pytest.raises(Broken):
        Store(Broken(), Broken()).through()


def test_an_empty_payload_is_no_difference() -> None:
    """MongoDB reads it back as None."""
    assert reads_as_ours(replace(MINE, version=3), replace(MINE, payload={}))
    assert not reads_as_ours(replace(MINE, version=3), replace(MINE, payload={"k": 1}))
