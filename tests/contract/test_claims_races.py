"""Two connections really at once, on servers only: which waits for which, and what the second finds.

A transaction is held open between its statements and its commit; the other is seen to wait for a lock in the server's
own view (never for a while), or to be done without waiting. SQLite has one writer at a time: there nothing of this can
happen (BEGIN IMMEDIATE), and the sequences are those of the other contract tests.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from pyscheduler.errors import AuthorityLost, StoreUnavailable
from pyscheduler.model.lease import AUTHORITY, Proof, ProofKind, Seen
from pyscheduler.store.claims import Applied, Claims, Transaction, Watermark, authority, ending, granting, revoking
from pyscheduler.store.postgres.connect import LOCK_S
from tests.contract.claims_kit import (
    NOON,
    TIMING,
    Meeting,
    a_meeting,
    held,
    occurrence,
    offered,
    report,
    start_of,
    started,
)
from tests.contract.store_kit import SERVERS

T = TypeVar("T")
DEADLINE_S = 30.0
BY_HAND = Proof(inc_id="a", kind=ProofKind.HAND, by="ada")


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's own bounds are for who has been left alone: here a transaction is held, and waited for, on purpose.

    On a busy machine a look at who waits may take longer than they do.
    """
    monkeypatch.setattr("pyscheduler.store.claims.postgres_door.STATEMENT_S", 2 * DEADLINE_S)
    monkeypatch.setattr("pyscheduler.store.postgres.connect.LOCK_S", 2 * DEADLINE_S)
    monkeypatch.setattr("pyscheduler.store.postgres.connect.IDLE_IN_TRANSACTION_S", 2 * DEADLINE_S)


@pytest.fixture(params=SERVERS)
def meeting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Meeting]:
    with a_meeting(request, tmp_path, request.param) as found:
        yield found


@pytest.fixture
def side() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


class Open:
    """A transaction whose statements are done and whose COMMIT waits for a word."""

    def __init__(self) -> None:
        self.reached, self.may_commit = threading.Event(), threading.Event()

    def hold(self, work: Callable[[Transaction], T]) -> Callable[[Transaction], T]:
        def held_open(on: Transaction) -> T:
            done = work(on)
            self.reached.set()
            assert self.may_commit.wait(DEADLINE_S)
            return done

        return held_open


@contextmanager
def held_open(
    side: ThreadPoolExecutor, claims: Claims, work: Callable[[Transaction], T]
) -> Iterator[tuple[Open, Future[T]]]:
    """Give a transaction of this incarnation that is not committed yet; it is at the end at the latest."""
    gate = Open()
    done = side.submit(claims.door.write, gate.hold(work))
    try:
        assert gate.reached.wait(DEADLINE_S)
        yield gate, done
    finally:
        gate.may_commit.set()


def wait_until_it_waits(meeting: Meeting, name: str, done: Future[T]) -> None:
    """Return once the server says that this incarnation's connection waits for a lock."""
    deadline = time.monotonic() + DEADLINE_S
    who = meeting.known_as(name)
    sql = f"SELECT 1 AS yes FROM pg_stat_activity WHERE application_name = '{who}' AND wait_event_type = 'Lock'"
    while not meeting.run(sql):
        assert not done.done(), f"it did not wait, and gave {done.result()}"
        assert time.monotonic() < deadline
        time.sleep(0.01)


def end_connections(meeting: Meeting, name: str) -> None:
    """Let the server end this incarnation's connections, and return once they are gone."""
    who = meeting.known_as(name)
    meeting.run(f"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = '{who}'")


def test_two_claims_at_once_take_different_runs_and_neither_waits(meeting: Meeting, side: ThreadPoolExecutor) -> None:
    """SKIP LOCKED: the second passes over what the first has in hand."""
    ids = offered(meeting, 3)
    one, other = meeting.join("a"), meeting.join("b")
    with held_open(side, one, lambda on: granting.claim(on, one.me, 2, "a", ())) as (gate, done):
        assert [c.run_id for c in other.claim(9)] == ids[2:]
        gate.may_commit.set()
        assert [c.run_id for c in done.result()] == ids[:2]


