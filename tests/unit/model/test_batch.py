"""Merging batches keeps their meaning: what a reader finds afterwards is what saving them one by one would leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.model.audit import AuditEntry
from pyscheduler.model.batch import Batch, merged
from pyscheduler.model.config_record import ConfigRecord
from pyscheduler.model.run import Attempt, LogbookLine, Run, RunState
from pyscheduler.model.session import Session
from tests.contract.store_kit import NOON, a_line, a_run, a_session, an_attempt

RUNS = [a_run(job, seq, state=state) for job in "ab" for seq in (1, 2) for state in (RunState.QUEUED, RunState.FAILED)]
ATTEMPTS = [an_attempt(run, number, reason=reason) for run in RUNS for number in (1, 2) for reason in "xy"]
LINES = [a_line(run, action=action) for run in (None, *RUNS) for action in "mn"]
CONFIGS = [
    ConfigRecord(version=number, loaded_at=NOON, digest=digest, sources=()) for number in (1, 2) for digest in "pq"
]
SESSIONS = [a_session(session_hash, agent=agent) for session_hash in "st" for agent in "vw"]

batches = st.lists(
    st.builds(
        Batch,
        runs=st.lists(st.sampled_from(RUNS), max_size=3).map(tuple),
        attempts=st.lists(st.sampled_from(ATTEMPTS), max_size=3).map(tuple),
        lines=st.lists(st.sampled_from(LINES), max_size=3).map(tuple),
        engine=st.dictionaries(st.sampled_from("kl"), st.none() | st.sampled_from("12"), max_size=2),
        configs=st.lists(st.sampled_from(CONFIGS), max_size=2).map(tuple),
        deleted_runs=st.lists(st.sampled_from([run.run_id for run in RUNS]), max_size=2).map(tuple),
        sessions=st.lists(st.sampled_from(SESSIONS), max_size=2).map(tuple),
        deleted_sessions=st.lists(st.sampled_from("st"), max_size=1).map(tuple),
    ),
    max_size=6,
)


@dataclass
class PlainStore:
    """The meaning of a batch, as plain as it can be said."""

    runs: dict[str, Run] = field(default_factory=dict)
    attempts: dict[tuple[str, int], Attempt] = field(default_factory=dict)
    lines: list[LogbookLine] = field(default_factory=list)
    engine: dict[str, str] = field(default_factory=dict)
    configs: dict[int, ConfigRecord] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)

    def apply(self, batch: Batch) -> None:
        gone = batch.deleted_runs
        self.runs = {run_id: run for run_id, run in self.runs.items() if run_id not in gone}
        self.attempts = {key: attempt for key, attempt in self.attempts.items() if key[0] not in gone}
        self.lines = [line for line in self.lines if line.run_id not in gone]
        self.runs |= {run.run_id: run for run in batch.runs}
        self.attempts |= {(attempt.run_id, attempt.attempt): attempt for attempt in batch.attempts}
        self.lines += batch.lines
        self.configs |= {record.version: record for record in batch.configs}
        for session_hash in batch.deleted_sessions:
            self.sessions.pop(session_hash, None)
        self.sessions |= {session.session_hash: session for session in batch.sessions}
        for key, value in batch.engine.items():
            if value is None:
                self.engine.pop(key, None)
            else:
                self.engine[key] = value


def after(several: Sequence[Batch]) -> PlainStore:
    store = PlainStore()
    for batch in several:
        store.apply(batch)
    return store


@given(several=batches)
def test_merged_batches_mean_what_they_meant_one_by_one(several: list[Batch]) -> None:
    """One trip to the disk leaves what many would have left."""
    assert after([merged(several)]) == after(several)


@given(several=batches, cut=st.integers(0, 6))
def test_it_does_not_matter_how_batches_are_grouped(several: list[Batch], cut: int) -> None:
    """The writer may cut the line of batches into groups wherever a commit happens to end."""
    assert after([merged(several[:cut]), merged(several[cut:])]) == after(several)


@given(several=batches)
def test_merging_two_at_a_time_is_merging_all(several: list[Batch]) -> None:
    """`merge` is `merged` of two."""
    whole = Batch()
    for batch in several:
        whole = whole.merge(batch)
    assert after([whole]) == after(several)


@given(several=batches)
def test_a_merged_batch_holds_each_thing_once(several: list[Batch]) -> None:
    """What a later batch has overtaken is not written at all."""
    whole = merged(several)
    assert len({run.run_id for run in whole.runs}) == len(whole.runs)
    assert len({(attempt.run_id, attempt.attempt) for attempt in whole.attempts}) == len(whole.attempts)
    assert len(set(whole.deleted_runs)) == len(whole.deleted_runs)


def test_an_empty_batch_says_so() -> None:
    """Any one thing makes it worth a trip."""
    assert Batch().is_empty
    assert merged([]).is_empty
    assert not Batch(engine={"a": None}).is_empty
    assert not Batch(deleted_runs=("a",)).is_empty
    assert not Batch(lines=(a_line(),)).is_empty
    assert not Batch(audit=(an_entry("a"),)).is_empty
    assert not Batch(audit_gone_until=1).is_empty


def an_entry(action: str) -> AuditEntry:
    return AuditEntry(at=NOON, actor="ann", action=action)


def test_the_audit_log_keeps_its_order_and_what_was_thrown_away() -> None:
    """Each entry once, in the order posted; of two numbers the higher covers both."""
    first, second = Batch(audit=(an_entry("a"), an_entry("b")), audit_gone_until=7), Batch(audit=(an_entry("c"),))
    whole = merged([first, second, Batch(audit_gone_until=5)])
    assert [entry.action for entry in whole.audit] == ["a", "b", "c"]
    assert whole.audit_gone_until == 7
    assert not Batch(sessions=(a_session(),)).is_empty
    assert not Batch(deleted_sessions=("s",)).is_empty
