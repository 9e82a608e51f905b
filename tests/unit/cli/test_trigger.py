"""New runs by hand."""

from __future__ import annotations

from pyscheduler.cli.faults import Refused
from tests.unit.cli.prompt import Prompt, a_run, waiting

TRIGGER = "POST /api/jobs/load/trigger"
BACKFILL = "POST /api/jobs/load/backfill"


def test_a_trigger_says_what_became_of_the_run(pysched: Prompt) -> None:
    """`RUN_ID: STATE`, with why where it waits."""
    pysched.scheduler.replies[TRIGGER] = {"run": waiting("load.2027-05-20.2", "waiting for extract (2027-05-20)")}
    said = pysched("trigger", "load")
    assert said.out == "load.2027-05-20.2: waiting (waiting for extract (2027-05-20))\n"
    assert pysched.scheduler.asked == [(TRIGGER, {})]


def test_a_run_date_may_be_given_by_either_name(pysched: Prompt) -> None:
    """Spec: jobs.md 14.1."""
    pysched.scheduler.replies[TRIGGER] = {"run": a_run()}
    pysched("trigger", "load", "--run-date", "2027-05-20", "--reason", "late")
    pysched("trigger", "load", "--date", "2027-05-21")
    given = [body for _, body in pysched.scheduler.asked]
    assert given == [{"run_date": "2027-05-20", "reason": "late"}, {"run_date": "2027-05-21"}]


def test_a_date_that_is_none_never_reaches_the_scheduler(pysched: Prompt) -> None:
    """Exit code 2 and an example of how dates are written."""
    for text in ("20.5.2027", "2027-02-30", "20270520", "the day after"):
        said = pysched("trigger", "load", "--run-date", text)
        assert said.code == 2
        assert text in said.err
    assert pysched.scheduler.asked == []


def test_an_unknown_job_is_refused_with_the_schedulers_words(pysched: Prompt) -> None:
    """Exit code 1."""
    pysched.scheduler.replies["POST /api/jobs/loadd/trigger"] = Refused(
        "there is no job loadd", mend="`pysched status`"
    )
    said = pysched("trigger", "loadd")
    assert (said.code, said.err) == (1, "error: there is no job loadd\n  mend: `pysched status`\n")


def test_a_backfill_lists_its_runs(pysched: Prompt) -> None:
    """One line a run; both ends are needed."""
    pysched.scheduler.replies[BACKFILL] = {"runs": [a_run("load.2027-05-18.1", state="running", reason="")]}
    said = pysched("backfill", "load", "--from", "2027-05-18", "--to", "2027-05-19")
    assert said.out == "load.2027-05-18.1: running\n"
    assert pysched.scheduler.asked == [(BACKFILL, {"from": "2027-05-18", "to": "2027-05-19"})]
    assert pysched("backfill", "load", "--from", "2027-05-18").code == 2


def test_a_backfill_with_nothing_to_do_says_so(pysched: Prompt) -> None:
    """For people in words, for programs an empty list."""
    pysched.scheduler.replies[BACKFILL] = {"runs": []}
    given = ("backfill", "load", "--from", "2027-05-18", "--to", "2027-05-18")
    assert pysched(*given).out.startswith("no runs")
    assert pysched(*given, "--json").json == {"runs": []}
