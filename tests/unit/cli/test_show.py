"""One run, whole."""

from __future__ import annotations

from typing import Any

import pytest

from pyscheduler.cli.terminal import Terminal
from tests.unit.cli.prompt import Prompt, a_run

ATTEMPT: dict[str, Any] = {
    "attempt": 1,
    "started_at": "2027-05-20T01:00:00Z",
    "ended_at": "2027-05-20T01:00:00.4Z",
    "duration_seconds": 0.4,
    "outcome": "failed",
    "exit_code": 3,
    "signal": None,
    "reason": "exit 3",
    "note": "",
}
EVENTS = [
    {"at": "2027-05-20T01:00:00Z", "actor": "scheduler", "action": "created", "detail": {"trigger": "schedule"}},
    {"at": "2027-05-20T01:00:01Z", "actor": "ann", "action": "hold", "detail": {"before": None, "reason": "disk"}},
    {
        "at": "2027-05-20T01:00:02Z",
        "actor": "scheduler",
        "action": "retry_scheduled",
        "detail": {"attempt": 1, "at": "2027-05-20T01:01:00Z"},
    },
]


@pytest.fixture
def shown(pysched: Prompt) -> Prompt:
    second = {**ATTEMPT, "attempt": 2, "outcome": "killed", "exit_code": None, "signal": 9, "reason": "killed by ann"}
    third = {**ATTEMPT, "attempt": 3, "ended_at": None, "duration_seconds": None, "outcome": None, "exit_code": None,
             "reason": "", "note": "minder gone"}  # fmt: skip
    pysched.scheduler.replies = {
        "GET /api/runs/load.2027-05-20.1": {
            "run": a_run(state="running", attempt=3, reason="", reruns=1, queued_at="2027-05-20T00:59:59Z"),
            "attempts": [ATTEMPT, second, third],
            "events": EVENTS,
            "next_events_cursor": None,
        },
        "GET /api/runs": {"runs": [a_run()], "next_cursor": None},
    }
    return pysched


def test_fields_attempts_logbook(shown: Prompt) -> None:
    """Three parts, times in the scheduler's zone throughout."""
    assert shown("show", "load.2027-05-20.1").out.splitlines() == [
        "run            load.2027-05-20.1",
        "state          ▶ running",
        "run date       2027-05-20",
        "due            2027-05-20 03:00:00+02:00",
        "trigger        schedule",
        "queued         2027-05-20 02:59:59+02:00",
        "attempts       3",
        "reruns         1",
        "configuration  version 1",
        "created        2027-05-20 03:00:00+02:00",
        "changed        2027-05-20 03:03:05+02:00",
        "",
        "TRY  STARTED                    ENDED                         TOOK  OUTCOME      EXIT  REASON",
        "  1  2027-05-20 03:00:00+02:00  2027-05-20 03:00:00+02:00     0.4s  failed          3  exit 3",
        "  2  2027-05-20 03:00:00+02:00  2027-05-20 03:00:00+02:00     0.4s  killed   signal 9  killed by ann",
        "  3  2027-05-20 03:00:00+02:00  -                          11h00m+  running         -  minder gone",
        "",
        "AT                         WHO        WHAT             DETAIL",
        "2027-05-20 03:00:00+02:00  scheduler  created          trigger schedule",
        "2027-05-20 03:00:01+02:00  ann        hold             reason disk",
        "2027-05-20 03:00:02+02:00  scheduler  retry_scheduled  attempt 1, at 2027-05-20 03:01:00+02:00",
    ]


def test_at_eighty_columns_the_reason_is_still_there(shown: Prompt) -> None:
    """The end of an attempt and the date of the day give way to it."""
    lines = shown("show", "load.2027-05-20.1", terminal=Terminal(width=80)).out.splitlines()
    assert lines[12:15] == [
        "TRY  STARTED         TOOK  OUTCOME      EXIT  REASON",
        "  1  03:00:00+02     0.4s  failed          3  exit 3",
        "  2  03:00:00+02     0.4s  killed   signal 9  killed by ann",
    ]
    assert lines[-1] == "03:00:02+02  scheduler  retry_scheduled  attempt 1, at 2027-05-20 03:01:00+02:00"
    assert all(len(line) <= 80 for line in lines)


def test_a_jobs_name_means_its_newest_run(shown: Prompt) -> None:
    """Only for commands that look."""
    assert shown("show", "load").out.startswith("run            load.2027-05-20.1")
    assert shown.scheduler.asked[0] == ("GET /api/runs", {"job": "load", "limit": 1})


def test_a_name_that_means_nothing(shown: Prompt) -> None:
    """Exit code 1, and where to look."""
    shown.scheduler.replies["GET /api/runs"] = {"runs": [], "next_cursor": None}
    shown.scheduler.replies["GET /api/jobs"] = {"jobs": [{"name": "load"}]}
    said = shown("show", "loadd")
    assert said.code == 1
    assert said.err == "error: there is no run or job loadd\n  mend: did you mean load?\n"
    assert "load has not run yet" in shown("show", "load").err


def test_the_answer_for_programs_is_the_apis(shown: Prompt) -> None:
    """Nothing is lost."""
    assert shown("show", "load.2027-05-20.1", "--json").json["events"] == EVENTS


def test_a_long_logbook_says_that_it_goes_on(shown: Prompt) -> None:
    """What is not shown is said."""
    shown.scheduler.replies["GET /api/runs/load.2027-05-20.1"]["next_events_cursor"] = "c"
    assert "more lines" in shown("show", "load.2027-05-20.1").err
