"""What the dead leave: claims handed out again, incarnations fenced, attempts adopted: S7a, S7b, S17 everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyscheduler.model.lease import DAY_S, MAX_LOST, OnLost, Proof, ProofKind, Seen
from pyscheduler.model.run import RunState
from pyscheduler.rules.proof import covering
from pyscheduler.store.claims import Applied, Claim, Claims, Fenced, Held
from tests.contract.claims_kit import (
    OVER_S,
    PLACES,
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


def dead(inc_id: str = "a", *lost: Claim) -> Proof:
    """Return P1 for an incarnation, with its attempts that were looked for and not found."""
    return covering(Proof(inc_id=inc_id, kind=ProofKind.DEAD), [(c.run_id, c.token) for c in lost])


def by_hand(inc_id: str = "a") -> Proof:
    return Proof(inc_id=inc_id, kind=ProofKind.HAND, by="ada")


def window(hb_seq: int = 0, after_s: float = DAY_S) -> Proof:
    return Proof(inc_id="a", kind=ProofKind.WINDOW, seen=Seen("a", hb_seq), reclaim_after_s=after_s)


def two(meeting: Meeting, runs: int = 2) -> tuple[Claims, Claims, Claim, Claim]:
    """Return two incarnations, of which the first has started one run and claimed another."""
    offered(meeting, runs)
    one, other = meeting.join("a"), meeting.join("b")
    running, claimed = one.claim(2)
    one.start([start_of(running)])
    return one, other, running, claimed


# --------------------------------------------------------------------------- S7a


def test_s7a_hands_out_what_was_not_started_and_fences_nobody(meeting: Meeting) -> None:
    """DESIGN 6: the first of the two windows. What is started stays; if its owner comes back, it goes on with it."""
    one, other, running, claimed = two(meeting)
    meeting.advance(OVER_S)
    other.heartbeat()
    assert other.hand_out_unstarted("a", Seen("a", 0)) == [claimed.run_id]
    assert meeting.state(claimed.run_id) == ("queued", 2, None)
    assert meeting.state(running.run_id) == ("running", 1, "a")
    assert meeting.lines() == ["lost_claimed"]
    assert [c.token for c in other.claim(5)] == [3]
    assert one.heartbeat() is not None
    assert one.start([start_of(claimed)]) == set()
    assert one.outcome(report(running)) is Applied.YES


@pytest.mark.parametrize("why", ["moved", "lease holds", "fenced", "unknown", "another", "proof of another", "window"])
def test_s7a_does_nothing_where(meeting: Meeting, why: str) -> None:
    """The row has moved since it was seen; its lease is not over; there is nothing to hand out."""
    one, other, _, claimed = two(meeting)
    reason: Seen | Proof = Seen("a", 0)
    if why != "lease holds":
        meeting.advance(OVER_S)
        other.heartbeat()
    if why == "moved":
        one.heartbeat()
        meeting.advance(OVER_S)
    elif why == "fenced":
        other.fence("a", by_hand(), "x")
    elif why == "another":
        reason = Seen("b", 0)
    elif why == "proof of another":
        reason = dead("b")
    elif why == "window":
        reason = window()
    before = meeting.state(claimed.run_id)
    assert other.hand_out_unstarted("nobody" if why == "unknown" else "a", reason) == []
    assert meeting.state(claimed.run_id) == before


def test_s7a_by_proof_does_not_wait_for_the_lease(meeting: Meeting) -> None:
    """A dead process starts nothing more."""
    _, other, running, claimed = two(meeting)
    assert other.hand_out_unstarted("a", dead()) == [claimed.run_id]
    assert meeting.state(running.run_id) == ("running", 1, "a")


def test_s7a_honours_a_wish_to_cancel(meeting: Meeting) -> None:
    """claims.md B27: the run is not offered again; the engine's own waits for its word."""
    (own,), (engine,) = offered(meeting, 1, job="own"), engines(meeting, 1, job="engine")
    one, other = meeting.join("a"), meeting.join("b")
    assert len(one.claim(2)) == 2
    meeting.run("UPDATE runs SET cancel_requested = 1")
    assert other.hand_out_unstarted("a", dead()) == [engine, own]
    assert meeting.state(own) == ("cancelled", 2, None)
    assert meeting.state(engine) == ("queued", 2, None)
    assert other.claim(9) == []


# --------------------------------------------------------------------------- S7b


