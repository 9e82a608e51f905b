"""When another scheduler's process is certainly dead, and when nobody can say."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pyscheduler.model.lease import Identity, Proof, ProofKind
from pyscheduler.rules.proof import Presence, ProcessFacts, Verdict, covering, judge, prove

NOON = datetime(2027, 5, 20, 12, tzinfo=UTC)
ME = Identity(inc_id="me", host_id="h", boot_id="b", pid_ns="n", pid=1, start_ticks=5)
THEM = Identity(inc_id="them", host_id="h", boot_id="b", pid_ns="n", pid=4711, start_ticks=100)
ALIVE = ProcessFacts(Presence.PRESENT, 100, is_zombie=False, threads=3)
ABSENT = ProcessFacts(Presence.ABSENT)


def verdict(them: Identity, process: ProcessFacts, *, ago_s: float = 60, me: Identity = ME, **more: object) -> Verdict:
    """Judge by an identity renewed so long ago, on a machine that is up for an hour."""
    renewed_at = NOON - timedelta(seconds=ago_s)
    return judge(them, renewed_at, me, process, db_now=NOON, uptime_s=3600, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("process", "expected"),
    [
        (ABSENT, Verdict.DEAD),
        (ALIVE, Verdict.UNKNOWN),
        (replace(ALIVE, start_ticks=101), Verdict.DEAD),
        (replace(ALIVE, is_zombie=True, threads=1), Verdict.DEAD),
        (replace(ALIVE, is_zombie=True, threads=2), Verdict.UNKNOWN),
        (replace(ALIVE, is_zombie=True, threads=None), Verdict.UNKNOWN),
        (ProcessFacts(Presence.PRESENT), Verdict.UNKNOWN),
        (ProcessFacts(), Verdict.UNKNOWN),
    ],
    ids=["absent", "alive", "pid reused", "zombie", "zombie with threads", "zombie, hidden", "hidden", "not asked"],
)
def test_p1_on_this_boot(process: ProcessFacts, expected: Verdict) -> None:
    """claims.md B12: a live pid extends nothing, a missing line in /proc proves nothing."""
    assert verdict(THEM, process) is expected


@pytest.mark.parametrize(
    "them",
    [
        replace(THEM, host_id="other"),
        replace(THEM, pid_ns="other"),
        replace(THEM, host_id=""),
        replace(THEM, boot_id=""),
        replace(THEM, pid_ns=""),
        replace(THEM, pid=None),
        replace(THEM, start_ticks=None),
    ],
)
def test_nothing_is_proved_of_who_is_not_fully_known_or_lives_elsewhere(them: Identity) -> None:
    """An absent pid proves death only inside the same boot, machine and namespace."""
    assert verdict(them, ABSENT) is Verdict.UNKNOWN


@pytest.mark.parametrize("name", ["host_id", "boot_id", "pid_ns"])
def test_nothing_is_proved_by_who_does_not_know_himself(name: str) -> None:
    """Two empty texts are no match."""
    nothing: dict[str, Any] = {name: ""}
    them, me = replace(THEM, **nothing), replace(ME, **nothing)
    assert verdict(them, ABSENT, me=me) is Verdict.UNKNOWN


def test_p2_a_boot_since_the_last_sign_of_life() -> None:
    """The machine is up for an hour, and the other was heard of before that."""
    assert verdict(replace(THEM, boot_id="before"), ALIVE, ago_s=3601) is Verdict.REBOOT


@pytest.mark.parametrize("ago_s", [3600, 5, -1])
def test_a_sign_of_life_after_our_boot_is_an_alarm(ago_s: float) -> None:
    """Two machines share an id: no proof of either kind may rest on it."""
    assert verdict(replace(THEM, boot_id="another"), ABSENT, ago_s=ago_s) is Verdict.CLONED


def test_nothing_is_proved_about_a_host_id_that_two_machines_share() -> None:
    """Until an operator has renamed one."""
    assert verdict(THEM, ABSENT, cloned={"h"}) is Verdict.UNKNOWN
    assert verdict(replace(THEM, boot_id="before"), ABSENT, ago_s=9999, cloned={"h"}) is Verdict.UNKNOWN


def test_a_verdict_becomes_a_proof_or_none() -> None:
    """Only the two proofs are ones."""
    assert prove("x", Verdict.DEAD, "me") == Proof(inc_id="x", kind=ProofKind.DEAD, by="me")
    assert prove("x", Verdict.REBOOT) == Proof(inc_id="x", kind=ProofKind.REBOOT)
    assert prove("x", Verdict.UNKNOWN) is None
    assert prove("x", Verdict.CLONED) is None


def test_a_proof_covers_the_attempts_it_names() -> None:
    """A scheduler's death says nothing about them; they are named one by one."""
    proof = covering(covering(Proof(inc_id="x", kind=ProofKind.DEAD), [("a.2027-01-01.1", 3)]), [("b.2027-01-01.1", 1)])
    assert proof.lost == {("a.2027-01-01.1", 3), ("b.2027-01-01.1", 1)}
