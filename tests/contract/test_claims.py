"""Taking runs, starting them, telling their ends, giving them back: S0 to S6, S8, S16 on every database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from pyscheduler.errors import StoreError
from pyscheduler.model.lease import OnLost, Proof, ProofKind
from pyscheduler.model.run import Outcome, RunState
from pyscheduler.store.claims import Applied, Beat, Held, Start
from tests.contract.claims_kit import (
    NOON,
    OVER_S,
    PLACES,
    TIMING,
    Meeting,
    a_meeting,
    engines,
    held,
    offered,
    report,
    start_of,
    started,
)


@pytest.fixture(params=PLACES)
def meeting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Meeting]:
    with a_meeting(request, tmp_path, request.param) as found:
        yield found


# --------------------------------------------------------------------------- a life: S0, S1, S16


def test_s0_a_row_is_written_with_a_lease_that_begins_now(meeting: Meeting) -> None:
    """Every time in it is the database's."""
    meeting.join("a", tags=("gpu", "big"), capacity=4, address="http://a", pid=7, start_ticks=70, state_dir="/s")
    (row,) = meeting.opened[0].nodes()
    assert row.identity == replace(meeting.opened[0].me, tags=("big", "gpu"))
    assert (row.started_at, row.renewed_at, row.now) == (NOON, NOON, NOON)
    assert row.lease_until == NOON + timedelta(seconds=TIMING.lease_s)
    assert (row.hb_seq, row.stopping, row.draining, row.fenced_at, row.is_authority) == (0, False, False, None, False)
    assert row.lives


def test_s0_a_name_is_never_used_again(meeting: Meeting) -> None:
    """Whoever comes with a name that has lived is refused, dead or not."""
    claims = meeting.join("a")
    with pytest.raises(StoreError):
        claims.register()
    assert claims.unregister()
    with pytest.raises(StoreError):
        claims.register()


def test_s1_a_heartbeat_renews_the_lease_by_the_databases_clock(meeting: Meeting) -> None:
    """And counts, so that others see it move."""
    claims = meeting.join("a")
    meeting.advance(30)
    assert claims.heartbeat() == Beat()
    (row,) = claims.nodes()
    assert (row.hb_seq, row.renewed_at) == (1, NOON + timedelta(seconds=30))
    assert row.lease_until == NOON + timedelta(seconds=30 + TIMING.lease_s)


def test_s1_a_lease_that_ran_out_comes_back_by_a_heartbeat(meeting: Meeting) -> None:
    """Only a fence ends a life; time alone takes nothing away."""
    claims = meeting.join("a")
    meeting.advance(10 * OVER_S)
    assert not claims.nodes()[0].lives
    assert claims.heartbeat() == Beat()
    assert claims.nodes()[0].lives


def test_s1_who_is_fenced_is_told_so_and_does_not_come_back(meeting: Meeting) -> None:
    """None, and the row stays as the fence left it."""
    one, other = meeting.join("a"), meeting.join("b")
    assert other.fence("a", Proof(inc_id="a", kind=ProofKind.DEAD), "gone").done
    meeting.advance(5)
    assert one.heartbeat() is None
    lease = meeting.lease("a")
    assert (lease["hb_seq"], lease["fenced_by"], lease["fence_reason"]) == (0, "b", "gone")


def test_s1_brings_the_wishes_of_people(meeting: Meeting) -> None:
    """Which of the own runs are to be stopped; whether anything new may begin."""
    first, second = offered(meeting, 2)
    claims = meeting.join("a")
    started(claims, 2)
    claims.cancel(second)
    claims.drain("a")
    claims.stop()
    assert claims.heartbeat() == Beat(cancel_requested=frozenset({second}), stopping=True, draining=True)
    assert claims.drain("a", undo=True) == ["a"]
    assert claims.heartbeat() == Beat(cancel_requested=frozenset({second}), stopping=True)
    assert meeting.state(first)[0] == "running"


