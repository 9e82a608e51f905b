"""The list of runs and its filters."""

from __future__ import annotations

from typing import Any

from pyscheduler.cli.terminal import Terminal
from tests.unit.cli.prompt import Prompt, a_run, waiting


def answers(*runs: Any) -> dict[str, Any]:
    return {"GET /api/runs": {"runs": list(runs), "next_cursor": None}}


def test_the_list_for_people(pysched: Prompt) -> None:
    """What created a run and when it was due, in the scheduler's zone."""
    pysched.scheduler.replies = answers(a_run(), waiting("report.2027-05-20.1", "waiting for load (2027-05-20)"))
    assert pysched("runs").out.splitlines() == [
        "RUN                  STATE        TRY  TRIGGER   DUE                        REASON",
        "load.2027-05-20.1    ✓ succeeded    1  schedule  2027-05-20 03:00:00+02:00  -",
        "report.2027-05-20.1  ◷ waiting      -  schedule  2027-05-20 03:00:00+02:00  waiting for load (2027-05-20)",
    ]


def test_a_narrow_list_keeps_the_reason(pysched: Prompt) -> None:
    """What created a run, today's date and the seconds give way."""
    late = waiting("report.2027-05-19.1", "waiting for load (2027-05-19): no run yet")
    pysched.scheduler.replies = answers(a_run(), {**late, "scheduled_at": "2027-05-19T01:00:00Z"})
    assert pysched("runs", terminal=Terminal(width=80)).out.splitlines() == [
        "RUN                  STATE        TRY  DUE                REASON",
        "load.2027-05-20.1    ✓ succeeded    1  03:00:00+02        -",
        "report.2027-05-19.1  ◷ waiting      -  05-19 03:00:00+02  waiting for load (202…",
    ]


def test_every_filter_is_passed_on(pysched: Prompt) -> None:
    """Dates mean whole days of the scheduler's zone; several states may be given."""
    pysched.scheduler.replies = answers(a_run())
    pysched(
        "runs", "--job", "load", "--tag", "etl", "--state", "failed", "--state", "held", "--trigger", "manual",
        "--date", "2027-05-20", "--since", "2027-05-01", "--until", "2027-05-19", "--text", "disk",
    )  # fmt: skip
    assert pysched.scheduler.asked == [
        (
            "GET /api/runs",
            {
                "limit": 51,
                "job": "load",
                "tag": "etl",
                "state": ["failed", "held"],
                "trigger": "manual",
                "run_date": "2027-05-20",
                "since": "2027-04-30T22:00:00Z",
                "until": "2027-05-19T22:00:00Z",
                "q": "disk",
            },
        )
    ]


def test_more_than_the_limit_is_said(pysched: Prompt) -> None:
    """On stderr for people, as `more` for programs."""
    pysched.scheduler.replies = answers(*(a_run(f"load.2027-05-20.{number}") for number in range(1, 4)))
    said = pysched("runs", "--limit", "2")
    assert len(said.out.splitlines()) == 3
    assert said.err == "there are more than 2: --limit shows more of them\n"
    found = pysched("runs", "--limit", "2", "--json").json
    assert (len(found["runs"]), found["more"]) == (2, True)
    assert pysched("runs", "--limit", "3", "--json").json["more"] is False


def test_no_run_matches(pysched: Prompt) -> None:
    """In words for people, an empty list for programs."""
    pysched.scheduler.replies = answers()
    assert pysched("runs").out == "no runs match\n"
    assert pysched("runs", "--json").json == {"runs": [], "more": False}


def test_a_job_that_there_is_not_is_no_empty_list(pysched: Prompt) -> None:
    """Exit code 1 and the name that was probably meant; one that merely has not run is an empty list."""
    pysched.scheduler.replies = answers() | {"GET /api/jobs": {"jobs": [{"name": "load"}]}}
    said = pysched("runs", "--job", "Loda")
    assert (said.code, said.out) == (1, "")
    assert said.err == "error: there is no job Loda\n  mend: did you mean load?\n"
    assert pysched("runs", "--job", "load").out == "no runs match\n"


def test_yesterday_is_a_date(pysched: Prompt) -> None:
    """Of the scheduler's zone."""
    pysched.scheduler.replies = answers()
    pysched("runs", "--date", "yesterday", "--since", "04:31")
    asked = pysched.scheduler.asked[0][1]
    assert (asked["run_date"], asked["since"]) == ("2027-05-19", "2027-05-20T02:31:00Z")


def test_a_state_that_is_none_is_wrong_usage(pysched: Prompt) -> None:
    """A misspelt filter must not mean everything."""
    said = pysched("runs", "--state", "done")
    assert said.code == 2
    assert "succeeded" in said.err
