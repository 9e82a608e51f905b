"""The list of jobs: whether each is on, when it fires next, how its last run stands."""

from __future__ import annotations

from typing import Any

from pyscheduler.cli.faults import Unreachable
from pyscheduler.cli.terminal import Terminal
from tests.unit.cli.prompt import Prompt, a_run


def a_job(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "name": name,
        "enabled": True,
        "inactive": None,
        "paused": None,
        "schedules": ["0 3 * * *"],
        "depends_on": [],
        "next_firing": "2027-05-21T01:00:00Z",
        **fields,
    }


JOBS = [
    a_job("extract"),
    a_job("load", schedules=[], depends_on=["extract", "extract"], next_firing=None),
    a_job("off", enabled=False, next_firing=None),
    a_job("rest", paused={"by": "ann"}, next_firing="2027-05-20T20:00:00Z"),
]


def runs_of(query: dict[str, Any]) -> dict[str, Any]:
    """The newest runs hold none of `rest`: it is asked for by name."""
    found = [a_run("load.2027-05-20.2", state="failed"), a_run("load.2027-05-20.1"), a_run("extract.2027-05-20.1")]
    if "job" in query:
        found = [a_run("rest.2027-01-01.1")] if query["job"] == "rest" else []
    return {"runs": found, "next_cursor": None}


def test_the_list_for_people(pysched: Prompt) -> None:
    """A line a job; today's times without their date."""
    pysched.scheduler.replies = {"GET /api/jobs": {"jobs": JOBS}, "GET /api/runs": runs_of}
    assert pysched("jobs").out.splitlines() == [
        "JOB      STANDS    NEXT FIRING           LAST RUN     OF          SCHEDULE",
        "extract  on        05-21 03:00:00+02:00  ✓ succeeded  2027-05-20  0 3 * * *",
        "load     on        -                     ✗ failed     2027-05-20  after extract",
        "off      disabled  -                     -            -           0 3 * * *",
        "rest     paused    22:00:00+02:00        ✓ succeeded  2027-01-01  0 3 * * *",
    ]
    narrow = pysched("jobs", terminal=Terminal(width=80)).out.splitlines()
    assert all(len(line) <= 80 for line in narrow)
    assert narrow[1].endswith("0 3 * * *")


def test_the_list_for_programs(pysched: Prompt) -> None:
    """The scheduler's own words, with each job's last run."""
    pysched.scheduler.replies = {"GET /api/jobs": {"jobs": JOBS}, "GET /api/runs": runs_of}
    found = pysched("jobs", "--json").json["jobs"]
    assert [job["last_run"] and job["last_run"]["run_id"] for job in found] == [
        "extract.2027-05-20.1",
        "load.2027-05-20.2",
        None,
        "rest.2027-01-01.1",
    ]


def test_while_none_runs_the_file_has_the_jobs(pysched: Prompt) -> None:
    """Nothing fires then."""
    nobody = Unreachable("no scheduler is running", nobody=True)
    pysched.scheduler.replies = {"GET /api/jobs": nobody, "GET /api/runs": nobody}
    pysched.config.write_text(
        'jobs: {load: {command: "true", schedule: "0 3 * * *", tags: [db]}, b: {command: "true", schedule: manual}}'
    )
    lines = pysched("jobs").out.splitlines()
    assert [line.split()[0] for line in lines] == ["JOB", "b", "load"]
    assert pysched("jobs", "--tag", "db", "--json").json["jobs"][0]["next_firing"] is None
    assert pysched("jobs", "--text", "zzz").out == "no jobs match\n"
