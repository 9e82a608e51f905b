"""B17: what was started, refused and handed back is told apart (claims.md B17). On SQLite too.

B9 and B15 assert the same numbers where they belong; here is the one that both leave out, and the words for people.
"""

from __future__ import annotations

from pyscheduler.cluster import Schedule, Task
from tests.conformance.cluster.command import NEVER, Typed, soon
from tests.conformance.cluster.kit import World, until


def test_a_run_that_a_hook_refuses_is_none_of_the_three(world: World) -> None:
    """It is cancelled, and nobody runs it later."""
    schedule = Schedule(world.minutely(), before=lambda _context: False)
    scheduler = world.scheduler(schedule=schedule)
    scheduler.tick()
    world.at(1)
    ticked = scheduler.tick()
    assert (ticked.started, ticked.refused, ticked.handed_back, ticked.cancelled) == (0, 0, 0, 1)
    assert world.states() == ["cancelled"]
    assert world.scheduler(world.minutely()).tick().started == 0


def test_a_run_that_comes_too_early_is_skipped_and_counted_so(world: World) -> None:
    """An earlier pass's run still goes: written down as skipped, never queued."""
    a = world.hand({"id": "job", "trigger": "* * * * *", "command": world.command(gated=True)})
    a.ask("tick")
    world.at(1)
    a.do("tick")
    until(world.effects)
    world.at(2)
    ticked = world.scheduler(Task("job", "* * * * *", world.command())).tick()
    assert (ticked.started, ticked.skipped) == (0, 1)
    world.open_gate("job.2027-05-20.1")
    assert a.answer()["done"] == 1
    assert world.states() == ["succeeded", "skipped"]


def test_the_command_prints_the_numbers(world: World) -> None:
    """And exits with 1 where a run failed, with 0 where none did."""
    typed = Typed(world)
    write(typed, NEVER)
    assert typed.run("tick")[:2] == (0, "nothing is due\n")
    write(typed, soon(1)[0])
    said = until(lambda: passed(typed), "the second has come", 60) or (0, "", "")
    assert said[:2] == (1, "2 started, 1 done, 1 failed, 0 refused, 0 handed back\n")
    assert "task bad failed: exit 3" in said[2]
    assert typed.run("tick")[:2] == (0, "nothing is due\n")


def write(typed: Typed, cron: str) -> None:
    typed.write(
        {"good": f'{{command: "true", schedule: "{cron}"}}', "bad": f'{{command: "exit 3", schedule: "{cron}"}}'}
    )


def passed(typed: Typed) -> tuple[int, str, str] | None:
    said = typed.run("tick")
    return None if said[1] == "nothing is due\n" else said