def test_s7b_takes_all_that_a_dead_one_owns(meeting: Meeting) -> None:
    """By a proof that names the started attempts; each is lost, each run goes on as its rules say."""
    one, other, running, claimed = two(meeting)
    done = other.fence("a", dead("a", running), "its process is gone")
    assert done == Fenced(done=True, claimed=(claimed.run_id,), running=(running.run_id,))
    assert [meeting.state(c.run_id) for c in (running, claimed)] == [("queued", 2, None)] * 2
    (attempt,) = meeting.attempts(running.run_id)
    assert (attempt["outcome"], attempt["reason"], attempt["revoke_reason"]) == ("lost", *["its process is gone"] * 2)
    assert attempt["revoked_at"] == attempt["ended_at"] == meeting.lease("a")["fenced_at"]
    assert attempt["reported_at"] is None
    assert meeting.row(running.run_id)["lost_count"] == 1
    assert meeting.row(claimed.run_id)["lost_count"] == 0
    assert meeting.lines() == ["lost_running", "lost_claimed"]
    assert one.heartbeat() is None
    assert one.start([start_of(claimed)]) == set()
    assert other.strays() == []
    assert {c.token for c in other.claim(5)} == {3}


@pytest.mark.parametrize("why", ["not covered", "other token", "another", "unknown", "myself", "again"])
def test_s7b_is_refused_without_effect_and_says_why(meeting: Meeting, why: str) -> None:
    """The death of a scheduler proves nothing about its attempts (B21)."""
    _, other, running, claimed = two(meeting)
    inc_id, proof, said = "a", dead("a", running), ""
    if why == "not covered":
        proof, said = dead(), f"may still run: {running.run_id}"
    elif why == "other token":
        proof, said = covering(dead(), [(running.run_id, 3)]), "may still run"
    elif why == "another":
        proof, said = dead("c", running), "of another"
    elif why == "unknown":
        inc_id, proof, said = "nobody", dead("nobody"), "no such"
    elif why == "myself":
        inc_id, proof, said = "b", dead("b"), "himself"
    else:
        assert other.fence("a", proof, "x").done
        said = "already"
    before = [meeting.state(c.run_id) for c in (running, claimed)]
    refused = other.fence(inc_id, proof, "x")
    assert not refused.done
    assert said in refused.why
    assert [meeting.state(c.run_id) for c in (running, claimed)] == before
    assert (meeting.lease("a")["fenced_at"] is not None) == (why == "again")


def test_s7b_by_the_window_only_after_it(meeting: Meeting) -> None:
    """Counted from the last heartbeat, on the database's clock; default one day."""
    one, other, running, claimed = two(meeting)
    meeting.advance(100)
    one.heartbeat()
    for ago_s in (OVER_S, DAY_S - OVER_S - 1):
        meeting.advance(ago_s)
        other.heartbeat()
        assert "sign of life" in other.fence("a", window(1), "x").why
    meeting.advance(2)
    assert "sign of life" in other.fence("a", window(0), "x").why
    assert "not watched" in other.fence("a", Proof(inc_id="a", kind=ProofKind.WINDOW), "x").why
    assert other.fence("a", window(1), "x").running == (running.run_id,)
    assert meeting.state(claimed.run_id) == ("queued", 2, None)


def test_s7b_a_short_window_never_takes_from_who_heartbeats(meeting: Meeting) -> None:
    """claims.md B11: however long the run takes, and however short the window is."""
    one, other, running, _ = two(meeting)
    for _ in range(50):
        meeting.advance(10)
        one.heartbeat()
        other.heartbeat()
        seq = meeting.lease("a")["hb_seq"]
        assert not other.fence("a", window(seq, 1.0), "x").done
    assert meeting.state(running.run_id) == ("running", 1, "a")


def own_windows(meeting: Meeting, **windows: float) -> tuple[Claims, Claims]:
    """Return one that has started a run of each of these jobs, and another; the first is silent from now on."""
    for job, window_s in windows.items():
        offered(meeting, 1, job=job, reclaim_after_s=window_s)
    one, other = meeting.join("a"), meeting.join("b")
    started(one, len(windows))
    return one, other


def owners(meeting: Meeting) -> dict[str, str | None]:
    return {row["job"]: row["owner_inc"] for row in meeting.run("SELECT job, owner_inc FROM runs")}


def test_s7b_a_window_of_a_runs_own_takes_that_run_alone(meeting: Meeting) -> None:
    """DESIGN 6: its owner is not fenced, keeps the others until theirs, and goes on with them if it comes back."""
    one, other = own_windows(meeting, soon=600.0, usual=0.0, late=2 * DAY_S)
    assert [each.reclaim_after_s for each in other.owned("a")] == [2 * DAY_S, 600.0, 0.0]
    offered(meeting, 1, job="unstarted", reclaim_after_s=60.0)
    assert len(one.claim(1)) == 1
    meeting.advance(599)
    other.heartbeat()
    assert "sign of life" in other.fence("a", window(), "x").why
    meeting.advance(2)
    taken = other.fence("a", window(), "silent")
    assert (taken.done, taken.claimed, taken.running) == (False, (), ("soon.2027-05-20.1",))
    assert "other runs" in taken.why
    assert owners(meeting) == {"soon": None, "usual": "a", "late": "a", "unstarted": "a"}
    assert meeting.lease("a")["fenced_at"] is None
    assert meeting.lines() == ["lost_running"]
    assert other.strays() == []
    assert not other.fence("a", window(), "again").running
    assert one.heartbeat() is not None
    assert one.outcome(report(Held("soon.2027-05-20.1", 1))) is Applied.SUPERSEDED
    assert one.outcome(report(Held("usual.2027-05-20.1", 1))) is Applied.YES