def test_a_fence_waits_for_a_claim_under_way_and_takes_what_it_took(meeting: Meeting, side: ThreadPoolExecutor) -> None:
    """No claim slips in behind the fence (claims.md S7: a plain UPDATE would let it)."""
    (run_id,) = offered(meeting, 1)
    one, other = meeting.join("a"), meeting.join("b")
    with held_open(side, one, lambda on: granting.claim(on, one.me, 1, "a", ())) as (gate, done):
        fence = side.submit(other.fence, "a", BY_HAND, "x")
        wait_until_it_waits(meeting, "b", fence)
        gate.may_commit.set()
        assert fence.result().claimed == (run_id,)
        assert [c.token for c in done.result()] == [1]
    assert meeting.state(run_id) == ("queued", 2, None)
    assert other.strays() == []


def test_a_claim_waits_for_a_fence_under_way_and_takes_nothing(meeting: Meeting, side: ThreadPoolExecutor) -> None:
    """It finds itself fenced."""
    (run_id,) = offered(meeting, 1)
    one, other = meeting.join("a"), meeting.join("b")
    with held_open(side, other, lambda on: revoking.fence(on, other.me, "a", BY_HAND, "x")) as (gate, done):
        claim = side.submit(one.claim, 1)
        wait_until_it_waits(meeting, "a", claim)
        gate.may_commit.set()
        assert claim.result() == []
        assert done.result().done
    assert meeting.state(run_id) == ("queued", 0, None)


def test_a_fence_waits_for_a_start_under_way_and_revokes_it(meeting: Meeting, side: ThreadPoolExecutor) -> None:
    """The start was first: it counts as a lost one; nobody waits for the other in a circle."""
    (run_id,) = offered(meeting, 1)
    one, other = meeting.join("a"), meeting.join("b")
    (claim,) = one.claim(1)
    with held_open(side, one, lambda on: granting.start(on, one.me, [start_of(claim)])) as (gate, done):
        fence = side.submit(other.fence, "a", BY_HAND, "x")
        wait_until_it_waits(meeting, "b", fence)
        gate.may_commit.set()
        assert fence.result().running == (run_id,)
        assert done.result() == {run_id}
    assert [row["outcome"] for row in meeting.attempts(run_id)] == ["lost"]


def test_a_start_waits_for_a_fence_under_way_and_is_refused(meeting: Meeting, side: ThreadPoolExecutor) -> None:
    """claims.md B6."""
    (run_id,) = offered(meeting, 1)
    one, other = meeting.join("a"), meeting.join("b")
    (claim,) = one.claim(1)
    with held_open(side, other, lambda on: revoking.fence(on, other.me, "a", BY_HAND, "x")) as (gate, _):
        start = side.submit(one.start, [start_of(claim)])
        wait_until_it_waits(meeting, "a", start)
        gate.may_commit.set()
        assert start.result() == set()
    assert meeting.attempts(run_id) == []
    assert meeting.lines() == ["lost_claimed", "start_refused"]


def test_a_start_waits_for_claims_being_handed_out_again(meeting: Meeting, side: ThreadPoolExecutor) -> None:
    """S7a does not fence, and yet nothing starts behind it: the token has gone on."""
    (run_id,) = offered(meeting, 1)
    one, other = meeting.join("a"), meeting.join("b")
    (claim,) = one.claim(1)
    proof = Proof(inc_id="a", kind=ProofKind.DEAD)
    with held_open(side, other, lambda on: revoking.hand_out_unstarted(on, other.me, "a", proof)) as (gate, done):
        start = side.submit(one.start, [start_of(claim)])
        wait_until_it_waits(meeting, "a", start)
        gate.may_commit.set()
        assert done.result() == [run_id]
        assert start.result() == set()
    assert meeting.state(run_id) == ("queued", 2, None)


def test_a_heartbeat_waits_neither_for_a_claim_nor_for_a_start(meeting: Meeting, side: ThreadPoolExecutor) -> None:
    """A renewal changes no key: it does not conflict with the share lock."""
    offered(meeting, 1)
    one = meeting.join("a")
    heart = Claims(meeting.door("heart"), one.me, TIMING)
    with held_open(side, one, lambda on: granting.claim(on, one.me, 1, "a", ())) as (gate, done):
        assert heart.heartbeat() is not None
        gate.may_commit.set()
        assert len(done.result()) == 1


