"""The checker says nothing of a history that is right, and names the invariant of each that is not."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.faults.cluster.checker import broken
from tests.faults.cluster.history import Effect, Promises, Room
from tests.faults.cluster.story import Story

R = "load.2027-01-04.1"
S = "load.2027-01-04.2"
PROMISES = Promises(wanted=frozenset({("load", 1)}), room=Room({"load": ("db", 2)}, {"db": 2}, {"load": 1}))


def begun(*incs: str) -> Story:
    """Nodes, the first of which leads, and one run that waits to be claimed."""
    story = Story()
    for inc in incs:
        story.node(inc)
    story.app = incs[0]
    story.lead(incs[0], 1)
    story.due(R)
    return story


def running() -> Story:
    story = begun("a", "b")
    story.claim(R, "a")
    story.start(R, "a")
    story.act(R)
    return story


def ended() -> Story:
    story = running()
    story.act(R, what="end")
    story.end(R)
    return story


def revoked() -> Story:
    """A started attempt is lost, its run goes on with b, and a's late report changes nothing."""
    story = running()
    story.fence("a", R)
    story.claim(R, "b")
    story.start(R, "b")
    story.act(R, 2)
    story.end(R)
    story.say("superseded", R, 1)
    return story


def handed_back() -> Story:
    story = begun("a", "b")
    story.claim(R, "a")
    story.change("runs", R, token=2, owner_inc=None)
    story.claim(R, "b")
    story.start(R, "b")
    story.act(R)
    story.end(R)
    return story


def adopted() -> Story:
    story = running()
    with story.together():
        story.change("runs", R, owner_inc="b")
        story.change("attempts", (R, 1), inc_id="b")
        story.say("adopted", R, 1)
    story.end(R)
    return story


def retried() -> Story:
    story = running()
    story.act(R, what="end")
    with story.together():
        story.change("runs", R, state="retry_wait", token=2, owner_inc=None)
        story.change("attempts", (R, 1), ended_at=2, outcome="failed")
    story.change("runs", R, state="queued")
    story.claim(R, "b")
    story.start(R, "b")
    story.act(R, 2)
    story.end(R)
    return story


def decided_later() -> Story:
    """A node of `serve` reports, and its authority decides."""
    story = running()
    with story.together():
        story.change("runs", R, token=2, owner_inc=None)
        story.change("attempts", (R, 1), ended_at=2, outcome="succeeded")
    story.change("runs", R, state="succeeded")
    return story


def taken_over() -> Story:
    story = ended()
    story.lead("b", 2)
    story.app = "b"
    story.due(S, at=2)
    return story


@pytest.mark.parametrize("tell", [ended, revoked, handed_back, adopted, retried, decided_later, taken_over])
def test_what_the_protocol_does_is_right(tell: Callable[[], Story]) -> None:
    """Each step of the protocol, done right, breaks nothing."""
    promises = Promises(wanted=PROMISES.wanted, watermarks=("last",))
    assert broken(tell().history(promises)) == []


def test_a_run_and_a_waiting_one_fit_in_their_pool() -> None:
    """What waits takes no place."""
    story = running()
    story.due(S, at=2)
    assert broken(story.history(Promises(room=PROMISES.room))) == []


# ------------------------------------------------ each must be refused


def two_runs_for_one_due_time(story: Story) -> None:
    story.due(S, at=1)


def a_token_goes_back(story: Story) -> None:
    story.change("runs", R, token=0, owner_inc=None)


def a_token_jumps(story: Story) -> None:
    story.change("runs", R, token=3)


def an_even_token_is_owned(story: Story) -> None:
    story.change("runs", R, token=2)


def an_owner_changes_under_its_token(story: Story) -> None:
    story.change("runs", R, owner_inc="b")


def a_token_is_granted_twice(story: Story) -> None:
    story.change("runs", R, token=0, owner_inc=None)
    story.change("runs", R, token=1, owner_inc="b")


def a_running_run_is_nobodys(story: Story) -> None:
    story.change("runs", R, token=2, owner_inc=None)


def a_waiting_run_is_owned(story: Story) -> None:
    story.change("runs", R, state="retry_wait")


def a_fenced_node_keeps_a_run(story: Story) -> None:
    story.change("leases", "a", fenced_at=5, fence_reason="window")


def a_fenced_node_claims(story: Story) -> None:
    story.change("leases", "b", fenced_at=5, fence_reason="window")
    story.due(S, at=2)
    story.claim(S, "b")


def one_token_has_two_attempts(story: Story) -> None:
    story.change("attempts", (R, 2), run_id=R, attempt=2, key="x", token=1, inc_id="a", ended_at=None, outcome=None)


def an_attempt_is_not_its_grantees(story: Story) -> None:
    story.due(S, at=2)
    story.claim(S, "b")
    story.start(S, "a")


def a_run_succeeds_whose_attempt_failed(story: Story) -> None:
    story.end(R, "succeeded", "failed")


def a_run_succeeds_before_its_attempt_ends(story: Story) -> None:
    story.change("runs", R, state="succeeded")


def an_attempt_is_executed_twice(story: Story) -> None:
    story.act(R)


def a_task_runs_before_its_start_is_committed(story: Story) -> None:
    story.act(S)


def an_execution_is_not_accounted_for(story: Story) -> None:
    """Two attempts of one run, and nothing lost between them."""
    story.change("runs", R, state="queued", token=2, owner_inc=None)
    story.claim(R, "b")
    story.start(R, "b")
    story.act(R, 2)


