"""`log` from the command line: what is asked for, and how it comes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pyscheduler.cli.faults import Refused
from pyscheduler.cli.terminal import Terminal
from tests.unit.cli.prompt import Prompt, a_run

ROUTE = "/api/runs/load.2027-05-20.1/log"
DATA = b"first\nsecond\xff\n"


@pytest.fixture
def logged(pysched: Prompt) -> Prompt:
    def raw(query: Mapping[str, Any]) -> tuple[bytes, Mapping[str, str]]:
        return DATA[query["offset"] : query["offset"] + query["limit"]], {"x-log-size": str(len(DATA))}

    pysched.scheduler.replies = {
        f"RAW {ROUTE}": raw,
        "GET /api/runs": {"runs": [a_run()], "next_cursor": None},
        f"GET {ROUTE}": {"attempt": 1, "lines": ["second"], "truncated": True, "size": len(DATA)},
    }
    return pysched


def test_the_whole_log_unless_told_otherwise(logged: Prompt) -> None:
    """On a terminal what is no UTF-8 is replaced."""
    assert logged("log", "load.2027-05-20.1", terminal=Terminal(width=80)).out == "first\nsecond\ufffd\n"


def test_the_newest_run_of_a_job(logged: Prompt) -> None:
    """A job's name is enough to look."""
    assert logged("log", "load", terminal=Terminal(width=80)).out.startswith("first")


def test_stream_and_attempt_are_passed_on(logged: Prompt) -> None:
    """`--stderr` and `--attempt`."""
    logged("log", "load.2027-05-20.1", "--stderr", "--attempt", "2", terminal=Terminal(width=80))
    _, query = logged.scheduler.asked[0]
    assert (query["stream"], query["attempt"], query["raw"]) == ("stderr", 2, 1)


def test_the_latest_attempt_stays_the_same_while_it_is_printed(logged: Prompt) -> None:
    """Which one that is is asked once: a retry meanwhile mixes nothing."""
    logged("log", "load.2027-05-20.1", terminal=Terminal(width=80))
    asked = [query["attempt"] for route, query in logged.scheduler.asked if route.startswith("RAW")]
    assert asked == [1, 1]


def test_only_the_last_lines(logged: Prompt) -> None:
    """`--tail` counts lines from the end."""
    said = logged("log", "load.2027-05-20.1", "--tail", "1", terminal=Terminal(width=80))
    assert said.out == "second\ufffd\n"


def test_a_refusal_is_exit_code_1(logged: Prompt) -> None:
    """In the scheduler's words."""
    logged.scheduler.replies[f"GET {ROUTE}"] = Refused("it was never started", mend="`pysched why load`", status=404)
    said = logged("log", "load.2027-05-20.1")
    assert (said.code, said.err) == (1, "error: it was never started\n  mend: `pysched why load`\n")


def test_following_one_attempt_is_no_following(logged: Prompt) -> None:
    """Exit code 2."""
    assert logged("log", "-f", "load.2027-05-20.1", "--attempt", "1").code == 2