def test_a_takeover_waits_for_the_authoritys_transaction_and_none_follows(
    meeting: Meeting, side: ThreadPoolExecutor
) -> None:
    """S11: what the deposed one had under way commits before the new epoch; its next word is refused."""
    one, other = meeting.join("a"), meeting.join("b")
    epoch = one.take_authority()
    assert epoch is not None
    meeting.advance(TIMING.authority_lease_s + 1)
    seen = Seen(AUTHORITY, 0, epoch)

    def insert(on: Transaction) -> str:
        assert on.rows(authority.GUARD, me="a", mine=epoch)
        return "written"

    with held_open(side, one, insert) as (gate, done):
        take = side.submit(other.take_authority, seen)
        wait_until_it_waits(meeting, "b", take)
        gate.may_commit.set()
        assert done.result() == "written"
        assert take.result() == epoch + 1
    with pytest.raises(AuthorityLost):
        one.admit(epoch)


def test_the_authoritys_transaction_waits_for_a_takeover_and_is_refused(
    meeting: Meeting, side: ThreadPoolExecutor
) -> None:
    """An EXISTS without the lock would let it write after the takeover (claims.md S11)."""
    one, other = meeting.join("a"), meeting.join("b")
    epoch = one.take_authority()
    assert epoch is not None
    meeting.advance(TIMING.authority_lease_s + 1)
    seen = Seen(AUTHORITY, 0, epoch)
    with held_open(side, other, lambda on: authority.take(on, other.me, TIMING, seen)) as (gate, done):
        due = [occurrence(1)]
        late = side.submit(one.materialise, epoch, due, [Watermark("nightly", None, NOON + timedelta(1))])
        wait_until_it_waits(meeting, "a", late)
        gate.may_commit.set()
        assert done.result() == epoch + 1
        with pytest.raises(AuthorityLost):
            late.result()
    assert meeting.run("SELECT * FROM runs") == []


def test_a_renewal_waits_for_nobodys_write(meeting: Meeting, side: ThreadPoolExecutor) -> None:
    """A long transaction of the authority does not cost it its lease."""
    one = meeting.join("a")
    epoch = one.take_authority()
    assert epoch is not None
    heart = Claims(meeting.door("heart"), one.me, TIMING)
    with held_open(side, one, lambda on: on.rows(authority.GUARD, me="a", mine=epoch)) as (gate, _):
        assert heart.renew_authority(epoch)
        gate.may_commit.set()


def test_two_reports_of_one_attempt_at_once_count_once(meeting: Meeting, side: ThreadPoolExecutor) -> None:
    """Its owner, and whoever replays its journal."""
    offered(meeting, 1)
    one, other = meeting.join("a"), meeting.join("b")
    (claim,) = started(one)
    with held_open(side, one, lambda on: ending.outcomes(on, [report(claim)])) as (gate, _):
        again = side.submit(other.outcome, report(claim))
        wait_until_it_waits(meeting, "b", again)
        gate.may_commit.set()
        assert again.result() is Applied.AGAIN


def test_an_adoption_waits_for_a_fence_and_finds_nothing(meeting: Meeting, side: ThreadPoolExecutor) -> None:
    """Two heirs on one host, one of whom says lost."""
    offered(meeting, 1)
    one, other, third = meeting.join("a"), meeting.join("b"), meeting.join("c")
    (claim,) = started(one)
    proof = Proof(inc_id="a", kind=ProofKind.DEAD)
    with held_open(side, other, lambda on: revoking.fence(on, other.me, "a", BY_HAND, "x")) as (gate, _):
        adopt = side.submit(third.adopt, "a", claim.run_id, claim.token, proof)
        wait_until_it_waits(meeting, "c", adopt)
        gate.may_commit.set()
        assert adopt.result() is False
    assert meeting.state(claim.run_id) == ("queued", 2, None)


