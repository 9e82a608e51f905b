"""What is old leaves the store by itself: `tick` and `work` keep no run for ever (jobs.md 8.3). On SQLite too."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyscheduler.cluster import Schedule
from pyscheduler.cluster.configured import scheduler_of
from pyscheduler.config import load_config
from tests.conformance.cluster.command import NEVER, Typed
from tests.conformance.cluster.kit import World, numbers, until


def test_an_ended_run_goes_and_is_not_made_again(world: World) -> None:
    """A second after its end, at the first pass of another hour; the schedule goes on."""
    now = datetime(2020, 2, 3, 0, 0, 30, tzinfo=UTC)
    hourly = Schedule(world.minutely()).retention(1).only_last_missed()
    scheduler = world.scheduler(schedule=hourly, now=lambda: now, timing={})
    scheduler.tick()
    now += timedelta(minutes=1)
    assert numbers(scheduler.tick()) == (1, 0, 0)
    (first,) = [run.run_id for run in world.runs()]

    def an_hour_later() -> bool:
        nonlocal now
        now += timedelta(hours=1, minutes=1)
        assert numbers(scheduler.tick()) == (1, 0, 0)
        return first not in {run.run_id for run in world.runs()}

    until(an_hour_later, "the first run is gone")
    made = world.effects()
    assert len(made) == len(set(made))


def test_the_configuration_says_how_long(world: World) -> None:
    """`scheduler.retention` holds for them as for serve; what they leave to serve is said."""
    typed = Typed(world)
    typed.write({"job": f'{{command: "true", schedule: "{NEVER}"}}'}, "\n  retention: 400d\n  log_retention: 30d")
    config = load_config(typed.file, env={"TEST_STORE": world.store or ""})
    assert scheduler_of(config, {})._schedule.retention_s == 400 * 86_400
    code, _, err = typed.run("tick")
    assert (code, "scheduler.log_retention: the output of jobs is removed by `pysched serve` alone" in err) == (0, True)