def test_s16_only_who_owns_nothing_may_leave(meeting: Meeting) -> None:
    """No run, no authority; then it is fenced by its own hand."""
    offered(meeting, 1)
    claims = meeting.join("a")
    (claim,) = claims.claim(5)
    assert not claims.unregister()
    claims.hand_back([held(claim)])
    epoch = claims.take_authority()
    assert epoch is not None
    assert not claims.unregister()
    claims.resign(epoch)
    assert claims.unregister()
    assert claims.heartbeat() is None
    assert not claims.unregister()
    assert claims.claim(5) == []
    assert meeting.lease("a")["fence_reason"] == "exit"


def test_rows_of_the_dead_are_kept_while_anything_names_them(meeting: Meeting) -> None:
    """claims.md B28: what is needed to recover a run is not tidied away before it, nor who has run what."""
    offered(meeting, 2)
    one, other = meeting.join("a"), meeting.join("b")
    claim = started(one, 1)[0]
    assert other.fence("a", Proof(inc_id="a", kind=ProofKind.HAND, by="ada"), "gone").running == (claim.run_id,)
    assert meeting.join("idle").unregister()
    meeting.advance(1000)
    assert other.forget(1001) == []
    assert other.forget(999) == ["idle"]
    assert one.outcome(report(claim)) is Applied.SUPERSEDED
    assert other.forget(999) == []
    meeting.run(f"DELETE FROM attempts WHERE run_id = '{claim.run_id}'")
    assert other.forget(999) == ["a"]
    assert {row.inc_id for row in other.nodes()} == {"maker-nightly", "b"}


def test_a_tick_a_minute_does_not_fill_the_store(meeting: Meeting) -> None:
    """Who comes in sends away those of the day before yesterday; who has left is shown for an hour."""
    for number in range(3):
        assert meeting.join(f"t{number}").unregister()
        meeting.advance(1100)
    watcher = meeting.join("w")
    assert {row.inc_id for row in watcher.nodes()} == {"t0", "t1", "t2", "w"}
    meeting.advance(1400)
    assert {row.inc_id for row in watcher.nodes()} == {"t2", "w"}
    meeting.advance(90_000)
    meeting.join("x")
    left = {row["name"] for row in meeting.run("SELECT name FROM leases WHERE kind = 'node'")}
    assert left == {"w", "x"}


# --------------------------------------------------------------------------- taking: S2


def test_s2_takes_offers_in_their_order_and_no_more_than_asked(meeting: Meeting) -> None:
    """The oldest offer first; each grant raises the token to an odd one, at the database's time."""
    ids = offered(meeting, 4)
    claims = meeting.join("a")
    meeting.advance(25)
    taken = claims.claim(3)
    assert [claim.run_id for claim in taken] == ids[:3]
    assert {claim.token for claim in taken} == {1}
    assert {claim.claimed_at for claim in taken} == {NOON + timedelta(seconds=25)}
    assert [meeting.state(run_id) for run_id in ids] == [("queued", 1, "a")] * 3 + [("queued", 0, None)]
    assert [claim.run_id for claim in claims.claim(3)] == ids[3:]
    assert claims.claim(3) == []


@pytest.mark.parametrize("count", [0, -1])
def test_s2_without_room_nothing_is_taken(meeting: Meeting, count: int) -> None:
    """Not even by a slip."""
    offered(meeting, 1)
    assert meeting.join("a").claim(count) == []


def test_s2_only_offers_are_taken(meeting: Meeting) -> None:
    """Not what waits, is held, has ended, is not offered, or is somebody's."""
    ids = offered(meeting, 5)
    meeting.run(f"UPDATE runs SET state = 'held' WHERE run_id = '{ids[0]}'")
    meeting.run(f"UPDATE runs SET state = 'succeeded' WHERE run_id = '{ids[1]}'")
    meeting.run(f"UPDATE runs SET offered_at = NULL WHERE run_id = '{ids[2]}'")
    assert [claim.run_id for claim in meeting.join("b").claim(1)] == [ids[3]]
    assert [claim.run_id for claim in meeting.join("a").claim(9)] == [ids[4]]


