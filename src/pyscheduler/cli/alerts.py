"""`alerts` and `replay`: what people were told of, whether they were, and another try. Spec: jobs.md 14.1, 15.3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import islice
from typing import Any, Final

import click

from pyscheduler.cli import faults
from pyscheduler.cli.asking import View, check_job, pages_of
from pyscheduler.cli.client import segment
from pyscheduler.cli.complete import job_names
from pyscheduler.cli.faults import CommandError, WrongUsage
from pyscheduler.cli.moments import MOMENT, start_of
from pyscheduler.cli.options import json_option, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.table import table
from pyscheduler.cli.times import json_instant, parse_instant
from pyscheduler.model.alert import AlertKind

HEADERS: Final = ("RAISED", "KIND", "CRIT", "JOB", "RUN", "STATUS", "MESSAGE")
DEAD_HEADERS: Final = ("ALERT", "NOTIFIER", "ATTEMPTS", "UPDATED", "ERROR")
WORST_FIRST: Final = ("dead", "pending", "sent")
MOST: Final = 100_000
MOST_DEAD: Final = 1000
KINDS: Final = tuple(kind.value for kind in AlertKind)
TEST_S: Final = 60.0
_DO: Final = "pysched alerts [list | dead | replay ALERT | test NOTIFIER]"


@verb(
    "alerts",
    "pysched alerts",
    "pysched alerts --kind failed --since yesterday",
    "pysched alerts --dead",
    "pysched alerts test ops",
)
@click.argument("words", nargs=-1, metavar="[test NOTIFIER]")
@click.option("--kind", type=click.Choice(KINDS), metavar="KIND", help="Alerts of this kind, such as failed or lost.")
@click.option("--job", metavar="JOB", shell_complete=job_names, help="Alerts about this job and its runs.")
@click.option("--since", type=MOMENT, metavar="WHEN", help="Raised at this date or time, or later.")
@click.option("--dead", is_flag=True, help="Deliveries that were given up, the oldest first, and why.")
@click.option("--limit", type=click.IntRange(1, MOST), default=50, show_default=True, help="How many at most.")
@json_option
@pass_session
def alerts(
    session: Session,
    words: tuple[str, ...],
    kind: str | None,
    job: str | None,
    since: date | None,
    dead: bool,
    limit: int,
    as_json: bool,
) -> int:
    """List alerts, the newest first, and whether people were told.

    STATUS is that of the worst delivery: dead (given up; `pysched replay` tries again), pending, sent, or none where
    no route leads anywhere. `pysched alerts test NOTIFIER` sends a message that says it is a test.
    """
    match list(words):
        case ["test", notifier]:
            return _test(session, notifier, as_json=as_json)
        case ["replay", alert]:
            return _replay(session, alert, None, as_json=as_json)
        case ["dead"]:
            dead = True
        case [] | ["list"]:
            pass
        case _:
            raise WrongUsage(f"`{' '.join(words)}` is nothing that can be done with alerts", mend=_DO)
    if dead:
        return _dead(session, limit, as_json=as_json)
    return _list(session, limit, as_json=as_json, kind=kind, job=job, since=since)


@verb("replay", "pysched replay load.2027-05-20.1:failed:1", "pysched replay load.2027-05-20.1:failed:1 --notifier ops")
@click.argument("alert", metavar="ALERT")
@click.option("--notifier", metavar="NAME", help="This notifier's delivery only.")
@json_option
@pass_session
def replay(session: Session, alert: str, notifier: str | None, as_json: bool) -> int:
    """Try dead deliveries of an alert again.

    They get a fresh budget of tries. What was sent is never sent again by this.
    """
    return _replay(session, alert, notifier, as_json=as_json)


def _list(session: Session, limit: int, *, as_json: bool, **asked: Any) -> int:
    client = session.looking()
    since = asked.pop("since")
    asked["since"] = None if since is None else json_instant(start_of(session.settle(since), session.place.timezone))
    found = list(islice(pages_of(client, "alerts", limit + 1, **asked), limit + 1))
    if not found and asked["job"] is not None:
        check_job(session, client, asked["job"])
    if as_json:
        session.print_json({"alerts": found[:limit], "more": len(found) > limit})
        return faults.OK
    if found:
        session.say_all(_table(session, found[:limit]))
    else:
        session.say("no alerts")
    if len(found) > limit:
        session.note(f"there are more than {limit}: --limit shows more of them")
    return faults.OK


def _table(session: Session, found: Sequence[View]) -> Iterator[str]:
    times = session.place.times
    rows = [
        [
            times.full(parse_instant(alert["raised_at"])),
            alert["kind"],
            alert["criticality"],
            alert["job"] or "",
            alert["run_id"] or "",
            worst_of(alert["deliveries"]),
            alert["message"],
        ]
        for alert in found
    ]
    return table(HEADERS, rows, session.terminal)


def worst_of(deliveries: Sequence[View]) -> str:
    """Return the status that deserves attention most."""
    found = {delivery["status"] for delivery in deliveries}
    return next((status for status in WORST_FIRST if status in found), "none")


def _dead(session: Session, limit: int, *, as_json: bool) -> int:
    found = session.looking().get("/api/alerts/dead", limit=min(limit, MOST_DEAD))["deliveries"]
    if as_json:
        session.print_json({"deliveries": found})
    elif found:
        times = session.place.times
        rows = [
            [
                each["alert"]["alert_id"],
                each["notifier"],
                str(each["attempts"]),
                times.full(parse_instant(each["updated_at"])),
                each["last_error"] or "",
            ]
            for each in found
        ]
        session.say_all(table(DEAD_HEADERS, rows, session.terminal, right=("ATTEMPTS",)))
    else:
        session.say("no delivery is dead")
    return faults.OK


def _replay(session: Session, alert: str, notifier: str | None, *, as_json: bool) -> int:
    body = {"notifier": notifier} if notifier is not None else {}
    again = session.client().post(f"/api/alerts/{segment(alert)}/replay", body)["deliveries"]
    if as_json:
        session.print_json({"deliveries": again})
    else:
        session.say_all(f"{alert} {each['notifier']}: {each['status']}" for each in again)
    return faults.OK


def _test(session: Session, notifier: str, *, as_json: bool) -> int:
    answer = session.client(TEST_S).post(f"/api/alerts/test/{segment(notifier)}")
    if as_json:
        session.print_json(answer)
    elif answer["sent"]:
        session.say(f"{notifier}: sent")
    else:
        raise CommandError(f"{notifier} did not take the test: {answer['error']}")
    return faults.OK if answer["sent"] else faults.FAILED
