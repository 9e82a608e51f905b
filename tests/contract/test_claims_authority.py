"""Who leads, and what only the leader writes: S9 to S15 on every database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from pyscheduler.errors import AuthorityLost
from pyscheduler.model.lease import AUTHORITY, OnLost, Proof, ProofKind, Seen
from pyscheduler.model.run import RunState, Trigger
from pyscheduler.store.claims import Cancelled, Claims, Offer, Watermark
from tests.contract.claims_kit import (
    NOON,
    PLACES,
    TIMING,
    Meeting,
    a_meeting,
    engines,
    held,
    occurrence,
    offered,
    report,
    start_of,
    started,
)

LATER = NOON + timedelta(hours=1)


@pytest.fixture(params=PLACES)
def meeting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Meeting]:
    with a_meeting(request, tmp_path, request.param) as found:
        yield found


def leader(meeting: Meeting, name: str = "a") -> tuple[Claims, int]:
    claims = meeting.join(name)
    epoch = claims.take_authority()
    assert epoch is not None
    return claims, epoch


# --------------------------------------------------------------------------- S9, S10, S14


def test_s9_the_first_one_takes_it_and_nobody_else_while_it_holds(meeting: Meeting) -> None:
    """Whoever asks again for what is his own gets a new epoch: an old transaction of his own is waited for too."""
    one, other = meeting.join("a", address="http://a:8470"), meeting.join("b")
    free = one.authority()
    assert (free.epoch, free.holder, free.is_free, free.is_over) == (0, None, True, True)
    assert one.take_authority() == 1
    assert other.take_authority() is None
    row = other.authority()
    assert (row.epoch, row.holder, row.address, row.node, row.is_over) == (1, "a", "http://a:8470", "a", False)
    assert row.lease_until == NOON + timedelta(seconds=TIMING.authority_lease_s)
    assert one.take_authority() == 2
    assert [node.is_authority for node in other.nodes() if node.inc_id == "a"] == [True]


def test_s9_a_lease_that_is_over_must_also_have_stood_still(meeting: Meeting) -> None:
    """Time alone takes nothing: the row, epoch and count, must be the one that was seen."""
    one, epoch = leader(meeting)
    other = meeting.join("b")
    meeting.advance(TIMING.authority_lease_s + 1)
    assert other.authority().is_over
    assert other.take_authority() is None
    assert other.take_authority(Seen(AUTHORITY, 1, epoch)) is None
    assert other.take_authority(Seen(AUTHORITY, 0, epoch + 1)) is None
    assert other.take_authority(Seen("a", 0, epoch)) is None
    assert one.renew_authority(epoch)
    assert other.take_authority(Seen(AUTHORITY, 0, epoch)) is None
    meeting.advance(TIMING.authority_lease_s + 1)
    assert other.take_authority(Seen(AUTHORITY, 1, epoch)) == epoch + 1
    assert not one.renew_authority(epoch)


def test_s9_by_the_mark_of_an_earlier_pass(meeting: Meeting) -> None:
    """claims.md C3: the row stood still since; a mark is of one epoch, whose count begins at nothing."""
    one, epoch = leader(meeting)
    other = meeting.join("b")
    other.mark_stale(Seen(AUTHORITY, 0, epoch + 1))
    meeting.advance(TIMING.authority_lease_s + 1)
    assert other.stale(AUTHORITY) is None
    other.mark_stale(Seen(AUTHORITY, 0, epoch))
    meeting.advance(TIMING.authority_observe_s)
    assert other.stale(AUTHORITY) is None
    meeting.advance(1)
    seen = other.stale(AUTHORITY)
    assert seen == Seen(AUTHORITY, 0, epoch)
    assert one.take_authority() == epoch + 1
    assert other.stale(AUTHORITY) is None
    meeting.advance(TIMING.authority_lease_s + 1)
    assert other.take_authority(seen) is None


def test_s9_not_before_the_time_is_over(meeting: Meeting) -> None:
    """However long it stood still."""
    _, epoch = leader(meeting)
    assert meeting.join("b").take_authority(Seen(AUTHORITY, 0, epoch)) is None


@pytest.mark.parametrize("why", ["resigned", "fenced"])
def test_s9_at_once_after_a_resignation_or_a_fence(meeting: Meeting, why: str) -> None:
    """No wait where nothing is in doubt."""
    one, epoch = leader(meeting)
    other = meeting.join("b")
    if why == "resigned":
        one.resign(epoch)
    else:
        other.fence("a", Proof(inc_id="a", kind=ProofKind.DEAD), "gone")
    assert other.take_authority() == epoch + 1
    one.resign(epoch)  # too late: nothing happens
    assert other.renew_authority(epoch + 1)
    assert not one.renew_authority(epoch + 1)


@pytest.mark.parametrize("why", ["fenced", "lease over", "unknown"])
def test_s9_who_may_begin_nothing_does_not_lead(meeting: Meeting, why: str) -> None:
    """Its own lease comes first."""
    other = meeting.join("b")
    one = meeting.join("a", register=why != "unknown")
    if why == "fenced":
        other.fence("a", Proof(inc_id="a", kind=ProofKind.DEAD), "gone")
    elif why == "lease over":
        meeting.advance(TIMING.lease_s + 1)
    assert one.take_authority() is None


def test_s10_a_renewal_counts_from_now(meeting: Meeting) -> None:
    """And is seen to move."""
    one, epoch = leader(meeting)
    meeting.advance(5)
    assert one.renew_authority(epoch)
    row = one.authority()
    assert (row.hb_seq, row.lease_until) == (1, NOON + timedelta(seconds=5 + TIMING.authority_lease_s))
    assert not one.renew_authority(epoch - 1)


# --------------------------------------------------------------------------- S11, S12, S13


def test_s11_only_the_authority_of_that_epoch_writes(meeting: Meeting) -> None:
    """Whatever it believes: the row is asked in the same transaction, and nothing of it is done."""
    one, epoch = leader(meeting)
    due = [occurrence(1)]
    assert one.materialise(epoch, due, [Watermark("nightly", None, NOON)]) == ["nightly.2027-05-20.1"]
    second = one.take_authority()
    assert second == epoch + 1
    for stale, claims in ((epoch, one), (second, meeting.join("b"))):
        with pytest.raises(AuthorityLost):
            claims.materialise(stale, [occurrence(2)], [Watermark("nightly", NOON, LATER)])
        with pytest.raises(AuthorityLost):
            claims.admit(stale)
        with pytest.raises(AuthorityLost):
            claims.offer(stale, [Offer(run_id="nightly.2027-05-20.1")])
        with pytest.raises(AuthorityLost):
            claims.withdraw(stale, ["nightly.2027-05-20.1"])
    assert len(meeting.run("SELECT * FROM runs")) == 1
    one.resign(second)
    with pytest.raises(AuthorityLost):
        one.admit(second)


def test_s12_a_firing_becomes_one_run_and_the_watermark_goes_on(meeting: Meeting) -> None:
    """Runs are numbered within their date and offered in the order of their instants."""
    one, epoch = leader(meeting)
    due = [occurrence(3), occurrence(1), occurrence(2, "other", trigger=Trigger.CATCH_UP, config_version=7)]
    made = one.materialise(epoch, due, [Watermark("nightly", None, LATER), Watermark("other", None, LATER)])
    assert made == ["nightly.2027-05-20.1", "other.2027-05-20.1", "nightly.2027-05-20.2"]
    assert one.marks(["nightly", "other", "third"]).stored == {"nightly": LATER, "other": LATER}
    row = meeting.row("other.2027-05-20.1")
    assert row == row | {"state": "queued", "token": 0, "owner_inc": None, "trigger": "catch_up", "attempt": 0}
    assert row == row | {"on_lost": "rerun", "config_version": 7, "job": "other", "seq": 1, "forced": 0}
    assert [claim.run_id for claim in one.claim(9)] == made


def test_s12_who_saw_another_watermark_makes_nothing(meeting: Meeting) -> None:
    """Two schedulers at once, one of them late: compare and set (I16: it never moves back)."""
    one, epoch = leader(meeting)
    first, second = Watermark("nightly", None, NOON), Watermark("nightly", NOON, LATER)
    assert one.materialise(epoch, [], [first]) == []
    assert one.materialise(epoch, [occurrence(1)], [first]) == []
    assert one.materialise(epoch, [occurrence(1)], [second]) == ["nightly.2027-05-20.1"]
    assert one.materialise(epoch, [occurrence(2)], [second]) == []
    assert one.materialise(epoch, [occurrence(2)], [Watermark("nightly", LATER, NOON)]) == []
    assert one.materialise(epoch, [occurrence(2)], []) == []
    assert one.marks(["nightly"]).stored == {"nightly": LATER}


def test_s12_an_occurrence_that_has_its_run_gets_no_second(meeting: Meeting) -> None:
    """P2 and I1, also where the numbers have holes and other runs share the date."""
    one, epoch = leader(meeting)
    assert one.materialise(epoch, [occurrence(1), occurrence(2)], [Watermark("nightly", None, NOON)])
    meeting.run("DELETE FROM runs WHERE seq = 1")
    made = one.materialise(epoch, [occurrence(2), occurrence(3)], [Watermark("nightly", NOON, LATER)])
    assert made == ["nightly.2027-05-20.3"]


def test_s12_what_is_only_written_down_is_offered_to_nobody(meeting: Meeting) -> None:
    """A run that was skipped or refused before it began."""
    one, epoch = leader(meeting)
    due = [occurrence(1, state=RunState.SKIPPED, reason="an earlier run still goes")]
    (run_id,) = one.materialise(epoch, due, [Watermark("nightly", None, NOON)])
    assert one.claim(9) == []
    row = meeting.row(run_id)
    assert (row["state"], row["reason"], row["offered_at"]) == ("skipped", "an earlier run still goes", None)


def test_s13_a_wait_for_a_retry_that_is_over_is_offered_again(meeting: Meeting) -> None:
    """By the database's clock; the engine's own waits for the engine."""
    offered(meeting, 1, job="own")
    engines(meeting, 1, job="engine")
    one, epoch = leader(meeting)
    taken = started(one, 2)
    for claim in taken:
        one.outcome(report(claim, RunState.RETRY_WAIT, retry_after_s=30))
    assert one.admit(epoch) == []
    meeting.advance(30)
    assert one.admit(epoch) == ["own.2027-05-20.1"]
    assert one.admit(epoch) == []
    assert [(c.run_id, c.token, c.attempt) for c in one.claim(9)] == [("own.2027-05-20.1", 3, 1)]


# --------------------------------------------------------------------------- the engine's offers


def test_the_engine_offers_queued_runs_that_nobody_owns(meeting: Meeting) -> None:
    """In its own order; where they may run goes with them."""
    ids = engines(meeting, 4)
    one, epoch = leader(meeting)
    assert one.withdraw(epoch, ids) == set(ids)
    assert one.claim(9) == []
    meeting.run(f"UPDATE runs SET state = 'held' WHERE run_id = '{ids[3]}'")
    meeting.run(f"UPDATE runs SET cancel_requested = 1 WHERE run_id = '{ids[2]}'")
    wanted = [Offer(run_id=ids[2]), Offer(run_id=ids[0], node="z"), Offer(run_id=ids[1], tags=("gpu",))]
    assert one.offer(epoch, [*wanted, Offer(run_id=ids[3]), Offer(run_id="none.2027-01-01.1")]) == set(ids[:3])
    taken = meeting.join("z", tags=("gpu",)).claim(9)
    assert [c.run_id for c in taken] == [ids[2], ids[0], ids[1]]
    assert meeting.row(ids[2])["cancel_requested"] == 0


def test_an_offer_that_was_taken_is_not_taken_back(meeting: Meeting) -> None:
    """The claim was first: it is asked to be given back, no more (`cancel`)."""
    first, second = engines(meeting, 2)
    one, epoch = leader(meeting)
    (claim,) = one.claim(1)
    assert one.withdraw(epoch, [first, second]) == {second}
    assert one.offer(epoch, [Offer(run_id=first)]) == set()
    assert meeting.state(first) == ("queued", 1, "a")
    assert one.cancel(first) is Cancelled.REQUESTED
    assert one.hand_back([held(claim)]) == {first}
    assert meeting.state(first) == ("queued", 2, None)
    assert one.claim(9) == []


# --------------------------------------------------------------------------- S15


def test_s15_what_becomes_of_a_wish_to_cancel(meeting: Meeting) -> None:
    """By where the run stands, and by who decides about it."""
    ids = offered(meeting, 4)
    claims = meeting.join("a")
    running, claimed = claims.claim(2)
    started_ = claims.start([start_of(running)])
    assert started_ == {ids[0]}
    assert claims.cancel(ids[0]) is Cancelled.REQUESTED
    assert claims.heartbeat().cancel_requested == {ids[0]}  # type: ignore[union-attr]
    assert claims.cancel(ids[1]) is Cancelled.CANCELLED
    assert meeting.state(ids[1]) == ("cancelled", 2, None)
    assert claims.start([start_of(claimed)]) == set()
    assert claims.cancel(ids[2]) is Cancelled.CANCELLED
    assert meeting.state(ids[2]) == ("cancelled", 0, None)
    assert claims.cancel(ids[2]) is Cancelled.FINAL
    assert claims.cancel("none.2027-01-01.1") is Cancelled.UNKNOWN
    assert [c.run_id for c in claims.claim(9)] == [ids[3]]


def test_s15_a_run_that_waits_for_its_next_try_ends(meeting: Meeting) -> None:
    """And is never offered again."""
    offered(meeting, 1)
    one, epoch = leader(meeting)
    (claim,) = started(one)
    one.outcome(report(claim, RunState.RETRY_WAIT, retry_after_s=1))
    assert one.cancel(claim.run_id) is Cancelled.CANCELLED
    meeting.advance(9)
    assert one.admit(epoch) == []


def test_s15_the_engines_runs_are_asked_for_never_ended(meeting: Meeting) -> None:
    """A claim is asked to be given back, a start to be stopped; what nobody owns is the engine's to end."""
    ids = engines(meeting, 3)
    claims = meeting.join("a")
    running, _ = claims.claim(2)
    claims.start([start_of(running)])
    assert [claims.cancel(run_id) for run_id in ids] == [Cancelled.REQUESTED, Cancelled.REQUESTED, Cancelled.ENGINE]
    assert claims.heartbeat().cancel_requested == set(ids[:2])  # type: ignore[union-attr]
    assert claims.outcome(replace(report(running, None))).value == "yes"
    assert claims.cancel(ids[0]) is Cancelled.ENGINE
    assert [meeting.row(run_id)["on_lost"] for run_id in ids] == [OnLost.ENGINE.value] * 3