def test_s2_a_run_goes_where_it_asks_to(meeting: Meeting) -> None:
    """By the node's name; by tags, all of which the node must have."""
    offered(meeting, 1, job="named", node="b")
    offered(meeting, 1, job="tagged", tags=("gpu", "big"))
    offered(meeting, 1, job="odd", tags=('a"b', "ü"))
    offered(meeting, 1, job="any")
    assert [c.job for c in meeting.join("a", tags=("gpu",)).claim(9)] == ["any"]
    assert [c.job for c in meeting.join("c", tags=("big", "fast", "gpu")).claim(9)] == ["tagged"]
    taken = meeting.join("b", tags=('a"b', "ü")).claim(9)
    assert [c.job for c in taken] == ["named", "odd"]
    assert [(c.node, c.tags) for c in taken] == [("b", ()), ("", ('a"b', "ü"))]


@pytest.mark.parametrize("why", ["fenced", "stopping", "draining", "lease over", "unknown"])
def test_s2_who_may_begin_nothing_takes_nothing(meeting: Meeting, why: str) -> None:
    """DESIGN 6: a node whose lease has run out may neither claim nor start."""
    (run_id,) = offered(meeting, 1)
    claims = meeting.join("a", register=why != "unknown")
    if why == "fenced":
        assert meeting.join("b").fence("a", Proof(inc_id="a", kind=ProofKind.DEAD), "gone").done
    elif why == "stopping":
        claims.stop()
    elif why == "draining":
        claims.drain("a")
    elif why == "lease over":
        meeting.advance(OVER_S)
    assert claims.claim(1) == []
    assert meeting.state(run_id) == ("queued", 0, None)


def test_b4_a_grant_bears_the_time_of_the_grant(meeting: Meeting) -> None:
    """Not that of the beginning of a slow pass: none of forty is born over."""
    offered(meeting, 3)
    claims, other = meeting.join("a"), meeting.join("b")
    for _ in range(3):
        meeting.advance(25)
        claims.heartbeat()
        (claim,) = claims.claim(1)
        assert claim.claimed_at == meeting.now
    other.heartbeat()
    assert other.claim(9) == []


# --------------------------------------------------------------------------- starting: S3


def test_s3_a_start_is_written_before_anything_executes(meeting: Meeting) -> None:
    """The run is running, and its attempt is there under the grant's token."""
    ids = offered(meeting, 2)
    claims = meeting.join("a")
    taken = claims.claim(2)
    meeting.advance(3)
    starts = [start_of(c, boot_id="b1", stdout_path="/o", status_path="/s", config_version=4) for c in taken]
    assert claims.start(starts) == set(ids)
    assert [meeting.state(run_id) for run_id in ids] == [("running", 1, "a")] * 2
    (row,) = meeting.attempts(ids[0])
    told = {"attempt": 1, "token": 1, "inc_id": "a", "boot_id": "b1", "stdout_path": "/o", "status_path": "/s"}
    assert row == row | told | {"config_version": 4, "ended_at": None, "outcome": None}
    assert row["started_at"] == meeting.row(ids[0])["updated_at"]
    assert meeting.row(ids[0])["attempt"] == 1
    assert meeting.row(ids[0])["offered_at"] is None
    assert meeting.lines() == []


def test_s3_a_claim_is_started_once(meeting: Meeting) -> None:
    """A second start of one grant is refused, and changes nothing of the first."""
    offered(meeting, 1)
    claims = meeting.join("a")
    (claim,) = started(claims)
    assert claims.start([start_of(claim, attempt=2, key="other")]) == set()
    assert [row["key"] for row in meeting.attempts(claim.run_id)] == [f"{claim.run_id}.1"]
    assert meeting.lines() == ["start_refused"]


@pytest.mark.parametrize("why", ["token", "other's", "cancelled", "fenced", "lease over", "handed out", "number"])
def test_s3_refuses_what_is_not_its_claim_any_more(meeting: Meeting, why: str) -> None:
    """Nothing is written but that it was refused (claims.md B6)."""
    (run_id,) = offered(meeting, 1)
    claims, other = meeting.join("a"), meeting.join("b")
    (claim,) = claims.claim(1)
    start, starter = start_of(claim), claims
    if why == "token":
        start = start_of(claim, token=3)
    elif why == "other's":
        starter = other
    elif why == "cancelled":
        meeting.run("UPDATE runs SET cancel_requested = 1")
    elif why == "fenced":
        assert other.fence("a", Proof(inc_id="a", kind=ProofKind.DEAD), "gone").claimed == (run_id,)
    elif why == "lease over":
        meeting.advance(OVER_S)
    elif why == "handed out":
        other.hand_out_unstarted("a", Proof(inc_id="a", kind=ProofKind.DEAD))
        assert [c.token for c in other.claim(1)] == [3]
    else:
        meeting.run(
            "INSERT INTO attempts (run_id, attempt, key, started_at, config_version, boot_id, reason, stdout_path, "
            f"stderr_path, status_path, note) VALUES ('{run_id}', 1, 'k', 0, 1, '', '', '', '', '', '')"
        )
    before = meeting.state(run_id)
    assert starter.start([start]) == set()
    assert meeting.state(run_id) == before
    assert len(meeting.attempts(run_id)) == (why == "number")
    assert meeting.lines()[-1] == "start_refused"


