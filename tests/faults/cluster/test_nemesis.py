"""A seed is enough to tell a plan again, and plans hold what they promise."""

from __future__ import annotations

from tests.faults.cluster.nemesis import TAIL_S, WEIGHTS, Kind, calm, outage, storm
from tests.faults.cluster.points import POINTS


def drawn(seed: int) -> str:
    return "\n".join(map(str, storm(seed, hosts=3, processes=2, length_s=12).faults))


def test_a_seed_tells_a_plan_again() -> None:
    """Under the same seed the same goes wrong at the same time; under another, something else."""
    assert drawn(7) == drawn(7)
    assert drawn(7) != drawn(8)


def test_every_kind_is_drawn_soon() -> None:
    """Twenty plans know every fault, every point, every host and every process."""
    faults = [fault for seed in range(20) for fault in storm(seed, hosts=3, processes=2, length_s=12).faults]
    assert {fault.kind for fault in faults} == set(Kind) == set(WEIGHTS)
    assert {fault.point for fault in faults if fault.kind in (Kind.STOP_AT, Kind.KILL_AT)} == set(POINTS)
    assert {(fault.host, fault.process) for fault in faults} == {(h, p) for h in range(3) for p in range(2)}


def test_a_fault_lies_within_its_plan() -> None:
    """In order, none before the schedulers are up and none after the plan's end; none lasts for nothing."""
    for seed in range(50):
        plan = storm(seed, hosts=3, processes=2, length_s=8)
        times = [fault.at_s for fault in plan.faults]
        assert times == sorted(times)
        assert all(0.3 <= fault.at_s <= 8 - TAIL_S and fault.for_s > 0 for fault in plan.faults)


def test_some_kinds_may_be_chosen() -> None:
    """For who looks for one mistake only."""
    plan = storm(1, hosts=3, processes=2, length_s=30, kinds=(Kind.STOP, Kind.RESET))
    assert {fault.kind for fault in plan.faults} == {Kind.STOP, Kind.RESET}


def test_an_outage_is_one_for_all() -> None:
    """The same for every host, at the same time, for three leases; and a calm plan has none."""
    plan = outage(3, hosts=3, lease_s=2, length_s=4)
    assert {(fault.kind, fault.at_s, fault.for_s) for fault in plan.faults} == {(plan.faults[0].kind, 1.0, 6.0)}
    assert {fault.host for fault in plan.faults} == {0, 1, 2}
    assert plan.quiet
    assert calm(3, length_s=4).quiet
    assert not calm(3, length_s=4).faults
