"""`pysched` alone says what to do next, by what is there. DESIGN 11."""

from __future__ import annotations

from pyscheduler.cli.faults import Refused, Unreachable
from tests.unit.cli.prompt import Prompt, a_scheduler

ROUTE = "GET /api/scheduler"


def test_without_a_configuration(pysched: Prompt) -> None:
    """Look at the demo, or write one."""
    pysched.config.unlink()
    said = pysched()
    assert said.code == 0
    assert "pysched demo" in said.out
    assert "pysched init" in said.out


def test_with_a_configuration_and_no_scheduler(pysched: Prompt) -> None:
    """Serve it."""
    pysched.scheduler.replies[ROUTE] = Unreachable("no scheduler is running")
    said = pysched()
    assert said.out.startswith(f"{pysched.config} is there; no scheduler is running.\n")
    assert "pysched serve" in said.out


def test_with_a_running_scheduler(pysched: Prompt) -> None:
    """Look at the board."""
    pysched.scheduler.replies[ROUTE] = a_scheduler()
    said = pysched()
    assert said.out.startswith(f"night runs 3 jobs of {pysched.config}; next firing 2027-05-21 03:00:00+02:00.\n")
    assert "pysched status" in said.out


def test_with_a_scheduler_in_trouble(pysched: Prompt) -> None:
    """Its own words first."""
    pysched.scheduler.replies[ROUTE] = Refused("scheduler failed; see the scheduler log", status=503)
    said = pysched()
    assert said.out.startswith("error: scheduler failed")
    assert "pysched doctor" in said.out


def test_with_a_configuration_that_cannot_be_read(pysched: Prompt) -> None:
    """The problem, and what says more."""
    pysched.config.write_text("scheduler: {timezone: Nowhere/Town}")
    said = pysched()
    assert "Nowhere/Town" in said.out
    assert "pysched validate" in said.out