def test_s3_each_run_of_many_is_judged_by_itself(meeting: Meeting) -> None:
    """claims.md B9: siblings do not matter."""
    ids = offered(meeting, 3)
    claims = meeting.join("a")
    taken = claims.claim(3)
    claims.hand_back([held(taken[1])])
    assert claims.start([start_of(each) for each in reversed(taken)]) == {ids[0], ids[2]}
    assert [meeting.state(run_id)[0] for run_id in ids] == ["running", "queued", "running"]


def test_s3_two_claims_of_one_run_are_not_started_together(meeting: Meeting) -> None:
    """One is none any more; an answer by run would start it as well."""
    offered(meeting, 1)
    claims, other = meeting.join("a"), meeting.join("b")
    (stale,) = claims.claim(1)
    other.hand_out_unstarted("a", Proof(inc_id="a", kind=ProofKind.DEAD))
    (fresh,) = claims.claim(1)
    with pytest.raises(ValueError, match="two claims of one run"):
        claims.start([start_of(stale), start_of(fresh)])
    assert claims.start([start_of(stale)]) == set()
    assert claims.start([start_of(fresh)]) == {fresh.run_id}


# --------------------------------------------------------------------------- ending: S4


@pytest.mark.parametrize(
    ("to", "outcome"),
    [
        (RunState.SUCCEEDED, Outcome.SUCCEEDED),
        (RunState.FAILED, Outcome.FAILED),
        (RunState.CANCELLED, Outcome.KILLED),
        (RunState.RETRY_WAIT, Outcome.TIMEOUT),
    ],
)
def test_s4_an_end_moves_its_run(meeting: Meeting, to: RunState, outcome: Outcome) -> None:
    """Once: then the run is nobody's, and the token has gone on."""
    offered(meeting, 1)
    claims = meeting.join("a")
    (claim,) = started(claims)
    meeting.advance(60)
    told = report(
        claim, to, outcome=outcome, exit_code=3, reason="exit 3", run_reason="because", ended_ago_s=20,
        retry_after_s=90, cpu_s=0.5, max_rss_bytes=2**40, note="n", pid=4711,
    )  # fmt: skip
    assert claims.outcome(told) is Applied.YES
    assert meeting.state(claim.run_id) == (to.value, 2, None)
    (row,) = meeting.attempts(claim.run_id)
    now = meeting.row(claim.run_id)["updated_at"]
    wanted = {"outcome": outcome.value, "exit_code": 3, "reason": "exit 3", "cpu_s": 0.5, "pid": 4711, "note": "n"}
    assert row == row | wanted | {"max_rss_bytes": 2**40, "ended_at": now - 20_000_000, "reported_at": now}
    run = meeting.row(claim.run_id)
    assert run["reason"] == "because"
    assert run["not_before"] == (now + 90_000_000 if to is RunState.RETRY_WAIT else None)
    assert run["offered_at"] is None


def test_s4_the_engine_decides_where_nobody_says_what_the_run_becomes(meeting: Meeting) -> None:
    """It stays running and nobody's, its attempt's end is there to read."""
    engines(meeting, 1)
    claims = meeting.join("a")
    (claim,) = started(claims)
    assert claims.outcome(report(claim, None)) is Applied.YES
    assert meeting.state(claim.run_id) == ("running", 2, None)
    assert meeting.attempts(claim.run_id)[0]["outcome"] == "succeeded"


