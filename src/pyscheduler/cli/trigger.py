"""`trigger` and `backfill`: new runs by hand. Spec: jobs.md 11, 14.1."""

from __future__ import annotations

from datetime import date

import click

from pyscheduler.cli.act import result_line
from pyscheduler.cli.client import segment
from pyscheduler.cli.complete import job_argument
from pyscheduler.cli.moments import DATE
from pyscheduler.cli.options import json_option, reason_option, verb
from pyscheduler.cli.session import Session, pass_session


@verb("trigger", "pysched trigger load", 'pysched trigger load --run-date 2027-05-20 --reason "asked for by sales"')
@job_argument()
@click.option("--run-date", "--date", "run_date", type=DATE, metavar="DATE", help="Default: the job's own for today.")
@reason_option
@json_option
@pass_session
def trigger(session: Session, job: str, run_date: date | None, reason: str | None, as_json: bool) -> None:
    """Start a run of a job now.

    Makes a new run, due at once, beside whatever runs the job has for that date. It still waits for the job's
    dependencies, overlap, pools and slots. Any run date will do: past, future, or a day off.
    """
    body = {"run_date": None if run_date is None else session.settle(run_date).isoformat(), "reason": reason}
    answer = session.client().post(f"/api/jobs/{segment(job)}/trigger", body)
    if as_json:
        session.print_json({"run": answer["run"], "remark": answer.get("remark", "")})
    else:
        session.say(result_line(answer["run"]))
        if answer.get("remark"):
            session.note(f"remark: {answer['remark']}")


@verb("backfill", "pysched backfill load --from 2027-05-01 --to 2027-05-19")
@job_argument()
@click.option("--from", "start", type=DATE, required=True, metavar="DATE", help="The first run date.")
@click.option("--to", "end", type=DATE, required=True, metavar="DATE", help="The last run date.")
@reason_option
@json_option
@pass_session
def backfill(session: Session, job: str, start: date, end: date, reason: str | None, as_json: bool) -> None:
    """Create the runs that a range of dates has not got.

    One run for each working day of the range that has none at all, due at the first firing of that day. Dates on which
    the job never fires are passed over, and so is a firing still to come: that one comes by itself. The range spans 366
    days at most. Whether they run at once or one after another is the job's `overlap`.
    """
    body = {"from": session.settle(start).isoformat(), "to": session.settle(end).isoformat(), "reason": reason}
    runs = session.client().post(f"/api/jobs/{segment(job)}/backfill", body)["runs"]
    if as_json:
        session.print_json({"runs": runs})
    elif runs:
        session.say_all(map(result_line, runs))
    else:
        session.say("no runs: each date has one already, or the job does not fire on it")
