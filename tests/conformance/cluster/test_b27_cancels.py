"""B27: a wish to cancel outlives the owner it was told to (claims.md B27). On SQLite too.

The wish is written as S15 writes it: runs of `tick` and `work` have no command that cancels them, `pysched kill` speaks
to a `serve`, and that one makes runs whose loss its own engine decides about.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from pyscheduler.minder import kernel
from pyscheduler.store.claims import making
from tests.conformance.cluster.kit import Ticking, World, numbers, task, until


def cancel(world: World, run_id: str) -> str:
    with world.door() as door:
        return door.write(lambda on: making.cancel(on, run_id)).value


def test_the_owner_stops_what_was_cancelled(world: World) -> None:
    """The next heartbeat brings the word; the run ends as cancelled."""
    scheduler = world.scheduler(world.minutely(gated=True))
    scheduler.tick()
    world.at(1)
    first = Ticking(scheduler)
    until(world.effects)
    assert cancel(world, "job.2027-05-20.1") == "requested"
    ticked = first.end()
    assert (ticked.started, ticked.cancelled, ticked.failed) == (1, 1, 0)
    assert world.states() == ["cancelled"]


def test_a_cancelled_run_of_a_dead_owner_is_not_run_again(world: World) -> None:
    """The owner, its minder and its nursery are killed before they hear of it: the run is lost, and stays cancelled."""
    hand = world.hand(task("job", world.command(gated=True)))
    hand.ask("tick")
    world.at(1)
    hand.do("tick")
    until(world.effects)
    world.stop(hand)
    job = world.pids()[0]
    assert cancel(world, "job.2027-05-20.1") == "requested"
    for pid in (hand.process.pid, *ancestors(job, hand.process.pid), job):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    hand.kill()
    b = world.scheduler(world.minutely())
    until(lambda: numbers(b.tick()) == (0, 0, 0) and world.states() == ["cancelled"])
    assert len(world.effects()) == 1


def ancestors(pid: int, last: int) -> list[int]:
    """Return the processes between a process and the scheduler, the eldest first: nursery, minder."""
    found: list[int] = []
    while (stat := kernel.stat(pid)) is not None and stat.parent not in (0, 1, last):
        pid = stat.parent
        found.insert(0, pid)
    return found