def test_s4_told_again_changes_nothing(meeting: Meeting) -> None:
    """An acknowledgement that was lost, a journal that is replayed (claims.md B14)."""
    offered(meeting, 1)
    claims = meeting.join("a")
    (claim,) = started(claims)
    assert claims.outcome(report(claim)) is Applied.YES
    before = meeting.row(claim.run_id), meeting.attempts(claim.run_id)
    meeting.advance(9)
    assert claims.outcome(report(claim, RunState.FAILED)) is Applied.AGAIN
    assert (meeting.row(claim.run_id), meeting.attempts(claim.run_id)) == before
    assert meeting.lines() == []


def test_s4_an_end_that_comes_too_late_is_kept_and_moves_nothing(meeting: Meeting) -> None:
    """claims.md B7: the run has been granted anew, and has even ended; its first owner reports, twice."""
    offered(meeting, 1)
    one, other = meeting.join("a"), meeting.join("b")
    (late,) = started(one)
    assert other.fence("a", Proof(inc_id="a", kind=ProofKind.HAND, by="ada"), "by hand").running == (late.run_id,)
    (claim,) = started(other)
    assert claim.token == 3
    assert one.outcome(report(late, RunState.FAILED, exit_code=1)) is Applied.SUPERSEDED
    assert meeting.state(late.run_id) == ("running", 3, "b")
    assert one.outcome(report(late, RunState.FAILED, exit_code=1)) is Applied.AGAIN
    assert other.outcome(report(claim)) is Applied.YES
    first, second = meeting.attempts(late.run_id)
    assert (first["outcome"], first["exit_code"], second["outcome"]) == ("lost", None, "succeeded")
    assert meeting.state(late.run_id) == ("succeeded", 4, None)
    assert meeting.lines() == ["lost_running", "superseded"]
    (line,) = meeting.run("SELECT detail FROM events WHERE action = 'superseded'")
    assert '"outcome":"failed"' in line["detail"]
    assert '"exit_code":1' in line["detail"]


def test_s8_what_was_taken_while_nobody_was_there_is_found_by_its_run(meeting: Meeting) -> None:
    """A host that was fenced and comes back asks for the runs whose files it has, and owes their ends once."""
    offered(meeting, 2)
    one, other = meeting.join("a"), meeting.join("b")
    first, second = started(one, 2)
    assert other.revoked([first.run_id, second.run_id]) == []
    other.fence("a", Proof(inc_id="a", kind=ProofKind.HAND, by="ada"), "by hand")
    (owed,) = other.revoked([first.run_id])
    assert (owed.run_id, owed.token, owed.inc_id, owed.started) == (first.run_id, first.token, "a", True)
    assert owed.status_path == meeting.attempts(first.run_id)[0]["status_path"]
    assert other.outcome(report(first)) is Applied.SUPERSEDED
    assert [each.run_id for each in other.revoked([first.run_id, second.run_id])] == [second.run_id]


def test_s4_of_an_attempt_that_nobody_has_started_is_unknown(meeting: Meeting) -> None:
    """No such grant, or no such run: nothing is written."""
    offered(meeting, 1)
    claims = meeting.join("a")
    (claim,) = claims.claim(1)
    assert claims.outcome(report(claim)) is Applied.UNKNOWN
    assert claims.outcome(report(Held("none.2027-01-01.1", 1))) is Applied.UNKNOWN
    assert meeting.state(claim.run_id) == ("queued", 1, "a")


def test_s4_counts_for_the_incarnation_that_the_attempt_names(meeting: Meeting) -> None:
    """Whoever replays a dead one's journal reports in its name: no proof, no ownership of his own is needed."""
    offered(meeting, 1)
    one, other = meeting.join("a"), meeting.join("b")
    (claim,) = started(one)
    meeting.advance(OVER_S)
    assert other.outcome(report(claim)) is Applied.YES
    assert meeting.state(claim.run_id) == ("succeeded", 2, None)


def test_s4_a_run_that_was_to_be_cancelled_is_not_tried_again(meeting: Meeting) -> None:
    """The wish came while the report was on its way."""
    offered(meeting, 1)
    claims = meeting.join("a")
    (claim,) = started(claims)
    claims.cancel(claim.run_id)
    assert claims.outcome(report(claim, RunState.RETRY_WAIT)) is Applied.YES
    assert meeting.state(claim.run_id)[0] == "cancelled"
    assert meeting.row(claim.run_id)["cancel_requested"] == 0