def test_s7b_fences_when_the_last_window_has_passed(meeting: Meeting) -> None:
    """A longer window than the scheduler's holds the fence off for its run; what has only been claimed does not."""
    _, other = own_windows(meeting, usual=0.0, late=2 * DAY_S)
    meeting.advance(DAY_S + 1)
    other.heartbeat()
    assert other.fence("a", window(), "x").running == ("usual.2027-05-20.1",)
    meeting.advance(DAY_S)
    other.heartbeat()
    assert other.fence("a", window(), "x") == Fenced(done=True, running=("late.2027-05-20.1",))
    assert meeting.lease("a")["fenced_at"] is not None


def test_s7b_a_runs_own_window_is_never_shorter_than_a_lease(meeting: Meeting) -> None:
    """An owner that heartbeats keeps it; and so does one whose lease has not run out yet."""
    one, other = own_windows(meeting, soon=1.0)
    meeting.advance(OVER_S - 2)
    assert not other.fence("a", window(), "x").running
    one.heartbeat()
    meeting.advance(OVER_S)
    other.heartbeat()
    assert not other.fence("a", window(0), "x").running  # it has moved since
    assert other.fence("a", window(1), "x").running == ("soon.2027-05-20.1",)


def test_s7b_by_proof_does_not_ask_for_windows(meeting: Meeting) -> None:
    """What is known needs no waiting."""
    _, other = own_windows(meeting, late=2 * DAY_S)
    assert other.fence("a", by_hand(), "x").running == ("late.2027-05-20.1",)


@pytest.mark.parametrize("kind", [ProofKind.REBOOT, ProofKind.HAND])
def test_s7b_a_reboot_and_an_administrator_cover_all(meeting: Meeting, kind: ProofKind) -> None:
    """Nothing outlives a boot; and a person who typed the name has said so. Who it was stands in the row."""
    _, other, running, _ = two(meeting)
    assert other.fence("a", Proof(inc_id="a", kind=kind, by="ada"), "x").running == (running.run_id,)
    assert meeting.lease("a")["fenced_by"] == "ada"


def test_s7b_what_a_lost_start_becomes(meeting: Meeting) -> None:
    """The engine's waits for its rules; `rerun` is offered again; `fail` has failed."""
    (engine,) = engines(meeting, 1, job="engine")
    offered(meeting, 1, job="rerun")
    offered(meeting, 1, job="fail", on_lost=OnLost.FAIL)
    one, other = meeting.join("a"), meeting.join("b")
    started(one, 3)
    other.fence("a", by_hand(), "x")
    states = {row["job"]: (row["state"], row["reason"]) for row in meeting.run("SELECT * FROM runs")}
    assert states == {
        "engine": ("running", ""), "rerun": ("queued", "started again: the attempt was lost"),
        "fail": ("failed", "lost"),
    }  # fmt: skip
    assert meeting.state(engine) == ("running", 2, None)
    assert [c.job for c in other.claim(9)] == ["rerun"]


def test_s7b_what_kills_its_hosts_does_not_go_on_for_ever(meeting: Meeting) -> None:
    """After MAX_LOST lost starts a run has failed all the same."""
    (run_id,) = offered(meeting, 1)
    other = meeting.join("b")
    for number in range(MAX_LOST + 1):
        assert meeting.state(run_id) == ("queued", 2 * number, None)
        victim = meeting.join(f"v{number}")
        started(victim)
        other.fence(f"v{number}", by_hand(f"v{number}"), "x")
    assert meeting.state(run_id) == ("failed", 2 * MAX_LOST + 2, None)
    assert len(meeting.attempts(run_id)) == MAX_LOST + 1


def test_s7b_honours_a_wish_to_cancel(meeting: Meeting) -> None:
    """claims.md B27: it is not lost with its owner."""
    _, other, running, claimed = two(meeting)
    meeting.run("UPDATE runs SET cancel_requested = 1")
    assert set(other.fence("a", by_hand(), "x").cancelled) == {running.run_id, claimed.run_id}
    assert [meeting.state(c.run_id)[0] for c in (running, claimed)] == ["cancelled", "cancelled"]


# --------------------------------------------------------------------------- S17


