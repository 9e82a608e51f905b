"""B15: what a stopping scheduler has not started stays due (claims.md B15). On SQLite too."""

from __future__ import annotations

import json
import signal

import pytest

from pyscheduler.cluster import Task
from tests.conformance.cluster.command import NEVER, Typed, soon
from tests.conformance.cluster.kit import Ticking, World, numbers, until

FIVE = ("one", "two", "three", "four", "five")


def test_a_daemon_that_is_told_to_stop_loses_nothing(world: World) -> None:
    """Five due, one slot, SIGTERM after the first has begun: `pysched tick` runs exactly the other four."""
    typed = Typed(world)
    command = world.command(gated=True).replace("{", "{{").replace("}", "}}").replace('"', '\\"').replace("$$", "$$$$")
    typed.write(dict.fromkeys(FIVE, f'{{command: "{command}", schedule: "{NEVER}"}}'))
    code, out, err = typed.run("tick")
    assert (code, out.strip()) == (0, "nothing is due"), err
    cron, due = soon(1)
    typed.write(dict.fromkeys(FIVE, f'{{command: "{command}", schedule: "{cron}"}}'))
    worker = typed.start("work", "--max-processes", "1")
    until(world.effects, "the first has begun")
    worker.send_signal(signal.SIGTERM)
    first = world.effects()
    world.open_gate(first[0])
    out, err = worker.communicate(timeout=60)
    assert worker.returncode == 0, err
    assert "Stopping, 4 due task(s) of this tick are not started." in err
    assert out.startswith("1 started, 1 done")
    assert world.effects() == first
    for name in FIVE:
        world.open_gate(f"{name}.{due.date()}.1")
    code, out, err = typed.run("tick", "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert (answer["started"], answer["done"], answer["refused"], answer["handed_back"]) == (4, 4, 0, 0)
    assert sorted(world.effects("end")) == sorted(f"{name}.{due.date()}.1" for name in FIVE)


def test_a_tick_gives_back_what_it_claimed(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The same of one pass, whose claims wait for their slot: counted as handed back, and offered again at once."""
    tasks = [Task(name, "* * * * *", world.command(gated=True)) for name in FIVE]
    scheduler = world.scheduler(*tasks)
    scheduler.tick()
    world.at(1)
    first = Ticking(scheduler, max_processes=1)
    until(world.effects)
    scheduler.stop()
    until(lambda: [row.token for row in world.runs()].count(2) == 4, "four are given back while the first still runs")
    assert "Stopping when 1 running attempt(s) have ended" in caplog.text
    world.open_gate("one.2027-05-20.1")
    assert numbers(first.end()) == (1, 0, 4)
    for name in FIVE:
        world.open_gate(f"{name}.2027-05-20.1")
    assert numbers(world.scheduler(*tasks).tick()) == (4, 0, 0)
    assert len(world.effects()) == 5
