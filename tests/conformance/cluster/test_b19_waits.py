"""B19: an outcome waits for a lock in bounds, and is never written past it (claims.md B19).

On SQLite too: the lock is `store.lock` there, which is held around each write; here it is held by the test.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyscheduler.cluster import TaskFailed
from tests.conformance.cluster.kit import Ticking, World, numbers, until
from tests.conformance.cluster.places import connect


@contextmanager
def held(world: World) -> Iterator[None]:
    """Hold the row of every run, or the lock of the whole file."""
    if world.store is None:
        with world.file_locked():
            yield
        return
    with connect(world.store) as connection:
        connection.execute("SET idle_in_transaction_session_timeout = 0")
        connection.execute("SELECT run_id FROM runs FOR UPDATE")
        yield


def test_the_outcome_appears_when_the_lock_is_gone(world: World) -> None:
    """The wait is over after its bound, the failure is told, nothing is written; the next pass writes it."""
    scheduler = world.scheduler(world.minutely(gated=True), outcome_bound_s=1.0, timing=PATIENT)
    scheduler.tick()
    world.at(1)
    first = Ticking(scheduler)
    until(world.effects)
    until(lambda: world.states() == ["running"])
    with held(world):
        world.open_gate("job.2027-05-20.1")
        until(lambda: world.effects("end"))
        until(lambda: world.host().state_dir.joinpath("journal").exists())
        until(lambda: any(path.stat().st_size for path in world.host().state_dir.joinpath("journal").iterdir()))
        if world.store is not None:
            assert numbers(first.end()) == (1, 0, 0)
            assert isinstance(first.error, TaskFailed)
            assert "could not be stored" in str(first.error)
            with connect(world.store) as other:
                assert other.execute("SELECT state FROM runs").fetchall() == [("running",)]
    first.end()
    assert numbers(scheduler.tick()) == (0, 0, 0)
    until(lambda: world.states() == ["succeeded"], "it is stored once the lock is gone")
    assert len(world.effects()) == 1


PATIENT = {"lease": 60, "observe": 30, "heartbeat": 5}
