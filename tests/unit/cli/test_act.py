"""Verbs on runs: one request a run, an answer line each, a refusal that stops nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from pyscheduler.cli.faults import Refused
from tests.unit.cli.prompt import Prompt, a_run

RUN = "load.2027-05-20.1"
VERBS = ["hold", "release", "kill", "force-start", "skip", "mark-success", "mark-failed", "cancel"]


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_is_one_post_to_its_own_route(pysched: Prompt, verb: str) -> None:
    """With the reason for the logbook, and nothing that was not given."""
    route = f"POST /api/runs/{RUN}/{verb}"
    pysched.scheduler.replies[route] = {"run": a_run(RUN, state="held", reason="held by ann")}
    said = pysched(verb, RUN)
    assert (said.code, said.out) == (0, f"{RUN}: held (held by ann)\n")
    pysched(verb, RUN, "--reason", "disk")
    assert pysched.scheduler.asked == [(route, {}), (route, {"reason": "disk"})]


def test_a_killed_run_is_still_running_and_told_so(pysched: Prompt) -> None:
    """The answer comes when the order is written down, not when the processes have ended."""
    pysched.scheduler.replies[f"POST /api/runs/{RUN}/kill"] = {"run": a_run(RUN, state="running")}
    assert pysched("kill", RUN).out == f"{RUN}: running, told to end\n"


def test_a_rerun_names_every_run_it_reopened(pysched: Prompt) -> None:
    """`--downstream` reopens what depends on it too."""
    reopened = [a_run(RUN, state="queued"), a_run("report.2027-05-20.1", state="waiting", reason="waiting for load")]
    pysched.scheduler.replies[f"POST /api/runs/{RUN}/rerun"] = {"runs": reopened}
    said = pysched("rerun", RUN, "--downstream")
    assert said.out == f"{RUN}: queued\nreport.2027-05-20.1: waiting (waiting for load)\n"
    assert pysched.scheduler.asked == [(f"POST /api/runs/{RUN}/rerun", {"downstream": True})]


def test_one_refusal_stops_no_other_run(pysched: Prompt) -> None:
    """It is told on stderr, the others are done, and the exit code is 1."""
    other = "report.2027-05-20.1"
    pysched.scheduler.replies = {
        f"POST /api/runs/{RUN}/hold": Refused(f"{RUN} is running", mend="kill it first", status=409),
        f"POST /api/runs/{other}/hold": {"run": a_run(other, state="held")},
    }
    said = pysched("hold", RUN, other)
    assert said.code == 1
    assert said.out == f"{other}: held\n"
    assert said.err == f"error: {RUN} is running\n  mend: kill it first\n"


def test_the_answer_for_programs_has_what_was_done_and_what_was_refused(pysched: Prompt) -> None:
    """One document, the runs as the API has them."""
    pysched.scheduler.replies = {
        f"POST /api/runs/{RUN}/skip": {"run": a_run(RUN, state="skipped")},
        "POST /api/runs/gone.2027-05-20.1/skip": Refused("there is no run", status=404),
    }
    said = pysched("skip", RUN, "gone.2027-05-20.1", "--json")
    assert said.code == 1
    assert [run["run_id"] for run in said.json["runs"]] == [RUN]
    assert said.json["refused"] == [{"run_id": "gone.2027-05-20.1", "error": "there is no run", "mend": ""}]


def test_a_scheduler_out_of_action_is_asked_once(pysched: Prompt) -> None:
    """The second run would hear the same."""
    pysched.scheduler.replies[f"POST /api/runs/{RUN}/hold"] = Refused("scheduler is stopping", status=503)
    said = pysched("hold", RUN, "report.2027-05-20.1")
    assert said.code == 1
    assert len(pysched.scheduler.asked) == 1


def test_a_run_id_is_one_segment_of_the_path(pysched: Prompt) -> None:
    """Whatever is typed, it cannot reach another route."""
    pysched.scheduler.replies["POST /api/runs/..%2Freload/hold"] = Refused("there is no run", status=404)
    assert pysched("hold", "../reload").code == 1


def test_a_verb_without_a_run_is_wrong_usage(pysched: Prompt) -> None:
    """Exit code 2, with the way to its help."""
    said = pysched("hold")
    assert said.code == 2
    assert said.err == "error: Missing argument 'RUN...'.\n  mend: `pysched hold --help` explains it\n"


def test_a_job_where_a_run_is_wanted_names_its_open_runs(pysched: Prompt) -> None:
    """And the runs of a date where only the number is missing; the others are still done."""

    def runs(query: dict[str, Any]) -> dict[str, Any]:
        known = {"load": [a_run("load.2027-05-20.1", state="waiting")]}.get(query["job"], [])
        return {"runs": [run for run in known if query.get("run_date") in (None, run["run_date"])]}

    pysched.scheduler.replies = {
        "GET /api/jobs": {"jobs": [{"name": "load"}, {"name": "extract"}]},
        "GET /api/runs": runs,
        "POST /api/runs/load.2027-05-20.1/hold": {"run": a_run("load.2027-05-20.1", state="held")},
    }
    said = pysched("hold", "load", "load.2027-05-20", "extract", "Loda", "load.2027-05-20.1")
    assert (said.code, said.out) == (1, "load.2027-05-20.1: held\n")
    assert said.err.splitlines() == [
        "error: load is a job, and this is done to runs",
        "  mend: its open runs: load.2027-05-20.1 (waiting)",
        "error: load.2027-05-20 is no run: its number is missing",
        "  mend: one of load.2027-05-20.1 (waiting)",
        "error: extract is a job, and this is done to runs",
        "  mend: it has no open run; `pysched runs --job extract`",
        "error: there is no run or job Loda",
        "  mend: did you mean load?",
    ]
