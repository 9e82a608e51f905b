"""One culprit, one sentence, one way out, down to the root."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.cli.prompt import Prompt, a_run, waiting

ROOT: dict[str, Any] = {
    "job": "extract",
    "run_date": "2027-05-20",
    "culprit": "ended",
    "text": "it ended at 2027-05-20 03:00:00+02:00, failed: exit 3",
    "release": "pysched rerun extract.2027-05-20.1",
    "run": a_run("extract.2027-05-20.1", state="failed"),
    "because": None,
}
ANSWER: dict[str, Any] = {
    "job": "load",
    "run_date": "2027-05-20",
    "culprit": "dependency",
    "text": "it waits for extract of 2027-05-20 to succeed, and extract.2027-05-20.1 is failed: exit 3",
    "release": "pysched rerun or mark-success extract.2027-05-20.1, or force-start this run",
    "run": waiting("load.2027-05-20.1", "blocked: extract (2027-05-20) failed", "retry_wait"),
    "because": ROOT,
}


@pytest.fixture
def asked(pysched: Prompt) -> Prompt:
    pysched.scheduler.replies["GET /api/why"] = {"why": ANSWER, "next_firing": "2027-05-21 03:00:00+02:00"}
    return pysched


def test_the_chain_is_followed_to_its_root(asked: Prompt) -> None:
    """The run asked about, what it waits for, and why that stands where it stands. The exit code is 0."""
    said = asked("why", "load")
    assert said.code == 0
    assert said.out.splitlines() == [
        "load.2027-05-20.1 is waiting for its next try",
        "  it waits for extract of 2027-05-20 to succeed, and extract.2027-05-20.1 is failed: exit 3",
        "  way out: pysched rerun or mark-success extract.2027-05-20.1, or force-start this run",
        "  extract.2027-05-20.1 is failed",
        "    it ended at 2027-05-20 03:00:00+02:00, failed: exit 3",
        "    way out: pysched rerun extract.2027-05-20.1",
        "next firing: 2027-05-21 03:00:00+02:00",
    ]


@pytest.mark.parametrize(
    ("given", "query"),
    [
        (["load"], {"job": "load"}),
        (["load", "2027-05-20"], {"job": "load", "run_date": "2027-05-20"}),
        (["load.2027-05-20.1"], {"run": "load.2027-05-20.1"}),
    ],
)
def test_a_job_a_date_or_a_run_may_be_asked_about(asked: Prompt, given: list[str], query: dict[str, str]) -> None:
    """A run's id is told from a job's name by its form."""
    asked("why", *given)
    assert asked.scheduler.asked == [("GET /api/why", query)]


def test_a_run_has_its_own_date(asked: Prompt) -> None:
    """Giving both is a mistake, exit code 2."""
    assert asked("why", "load.2027-05-20.1", "2027-05-21").code == 2


def test_a_date_without_a_run(asked: Prompt) -> None:
    """There is an answer for every job and date (P7)."""
    asked.scheduler.replies["GET /api/why"] = {"why": {**ANSWER, "run": None, "because": None}, "next_firing": None}
    assert asked("why", "load", "2027-05-20").out.splitlines()[0] == "load has no run of 2027-05-20"


def test_the_answer_for_programs_is_the_apis(asked: Prompt) -> None:
    """With the chain in it."""
    assert asked("why", "load", "--json").json["why"]["because"]["culprit"] == "ended"


def test_an_operators_words_move_no_cursor(asked: Prompt) -> None:
    """A reason in the text is shown as what it is."""
    asked.scheduler.replies["GET /api/why"]["why"] = {**ROOT, "text": "held by ann: \x1b[2Jgone"}
    assert "held by ann: \\x1b[2Jgone" in asked("why", "load").out
