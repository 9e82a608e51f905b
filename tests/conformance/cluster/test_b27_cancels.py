"""B27: a wish to cancel outlives the owner it was told to (claims.md B27). On SQLite too.

The wish is told by the public ways: `Scheduler.cancel` and the command `pysched cancel`.
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress

import pytest

from pyscheduler.errors import Conflict, NotFound
from pyscheduler.minder import kernel
from pyscheduler.model.lease import OnLost
from pyscheduler.store.claims import Claims, Occurrence, Watermark
from tests.conformance.cluster.command import NEVER, Typed
from tests.conformance.cluster.kit import MIDNIGHT, Ticking, World, numbers, task, until
from tests.conformance.cluster.test_another_leads import a_dead_leader

RUN = "job.2027-05-20.1"


def test_the_owner_stops_what_was_cancelled(world: World) -> None:
    """The next heartbeat brings the word; the run ends as cancelled."""
    scheduler = world.scheduler(world.minutely(gated=True))
    scheduler.tick()
    world.at(1)
    first = Ticking(scheduler)
    until(world.effects)
    assert world.scheduler(world.minutely()).cancel(RUN, by="ann") is True
    ticked = first.end()
    assert (ticked.started, ticked.cancelled, ticked.failed) == (1, 1, 0)
    assert world.states() == ["cancelled"]
    assert scheduler.cancel(RUN, by="ann") is False
    assert world.lines("cancel") == [RUN]
    with pytest.raises(NotFound):
        scheduler.cancel("job.2027-05-20.9", by="ann")


def test_a_cancelled_run_of_a_dead_owner_is_not_run_again(world: World) -> None:
    """The owner, its minder and its nursery are killed before they hear of it: the run is lost, and stays cancelled."""
    hand = world.hand(task("job", world.command(gated=True)))
    hand.ask("tick")
    world.at(1)
    hand.do("tick")
    until(world.effects)
    world.stop(hand)
    job = world.pids()[0]
    b = world.scheduler(world.minutely())
    assert b.cancel(RUN, by="ann")
    for pid in (hand.process.pid, *ancestors(job, hand.process.pid), job):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    hand.kill()
    until(lambda: numbers(b.tick()) == (0, 0, 0) and world.states() == ["cancelled"])
    assert len(world.effects()) == 1


def test_the_command_calls_off_what_runs_and_what_waits(world: World) -> None:
    """Without any `serve`: `kill` for what runs alone, `cancel` for both; each says what has become of the run."""
    typed = Typed(world)
    typed.write({"job": f'{{command: "true", schedule: "{NEVER}"}}'})
    scheduler = world.scheduler(world.minutely(gated=True))
    scheduler.tick()
    world.at(2)
    first = Ticking(scheduler, max_processes=1)
    until(world.effects)
    waiting = "job.2027-05-20.2"
    code, _, err = typed.run("kill", waiting)
    assert (code, f"{waiting} is queued, so kill does not apply" in err) == (1, True)
    code, out, _ = typed.run("cancel", waiting, "--reason", "no data today")
    assert (code, out.startswith(f"{waiting}: cancelled (cancelled by ")) == (0, True)
    assert out.rstrip().endswith(": no data today)")
    code, out, _ = typed.run("kill", RUN, "--json")
    assert (code, [run["run_id"] for run in json.loads(out)["runs"]]) == (0, [RUN])
    assert first.end().cancelled == 1
    assert world.states() == ["cancelled", "cancelled"]
    code, _, err = typed.run("cancel", RUN)
    assert (code, f"{RUN} is cancelled, so cancel does not apply" in err) == (1, True)


def test_a_job_that_asks_for_a_reason_gets_one(world: World) -> None:
    """Also where no `serve` is there to ask for it; without one nothing is changed."""
    typed = Typed(world)
    typed.write({"job": f'{{command: "true", schedule: "{NEVER}", require_reason: true}}'})
    scheduler = world.scheduler(world.minutely(gated=True))
    scheduler.tick()
    world.at(1)
    first = Ticking(scheduler)
    until(world.effects)
    code, _, err = typed.run("cancel", RUN)
    assert (code, "job job asks for a reason with every action" in err) == (1, True), err
    assert world.lines("cancel") == []
    code, _, err = typed.run("cancel", RUN, "--reason", "no data today")
    assert code == 0, err
    assert first.end().cancelled == 1


def test_a_run_that_serve_has_made_is_left_to_serve(world: World) -> None:
    """Nobody calls it off past the engine: the command says that none runs, the object whose it is."""
    typed = Typed(world)
    typed.write({"job": f'{{command: "true", schedule: "{NEVER}"}}'})
    scheduler = world.scheduler(world.minutely())
    with a_dead_leader(world) as claims:
        made_by_the_engine(claims)
    code, _, err = typed.run("cancel", RUN)
    assert (code, "no scheduler" in err) == (1, True), err
    with pytest.raises(Conflict):
        scheduler.cancel(RUN, by="ann")
    assert world.states() == ["queued"]
    assert world.lines("cancel") == []


def made_by_the_engine(claims: Claims) -> None:
    due = Occurrence(job="job", run_date=MIDNIGHT.date(), scheduled_at=MIDNIGHT, on_lost=OnLost.ENGINE)
    assert claims.materialise(1, [due], [Watermark("job", None, MIDNIGHT)]) == [RUN]


def ancestors(pid: int, last: int) -> list[int]:
    """Return the processes between a process and the scheduler, the eldest first: nursery, minder."""
    found: list[int] = []
    while (stat := kernel.stat(pid)) is not None and stat.parent not in (0, 1, last):
        pid = stat.parent
        found.insert(0, pid)
    return found