def test_s17_a_started_attempt_passes_on_and_keeps_its_token(meeting: Meeting) -> None:
    """The run, its attempt and whatever it does go on; only who speaks for it has changed."""
    one, other, running, claimed = two(meeting)
    assert other.adopt("a", running.run_id, running.token, dead())
    assert meeting.state(running.run_id) == ("running", 1, "b")
    assert meeting.attempts(running.run_id)[0]["inc_id"] == "b"
    assert meeting.lines() == ["adopted"]
    assert other.fence("a", dead(), "x").claimed == (claimed.run_id,)
    assert meeting.state(running.run_id) == ("running", 1, "b")
    assert other.outcome(report(running)) is Applied.YES
    assert one.outcome(report(running)) is Applied.AGAIN


def test_s17_after_it_the_dead_ones_journal_counts_still(meeting: Meeting) -> None:
    """There is one end of one attempt, whoever tells it: ME is read from its row."""
    one, other, running, _ = two(meeting)
    assert other.adopt("a", running.run_id, running.token, dead())
    assert one.outcome(report(running)) is Applied.YES
    assert meeting.state(running.run_id) == ("succeeded", 2, None)
    assert other.outcome(report(running)) is Applied.AGAIN


@pytest.mark.parametrize(
    "why",
    ["claimed", "token", "ended", "by hand", "reboot", "proof of another", "no proof", "other host", "no host",
     "fenced", "lease over", "itself", "unknown"],
)  # fmt: skip
def test_s17_is_refused_where(meeting: Meeting, why: str) -> None:
    """Only a started attempt of a dead incarnation of this host, by one that lives."""
    one, other, running, claimed = two(meeting)
    inc_id, run, proof, adopter = "a", held(running), dead(), other
    if why == "claimed":
        run = held(claimed)
    elif why == "token":
        run = Held(running.run_id, 3)
    elif why == "ended":
        one.outcome(report(running))
    elif why in ("by hand", "reboot"):
        proof = Proof(inc_id="a", kind=ProofKind.HAND if why == "by hand" else ProofKind.REBOOT)
    elif why == "proof of another":
        proof = dead("b")
    elif why == "no proof":
        proof = window()
    elif why in ("other host", "no host"):
        adopter = meeting.join("c", host_id="h2" if why == "other host" else "")
    elif why == "fenced":
        one.fence("b", dead("b"), "x")
    elif why == "lease over":
        meeting.advance(OVER_S)
    elif why == "itself":
        adopter = one
    else:
        inc_id, proof = "nobody", dead("nobody")
    before = meeting.state(running.run_id)
    assert not adopter.adopt(inc_id, run.run_id, run.token, proof)
    assert meeting.state(running.run_id) == before
    assert "adopted" not in meeting.lines()


def test_s17_of_what_was_revoked_meanwhile_is_refused(meeting: Meeting) -> None:
    """Whoever was first has it."""
    _, other, running, _ = two(meeting)
    assert other.fence("a", dead("a", running), "x").done
    assert not other.adopt("a", running.run_id, running.token, dead())
    assert meeting.state(running.run_id) == ("queued", 2, None)


# --------------------------------------------------------------------------- one-shot passes


def test_a_one_shot_pass_sees_through_the_mark_of_an_earlier_one(meeting: Meeting) -> None:
    """claims.md C3: a mark made the observation time ago, of a row that has not moved since."""
    one, other, _, _ = two(meeting)
    assert other.stale("a") is None
    other.mark_stale(Seen("a", 0))
    meeting.advance(10)
    other.mark_stale(Seen("a", 0))  # a later mark of the same count does not begin anew
    assert other.stale("a") is None
    meeting.advance(6)
    assert other.stale("a") == Seen("a", 0)
    one.heartbeat()
    assert other.stale("a") is None
    other.mark_stale(Seen("a", 0))  # the row has moved: no mark of what is no more
    meeting.advance(100)
    assert other.stale("a") is None


def test_a_mark_from_before_the_servers_start_counts_no_more(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """claims.md B23 for one-shot passes: while the server was away nobody could renew. A file has no server."""
    with a_meeting(request, tmp_path, "postgres") as meeting:
        _, other, _, _ = two(meeting)
        meeting.run("UPDATE leases SET stale_seq = 0, stale_at = 1 WHERE name = 'a'")
        assert other.stale("a") is None
        meeting.run(f"UPDATE leases SET stale_at = {round(meeting.now.timestamp() - 60) * 1_000_000} WHERE name = 'a'")
        assert other.stale("a") == Seen("a", 0)


def test_s7b_retries_are_not_mixed_up_with_lost_starts(meeting: Meeting) -> None:
    """A run that waits for its next try is nobody's: fencing its last owner leaves it alone."""
    one, other, running, _ = two(meeting)
    one.outcome(report(running, RunState.RETRY_WAIT, retry_after_s=5))
    other.fence("a", dead(), "x")
    assert meeting.state(running.run_id) == ("retry_wait", 2, None)
