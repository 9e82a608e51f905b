"""Pausing and resuming a job, or everything, and never both by mistake."""

from __future__ import annotations

import pytest

from tests.unit.cli.prompt import Prompt


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_a_job_or_everything(pysched: Prompt, verb: str) -> None:
    """A route of its own each."""
    pysched.scheduler.replies = {
        f"POST /api/jobs/load/{verb}": {"job": {}},
        f"POST /api/scheduler/{verb}": {"pauses": []},
    }
    assert pysched(verb, "load").out == f"load: {verb}d\n"
    assert pysched(verb, "--all", "--reason", "upgrade").out == f"the scheduler: {verb}d\n"
    assert [body for _, body in pysched.scheduler.asked] == [{}, {"reason": "upgrade"}]


@pytest.mark.parametrize("verb", ["pause", "resume"])
@pytest.mark.parametrize("given", [[], ["load", "--all"]])
def test_neither_and_both_are_wrong_usage(pysched: Prompt, verb: str, given: list[str]) -> None:
    """Forgetting the job must not stop everything."""
    assert pysched(verb, *given).code == 2
    assert pysched.scheduler.asked == []


def test_a_resume_may_catch_up(pysched: Prompt) -> None:
    """Only when asked to."""
    pysched.scheduler.replies["POST /api/jobs/load/resume"] = {"job": {"name": "load"}}
    assert pysched("resume", "load", "--catch-up", "--json").json == {"job": {"name": "load"}}
    assert pysched.scheduler.asked == [("POST /api/jobs/load/resume", {"catch_up": True})]
