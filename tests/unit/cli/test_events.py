"""The logbook as a list."""

from __future__ import annotations

from pyscheduler.cli.terminal import Terminal
from tests.unit.cli.prompt import Prompt

LINES = [
    {
        "at": "2027-05-20T01:00:02Z",
        "actor": "scheduler",
        "action": "firings_dropped",
        "run_id": None,
        "job": "load",
        "detail": {"count": 3, "first": "2027-05-20T00:57:00Z", "why": "paused"},
    },
    {
        "at": "2027-05-19T01:00:00Z",
        "actor": "ann",
        "action": "hold",
        "run_id": "load.2027-05-19.1",
        "job": "load",
        "detail": {"reason": "disk"},
    },
]


def test_what_concerns_no_run_is_shown_too(pysched: Prompt) -> None:
    """Dropped firings are nobody's run; times are the scheduler's own, in the detail as well."""
    pysched.scheduler.replies = {"GET /api/events": {"events": LINES, "next_cursor": None}}
    said = pysched("events", "--job", "load", "--action", "firings_dropped", "--by", "ann", "--since", "yesterday")
    dropped = "count 3, first 2027-05-20 02:57:00+02:00, why paused"
    assert said.out.splitlines() == [
        "AT                         WHO        WHAT             ABOUT              DETAIL",
        f"2027-05-20 03:00:02+02:00  scheduler  firings_dropped  load               {dropped}",
        "2027-05-19 03:00:00+02:00  ann        hold             load.2027-05-19.1  reason disk",
    ]
    _, asked = pysched.scheduler.asked[0]
    assert asked == {
        "job": "load",
        "action": "firings_dropped",
        "actor": "ann",
        "since": "2027-05-18T22:00:00Z",
        "limit": 51,
    }


def test_a_narrow_terminal_and_a_limit(pysched: Prompt) -> None:
    """No line is longer than it is wide; that there is more is said."""
    pysched.scheduler.replies = {"GET /api/events": {"events": LINES, "next_cursor": None}}
    said = pysched("events", "--limit", "1", terminal=Terminal(width=80))
    assert said.out.splitlines()[1].startswith("03:00:02+02  scheduler  firings_dropped  load   count 3")
    assert all(len(line) <= 80 for line in said.out.splitlines())
    assert said.err == "there are more than 1: --limit shows more of them\n"
    assert pysched("events", "--limit", "1", "--json").json == {"events": LINES[:1], "more": True}


def test_no_line_and_no_such_job(pysched: Prompt) -> None:
    """The second is an error: a misspelt name must not look like peace."""
    pysched.scheduler.replies = {
        "GET /api/events": {"events": [], "next_cursor": None},
        "GET /api/jobs": {"jobs": [{"name": "load"}]},
        "GET /api/runs": {"runs": [], "next_cursor": None},
    }
    assert pysched("events").out == "no lines match\n"
    said = pysched("events", "--job", "loda")
    assert (said.code, said.err) == (1, "error: there is no job loda\n  mend: did you mean load?\n")