def a_start_under_an_old_token(story: Story) -> None:
    """The owner was revoked and has claimed again; its delayed start names its first grant."""
    story.due(S, at=2)
    story.claim(S, "b")
    story.change("runs", S, token=2, owner_inc=None)
    story.claim(S, "b")
    with story.together():
        story.change("runs", S, state="running", attempt=1)
        story.change("attempts", (S, 1), run_id=S, attempt=1, key="x", token=1, inc_id="b", ended_at=None, outcome=None)


def a_final_run_moves(story: Story) -> None:
    story.end(R)
    story.change("runs", R, state="failed")


def an_end_is_applied_and_superseded(story: Story) -> None:
    story.end(R)
    story.say("superseded", R, 1)


def an_end_comes_from_nowhere(story: Story) -> None:
    story.change("attempts", (R, 1), ended_at=2, outcome="succeeded")


def an_epoch_goes_back(story: Story) -> None:
    story.lead("a", 0)


def an_authority_is_taken_in_its_epoch(story: Story) -> None:
    story.lead("b", 1)


def a_stale_authority_creates_a_run(story: Story) -> None:
    story.lead("b", 2)
    story.due(S, at=2)


def a_pool_overflows(story: Story) -> None:
    story.due(S, at=2)
    story.claim(S, "b")


def a_run_is_forgotten(story: Story) -> None:
    """It is the one that PROMISES wants; the story leaves it running."""


def a_watermark_goes_back(story: Story) -> None:
    story.change("engine", "last_tick", key="last_tick", value="20")
    story.change("engine", "last_tick", key="last_tick", value="9")


WRONG: list[tuple[str, Callable[[Story], None]]] = [
    ("I1", two_runs_for_one_due_time),
    ("I2", a_token_goes_back),
    ("I2", a_token_jumps),
    ("I2", an_even_token_is_owned),
    ("I2", an_owner_changes_under_its_token),
    ("I2", a_token_is_granted_twice),
    ("I3", a_running_run_is_nobodys),
    ("I3", a_waiting_run_is_owned),
    ("I4", a_fenced_node_keeps_a_run),
    ("I4", a_fenced_node_claims),
    ("I5", one_token_has_two_attempts),
    ("I5", an_attempt_is_not_its_grantees),
    ("I5", a_start_under_an_old_token),
    ("I6", a_run_succeeds_whose_attempt_failed),
    ("I6", a_run_succeeds_before_its_attempt_ends),
    ("I7", an_attempt_is_executed_twice),
    ("I7", a_task_runs_before_its_start_is_committed),
    ("I8", an_execution_is_not_accounted_for),
    ("I9", a_final_run_moves),
    ("I10", an_end_is_applied_and_superseded),
    ("I10", an_end_comes_from_nowhere),
    ("I11", an_epoch_goes_back),
    ("I11", an_authority_is_taken_in_its_epoch),
    ("I11", a_stale_authority_creates_a_run),
    ("I12", a_pool_overflows),
    ("I13", a_pool_overflows),
    ("I15", a_run_is_forgotten),
    ("I16", a_watermark_goes_back),
]


@pytest.mark.parametrize(("invariant", "spoil"), WRONG, ids=lambda value: getattr(value, "__name__", value))
def test_what_must_never_be_is_named(invariant: str, spoil: Callable[[Story], None]) -> None:
    """Each of these histories breaks the invariant that it is told for."""
    story = running()
    spoil(story)
    assert invariant in {wrong.invariant for wrong in broken(story.history(PROMISES))}


@pytest.mark.parametrize("action", ["lost_running", "lost_claimed", "superseded"])
def test_nobody_loses_anything_where_nothing_is_wrong(action: str) -> None:
    """I14: a history without faults has none of these lines, and one with faults may."""
    story = ended()
    story.say(action, R, 3)
    assert "I14" in {wrong.invariant for wrong in broken(story.history(Promises(quiet=True)))}
    assert "I14" not in {wrong.invariant for wrong in broken(story.history())}


def test_a_node_that_is_fenced_where_nothing_is_wrong_was_robbed() -> None:
    """I14, too: unless it said goodbye."""
    robbed, left = ended(), ended()
    robbed.change("leases", "b", fenced_at=5, fence_reason="window")
    left.change("leases", "b", fenced_at=5, fence_reason="exit")
    assert [wrong.invariant for wrong in broken(robbed.history(Promises(quiet=True)))] == ["I14"]
    assert broken(left.history(Promises(quiet=True))) == []


def test_an_execution_under_another_attempts_key_has_no_start() -> None:
    """I7 goes by the key, which only the committed start has."""
    story = running()
    story.effects.append(Effect("begin", R, 1, "another", 1, 7, 2.0))
    assert next(wrong.invariant for wrong in broken(story.history())) == "I7"


@pytest.mark.parametrize(("proof", "wrong"), [("dead", ["overlap"]), ("window", []), ("hand", [])])
def test_two_executions_at_once_are_possible_without_proof_only(proof: str, wrong: list[str]) -> None:
    """Who was proved dead, and its attempt gone, does not work beside its successor; after a window it may."""
    story = running()
    story.fence("a", R)
    story.changes[-1].new["detail"] = json.dumps({"token": 1, "proof": proof})  # type: ignore[index]
    story.claim(R, "b")
    story.start(R, "b")
    story.end(R)
    story.effects += [Effect("begin", R, 2, f"{R}-2", 3, 9, 2.0), Effect("end", R, 1, f"{R}-1", 1, 1, 3.0)]
    assert [broke.invariant for broke in broken(story.history())] == wrong