def test_b19_a_row_that_is_held_too_long_is_an_error_not_an_unguarded_write(
    meeting: Meeting, side: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounded waits: the report fails, nothing is written, and it can be told again."""
    monkeypatch.setattr("pyscheduler.store.postgres.connect.LOCK_S", LOCK_S)
    offered(meeting, 1)
    one, other = meeting.join("a"), meeting.join("b")
    (claim,) = started(one)
    with held_open(side, other, lambda on: on.rows(ending.LOCK_RUN, run=claim.run_id)) as (gate, _):
        with pytest.raises(StoreUnavailable, match="locked"):
            one.outcome(report(claim))
        gate.may_commit.set()
    assert one.outcome(report(claim)) is Applied.YES


def test_hand_back_against_a_cancel_of_the_same_claim(meeting: Meeting, side: ThreadPoolExecutor) -> None:
    """Whoever is first; the second finds another token."""
    offered(meeting, 1)
    one, other = meeting.join("a"), meeting.join("b")
    (claim,) = one.claim(1)
    with held_open(side, one, lambda on: granting.hand_back(on, one.me, [held(claim)], cancelled=False)) as (gate, _):
        cancel = side.submit(other.cancel, claim.run_id)
        wait_until_it_waits(meeting, "b", cancel)
        gate.may_commit.set()
        assert cancel.result().value == "cancelled"
    assert meeting.state(claim.run_id) == ("cancelled", 2, None)


def test_a_server_that_ended_its_connections_costs_one_error_and_not_one_each(meeting: Meeting) -> None:
    """Nothing was done, and that is known; what is idle is not tried one by one."""
    offered(meeting, 2)
    claims = meeting.join("a")
    barrier = threading.Barrier(3)
    with ThreadPoolExecutor(3) as pool:  # three connections at least are idle afterwards
        for done in [pool.submit(claims.door.write, lambda _: barrier.wait(DEADLINE_S)) for _ in range(3)]:
            done.result()
    end_connections(meeting, "a")
    with pytest.raises(StoreUnavailable) as caught:
        claims.cancel("nobody.2027-05-20.1")
    assert not caught.value.outcome_unknown
    assert len(claims.claim(2)) == 2


def test_a_statement_alone_that_gets_no_answer_may_have_been_done(meeting: Meeting) -> None:
    """Nobody said COMMIT, so nobody can know: what was claimed is read back, and given back or started (S8)."""
    offered(meeting, 1)
    claims = meeting.join("a")
    end_connections(meeting, "a")
    with pytest.raises(StoreUnavailable) as caught:
        claims.claim(1)
    assert caught.value.outcome_unknown
    assert len(claims.owned()) + len(claims.claim(1)) == 1


def test_a_connection_that_ends_within_a_transaction_has_done_nothing(
    meeting: Meeting, side: ThreadPoolExecutor
) -> None:
    """It was lost before COMMIT was said: the claim was not made, and everybody may know."""
    (run_id,) = offered(meeting, 1)
    one, other = meeting.join("a"), meeting.join("b")
    with held_open(side, one, lambda on: granting.claim(on, one.me, 1, "a", ())) as (gate, done):
        end_connections(meeting, "a")
        deadline = time.monotonic() + DEADLINE_S
        while not (taken := other.claim(1)):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        gate.may_commit.set()
        with pytest.raises(StoreUnavailable):
            done.result()
    assert [c.run_id for c in taken] == [run_id]
    assert meeting.state(run_id) == ("queued", 1, "b")


def test_the_heartbeats_door_is_a_connection_of_its_own(meeting: Meeting, side: ThreadPoolExecutor) -> None:
    """Whatever keeps the other door busy, the heartbeat goes out."""
    offered(meeting, 1)
    plain = meeting.join("a")
    claims = Claims(plain.door, plain.me, TIMING, heart=meeting.door("heart of a"))
    with held_open(side, claims, lambda on: granting.claim(on, claims.me, 1, "a", ())) as (gate, done):
        assert claims.heartbeat() is not None
        names = {row["name"] for row in meeting.run("SELECT application_name AS name FROM pg_stat_activity")}
        assert names >= {meeting.known_as("a"), meeting.known_as("heart of a")}
        gate.may_commit.set()
        assert len(done.result()) == 1