def test_s4_many_reports_are_one_transaction_and_each_is_judged_by_itself(meeting: Meeting) -> None:
    """Told twice in one breath counts once."""
    ids = offered(meeting, 3)
    claims = meeting.join("a")
    taken = started(claims, 3)
    claims.outcome(report(taken[1]))
    answers = claims.outcomes([report(c) for c in (*taken, taken[0])] + [report(Held("no.2027-01-01.1", 1))])
    assert answers == {
        (ids[0], 1): Applied.YES,
        (ids[1], 1): Applied.AGAIN,
        (ids[2], 1): Applied.YES,
        ("no.2027-01-01.1", 1): Applied.UNKNOWN,
    }


def test_s4_takes_any_text_that_a_job_can_produce(meeting: Meeting) -> None:
    """Half a surrogate, a NUL: a job's odd bytes do not stop a commit."""
    offered(meeting, 1)
    claims = meeting.join("a")
    (claim,) = started(claims)
    assert claims.outcome(report(claim, reason="a\udc80b\0c", run_reason="d\0", note="\ud800")) is Applied.YES
    (row,) = meeting.attempts(claim.run_id)
    assert (row["reason"], row["note"], meeting.row(claim.run_id)["reason"]) == ("a?b?c", "?", "d?")


def test_b1_ends_in_any_order_touch_their_own_run_only(meeting: Meeting) -> None:
    """3, 1, 2: nothing goes back, nothing is run again."""
    ids = offered(meeting, 3)
    claims = meeting.join("a")
    one, two, three = started(claims, 3)
    for claim in (three, one, two):
        assert claims.outcome(report(claim)) is Applied.YES
    assert [meeting.state(run_id)[0] for run_id in ids] == ["succeeded"] * 3
    assert meeting.join("b").claim(9) == []


# --------------------------------------------------------------------------- giving back: S5, S6, S8


def test_s5_what_is_handed_back_is_offered_again_in_its_old_place(meeting: Meeting) -> None:
    """claims.md B8, B15; the token goes on, so that the old claim starts nothing."""
    ids = offered(meeting, 2)
    one, other = meeting.join("a"), meeting.join("b")
    (claim,) = one.claim(1)
    assert one.hand_back([held(claim), Held(ids[1], 1)]) == {ids[0]}
    assert meeting.state(ids[0]) == ("queued", 2, None)
    assert one.hand_back([held(claim)]) == set()
    assert [(c.run_id, c.token) for c in other.claim(2)] == [(ids[0], 3), (ids[1], 1)]
    assert one.start([start_of(claim)]) == set()


def test_s5_a_hook_or_a_person_ends_it_instead(meeting: Meeting) -> None:
    """A run of `tick` or `work` is cancelled; a run of the engine's waits for its word and is claimed by nobody."""
    (own,), (engine,) = offered(meeting, 1, job="own"), engines(meeting, 1, job="engine")
    claims = meeting.join("a")
    one, two = claims.claim(2)
    assert claims.hand_back([held(one), held(two)], cancelled=True) == {own, engine}
    assert meeting.state(own) == ("cancelled", 2, None)
    assert meeting.state(engine) == ("queued", 2, None)
    assert claims.claim(9) == []


def test_s5_never_takes_back_what_has_started(meeting: Meeting) -> None:
    """A started run ends by its outcome only."""
    offered(meeting, 1)
    claims = meeting.join("a")
    (claim,) = started(claims)
    assert claims.hand_back([held(claim)]) == set()
    assert meeting.state(claim.run_id) == ("running", 1, "a")


def test_s6_a_start_of_which_nothing_was_executed_is_taken_back(meeting: Meeting) -> None:
    """Its attempt is gone, its try is not spent, the run is offered again."""
    offered(meeting, 1)
    claims = meeting.join("a")
    (claim,) = started(claims)
    assert claims.abort_start(held(claim))
    assert meeting.state(claim.run_id) == ("queued", 2, None)
    assert meeting.attempts(claim.run_id) == []
    assert not claims.abort_start(held(claim))
    (again,) = started(claims)
    assert (again.attempt, again.token) == (0, 3)
    assert meeting.lines() == ["start_aborted"]