def test_draining_is_by_name_or_by_incarnation(meeting: Meeting) -> None:
    """A node's name may stand for several lives; those that are over do not count."""
    one, two = meeting.join("a1", node="rack"), meeting.join("a2", node="rack")
    assert meeting.join("gone", node="rack").unregister()
    assert one.drain("rack") == ["a1", "a2"]
    assert two.drain("a2", undo=True) == ["a2"]
    assert {node.inc_id: node.draining for node in one.nodes() if node.fenced_at is None} == {"a1": True, "a2": False}
    assert one.drain("nobody") == []


def test_s15_who_calls_a_run_off_is_written_down(meeting: Meeting) -> None:
    """In the logbook, and in the reason of a run that ends by it; where nothing is changed nothing is written."""
    ids = offered(meeting, 2)
    claims = meeting.join("a")
    (running,) = claims.claim(1)
    claims.start([start_of(running)])
    assert claims.call_off(ids[1], "ann", only_running=True) is Cancelled.NOT_RUNNING
    assert claims.call_off(ids[1], "ann", "no data today") is Cancelled.CANCELLED
    assert claims.call_off(ids[0], "ann", only_running=True) is Cancelled.REQUESTED
    assert claims.call_off(ids[1], "ann") is Cancelled.FINAL
    assert claims.call_off("none.2027-01-01.1", "ann") is Cancelled.UNKNOWN
    assert meeting.row(ids[1])["reason"] == "cancelled by ann: no data today"
    lines = meeting.run("SELECT run_id, actor, detail FROM events WHERE action = 'cancel' ORDER BY id")
    told = [(line["run_id"], line["actor"], json.loads(line["detail"])) for line in lines]
    assert told == [
        (ids[1], "ann", {"before": "queued", "reason": "no data today"}),
        (ids[0], "ann", {"before": "running", "reason": ""}),
    ]


def test_s15_nobody_calls_a_run_of_the_engines_off_past_it(meeting: Meeting) -> None:
    """Whether it waits, is claimed or runs."""
    ids = engines(meeting, 3)
    claims = meeting.join("a")
    running, _ = claims.claim(2)
    claims.start([start_of(running)])
    before = meeting.run("SELECT * FROM runs ORDER BY run_id")
    assert {claims.call_off(run_id, "ann") for run_id in ids} == {Cancelled.ENGINE}
    assert meeting.run("SELECT * FROM runs ORDER BY run_id") == before
    assert meeting.run("SELECT * FROM events WHERE action = 'cancel'") == []
