"""What the scheduler says of itself."""

from __future__ import annotations

from typing import Any

import pytest

from pyscheduler import __version__
from pyscheduler.cli.checks.finding import Level
from pyscheduler.cli.checks.service import service, told_by
from pyscheduler.cli.faults import Refused, Unreachable
from tests.unit.cli.prompt import FakeScheduler, a_scheduler


def levels(told: dict[str, Any]) -> dict[str, Level]:
    return {finding.about: finding.level for finding in told_by(told)}


def test_all_is_well() -> None:
    """It runs, and nothing around it ends its jobs."""
    assert set(levels(a_scheduler(version=__version__)).values()) == {Level.OK}


@pytest.mark.parametrize(
    ("fields", "about"),
    [
        ({"version": "0.0.1"}, "release"),
        ({"engine": {"last_trouble": "the disk is full", "failures": 2, "phase": "running"}}, "engine"),
        ({"config": {"jobs": 1, "version": 1, "reload_failure": {"at": "x"}}}, "reload"),
        ({"remarks": ["KillMode=control-group kills every running job; set KillMode=process"]}, "surroundings"),
    ],
)
def test_what_leaves_something_to_chance_is_a_warning(fields: dict[str, Any], about: str) -> None:
    """Each with a way to mend it."""
    found = [
        finding for finding in told_by(a_scheduler(**{"version": __version__, **fields})) if finding.about == about
    ]
    assert [finding.level for finding in found] == [Level.WARN]
    assert all(finding.mend for finding in found)


def test_a_scheduler_that_does_not_run_is_no_fault() -> None:
    """Then the surroundings of this very command are judged."""
    stopped = FakeScheduler({"GET /api/scheduler": Unreachable("no scheduler is running", nobody=True)})
    first, *rest = service(stopped, 8)
    assert (first.level, first.what) == (Level.OK, "no scheduler is running")
    assert {finding.about for finding in rest} == {"surroundings"}


def test_a_scheduler_that_has_failed_is_bad() -> None:
    """Its own words."""
    failed = FakeScheduler({"GET /api/scheduler": Refused("scheduler failed; see the scheduler log", status=503)})
    (finding,) = service(failed, 8)
    assert finding.level is Level.BAD


@pytest.mark.parametrize(
    "error",
    [
        Unreachable("no scheduler is running (its socket is left over)", mend="serve", nobody=True, left_behind=True),
        Unreachable("this user may not talk to the scheduler", mend="sudo"),
    ],
)
def test_one_that_went_without_a_word_or_cannot_be_asked_is_to_be_looked_at(error: Unreachable) -> None:
    """Neither is as it should be."""
    first, *rest = service(FakeScheduler({"GET /api/scheduler": error}), 8)
    assert first.level is Level.WARN
    assert first.mend.startswith(error.mend)
    assert bool(rest) is error.nobody
