"""Missed firings that wait for a word."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.cli.prompt import Prompt

HELD: dict[str, Any] = {
    "held": True,
    "since": "2027-05-18T00:00:00Z",
    "until": "2027-05-20T12:00:00Z",
    "jobs": [
        {
            "job": "load",
            "run": [
                {"scheduled_at": "2027-05-19T01:00:00Z", "run_date": "2027-05-19"},
                {"scheduled_at": "2027-05-20T01:00:00Z", "run_date": "2027-05-20"},
            ],
            "dropped": 1,
        },
        {"job": "tidy", "run": [], "dropped": 12},
    ],
}


@pytest.fixture
def held(pysched: Prompt) -> Prompt:
    pysched.scheduler.replies = {"GET /api/catch-up": HELD, "POST /api/catch-up": {**HELD, "held": False}}
    return pysched


@pytest.mark.parametrize("given", [[], ["--dry-run"]])
def test_looking_is_the_default(held: Prompt, given: list[str]) -> None:
    """What accepting would run and drop, job by job; nothing is decided."""
    assert held("catch-up", *given).out.splitlines() == [
        "held: firings from 2027-05-18 02:00:00+02:00 to 2027-05-20 14:00:00+02:00",
        "JOB   RUNS  DROPPED  RUN DATES",
        "load     2        1  2027-05-19, 2027-05-20",
        "tidy     0       12  -",
        "--accept starts 2 runs and drops 13 firings; --skip drops them all",
    ]
    assert [route for route, _ in held.scheduler.asked] == ["GET /api/catch-up"]


@pytest.mark.parametrize(("option", "decision"), [("--accept", "accept"), ("--skip", "skip")])
def test_a_decision_is_sent_with_its_reason(held: Prompt, option: str, decision: str) -> None:
    """And what was decided stands first."""
    said = held("catch-up", option, "--reason", "all ran")
    assert said.out.startswith(decision)
    assert held.scheduler.asked == [("POST /api/catch-up", {"decision": decision, "reason": "all ran"})]


def test_two_decisions_are_none(held: Prompt) -> None:
    """Exit code 2, and nothing is sent."""
    assert held("catch-up", "--accept", "--skip").code == 2
    assert held.scheduler.asked == []


def test_nothing_is_held(held: Prompt) -> None:
    """The usual case, in words."""
    held.scheduler.replies["GET /api/catch-up"] = {"held": False, "since": None, "until": None, "jobs": []}
    assert held("catch-up").out == "nothing is held: the store is as new as its state directory\n"
    assert held("catch-up", "--json").json["held"] is False
