"""B24: a command that exits with anything but a success code has failed (claims.md B24). On SQLite too."""

from __future__ import annotations

import sys

import pytest

from pyscheduler.cluster import Task, TaskFailed, TaskStatus
from tests.conformance.cluster.kit import World


def raises() -> None:
    raise ValueError("no")


def leaves() -> None:
    sys.exit(4)


def test_an_exit_code_is_no_result(world: World) -> None:
    """By a shell, by exec, by a callable that raises or leaves: failed, and the tick says so."""
    tasks = (
        Task("shell", "* * * * *", world.command("exit 3")),
        Task("direct", "* * * * *", ["/bin/false"]),
        Task("raises", "* * * * *", raises),
        Task("leaves", "* * * * *", leaves),
        Task("agreed", "* * * * *", "exit 3", success_codes=(0, 3)),
    )
    scheduler = world.scheduler(*tasks)
    scheduler.tick()
    world.at(1)
    with pytest.raises(TaskFailed) as failed:
        scheduler.tick()
    ticked = failed.value.ticked
    assert (ticked.started, ticked.done, ticked.failed) == (5, 1, 4)
    reasons = {failure.task: failure.reason for failure in ticked.failures}
    assert reasons == {"shell": "exit 3", "direct": "exit 1", "raises": "exit 1", "leaves": "exit 4"}
    assert {scheduler.status(task.id) for task in tasks[:4]} == {TaskStatus.FAILED}
    assert scheduler.status("agreed") is TaskStatus.DONE