@pytest.mark.parametrize("why", ["not started", "ended", "other's"])
def test_s6_is_refused_for_what_is_not_its_start(meeting: Meeting, why: str) -> None:
    """Nothing is taken back that may have run."""
    offered(meeting, 1)
    one, other = meeting.join("a"), meeting.join("b")
    (claim,) = one.claim(1)
    if why != "not started":
        one.start([start_of(claim)])
    if why == "ended":
        one.outcome(report(claim))
    before = meeting.state(claim.run_id)
    assert not (other if why == "other's" else one).abort_start(held(claim))
    assert meeting.state(claim.run_id) == before


def test_s6_a_wish_to_cancel_is_heard(meeting: Meeting) -> None:
    """It came between the start and its being taken back."""
    offered(meeting, 1)
    claims = meeting.join("a")
    (claim,) = started(claims)
    claims.cancel(claim.run_id)
    assert claims.abort_start(held(claim))
    assert meeting.state(claim.run_id) == ("cancelled", 2, None)


def test_s8_what_the_store_says_is_mine(meeting: Meeting) -> None:
    """Claims without an attempt, starts with theirs; memory is no evidence of ownership."""
    ids = offered(meeting, 3)
    claims, other = meeting.join("a"), meeting.join("b")
    one, _ = claims.claim(2)
    claims.start([start_of(one, status_path="/s", boot_id="b1")])
    first, second = claims.owned()
    assert (first.run_id, first.started, first.key, first.status_path) == (ids[0], True, f"{ids[0]}.1", "/s")
    assert (first.attempt, first.boot_id, first.started_at, first.on_lost) == (1, "b1", NOON, OnLost.RERUN)
    assert (second.run_id, second.started, second.key, second.token) == (ids[1], False, "", 1)
    assert other.owned() == []
    assert other.owned("a") == [first, second]


def test_the_database_itself_refuses_a_claim_that_is_not_whole(meeting: Meeting) -> None:
    """claims.md C4, I2, I3: an odd token is owned, an even one nobody's; a token never becomes smaller."""
    (run_id,) = offered(meeting, 1)
    claims = meeting.join("a")
    claims.claim(1)
    for change in ("token = 2", "owner_inc = NULL", "state = 'succeeded'", "state = 'held'"):
        with pytest.raises(Exception, match=r"(?i)constraint"):
            meeting.run(f"UPDATE runs SET {change}")
    with pytest.raises(Exception, match="a token never decreases"):
        meeting.run("UPDATE runs SET token = -1")
    assert meeting.state(run_id) == ("queued", 1, "a")


def test_the_database_itself_refuses_two_starts_of_one_grant(meeting: Meeting) -> None:
    """I5, I7."""
    offered(meeting, 1)
    claims = meeting.join("a")
    (claim,) = started(claims)
    with pytest.raises(Exception, match=r"(?i)unique|constraint"):
        meeting.run("INSERT INTO attempts SELECT * FROM attempts")
    with pytest.raises(Exception, match=r"(?i)unique"):
        meeting.run(
            "INSERT INTO attempts (run_id, attempt, key, started_at, config_version, boot_id, reason, stdout_path, "
            "stderr_path, status_path, note, token, inc_id) "
            f"VALUES ('{claim.run_id}', 2, 'k', 0, 1, '', '', '', '', '', '', 1, 'b')"
        )


def test_a_start_says_all_that_finding_it_again_needs(meeting: Meeting) -> None:
    """The row that S3 writes is what `find` looks for (DESIGN 4)."""
    offered(meeting, 1)
    claims = meeting.join("a")
    (claim,) = claims.claim(1)
    start = Start(
        run_id=claim.run_id, token=claim.token, attempt=1, key="k", boot_id="b", stdout_path="o", stderr_path="e",
        status_path="s", note="n",
    )  # fmt: skip
    claims.start([start])
    (row,) = meeting.attempts(claim.run_id)
    assert {name: row[name] for name in ("key", "boot_id", "stdout_path", "stderr_path", "status_path", "note")} == {
        "key": "k", "boot_id": "b", "stdout_path": "o", "stderr_path": "e", "status_path": "s", "note": "n",
    }  # fmt: skip
