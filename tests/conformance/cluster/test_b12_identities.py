"""B12: a process's number alone proves nothing (claims.md B12). On SQLite too."""

from __future__ import annotations

import os
import signal

from tests.conformance.cluster.kit import Hand, World, numbers, task, until
from tests.conformance.cluster.rows import forge_lease


def claimed(world: World) -> Hand:
    """Return a scheduler that has claimed 00:01 and not started it."""
    hand = world.hand(task("job", world.command()), hook=str(world.folder / "hook"))
    hand.ask("tick")
    world.at(1)
    hand.do("tick")
    until(lambda: (world.folder / "hook-called-job.2027-05-20.1").exists(), "it has the claim")
    return hand


def test_a_number_given_to_another_process_is_no_life(world: World) -> None:
    """The pid is that of a living process, which began at another time: dead, and taken at once."""
    claimed(world).kill()
    with world.door() as door:
        forge_lease(door, pid=os.getpid(), start_ticks=1)
    assert numbers(world.scheduler(world.minutely()).tick()) == (1, 0, 0)


def test_a_number_of_another_namespace_is_no_death(world: World) -> None:
    """Nothing is known of a pid that is not one of ours: its lease decides, not its absence."""
    hand = claimed(world)
    hand.kill()
    with world.door() as door:
        forge_lease(door, pid_ns="4026530000")
    b = world.scheduler(world.minutely(), timing=LONG)
    assert numbers(b.tick()) == (0, 0, 0)
    assert world.effects() == []


def test_an_owner_without_any_identity_is_not_taken_for_dead(world: World) -> None:
    """What is not known proves nothing."""
    claimed(world).kill()
    with world.door() as door:
        forge_lease(door, start_ticks=None, boot_id="")
    assert numbers(world.scheduler(world.minutely(), timing=LONG).tick()) == (0, 0, 0)


def test_a_zombie_is_dead(world: World) -> None:
    """Its number is still taken, and nobody is behind it."""
    hand = claimed(world)
    os.kill(hand.process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, hand.process.pid, os.WEXITED | os.WNOWAIT)
    assert numbers(world.scheduler(world.minutely()).tick()) == (1, 0, 0)


LONG = {"lease": 60, "observe": 30, "heartbeat": 5}
