"""`audit`: who did what, from where and why, and the proof that nobody has been at the log. Needs the role admin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import islice
from typing import Any, Final

import click

from pyscheduler.cli import faults
from pyscheduler.cli.asking import View, pages_of
from pyscheduler.cli.faults import WrongUsage, counted
from pyscheduler.cli.moments import MOMENT, moment_after, start_of
from pyscheduler.cli.options import json_option, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.table import Cell, Row, table
from pyscheduler.cli.text import on_one_line
from pyscheduler.cli.times import json_instant, parse_instant

HEADERS: Final = ("ID", "AT", "WHO", "FROM", "WHAT", "ABOUT", "RESULT", "REASON")
MOST: Final = 100_000
PROOF_S: Final = 600.0
"""How long a proof may take: some 50 microseconds a row."""
HEAD: Final = re.compile(r"[0-9]{1,18}:[0-9a-f]{64}")
_NARROWING: Final = ("actor", "action", "subject", "since", "until", "text")


@verb(
    "audit",
    "pysched audit list",
    "pysched audit list --by ann --since yesterday",
    "pysched audit list --about load.2027-05-20.1",
    "pysched audit verify",
    "pysched audit verify --head 4711:5e88…   # as noted last month",
)
@click.argument("what", type=click.Choice(["list", "verify"]), default="list", metavar="[list|verify]")
@click.option("--by", "actor", metavar="WHO", help="What this user or token did.")
@click.option("--action", metavar="WHAT", help="Actions of this name, such as kill or sign_in.")
@click.option("--about", "subject", metavar="WHOM", help="What was done to this run, job or user.")
@click.option("--since", type=MOMENT, metavar="WHEN", help="Asked for at this date or time, or later.")
@click.option("--until", type=MOMENT, metavar="WHEN", help="Asked for before this time, or on this date at the latest.")
@click.option("--text", metavar="TEXT", help="With this in who, what, about, result, reason or address.")
@click.option("--limit", type=click.IntRange(1, MOST), help="How many at most. Default: 50.")
@click.option("--head", metavar="ID:HASH", help="With verify: a row noted elsewhere, which the log must have.")
@json_option
@pass_session
def audit(
    session: Session, /, what: str, limit: int | None, head: str | None, as_json: bool, **asked: Any
) -> int | None:
    """Show who did what, or prove that the log is whole.

    Every action through the API has a row, what was refused as well, and so have sign-ins. `list` shows them, the
    newest first; every option narrows the list.

    `verify` walks along all rows: each carries a hash of itself and of the row before. It finds a row that was changed,
    taken out, put in or moved, and an end that was cut off; the exit code then is 1. Rows that were pruned by their age
    are no fault. Who can write the store's file could write the whole chain anew: note the head that `verify` prints
    somewhere else now and then, and give it back with --head. While no scheduler runs, its store is asked.
    """
    if what == "verify":
        if limit is not None or any(asked[name] is not None for name in _NARROWING):
            raise WrongUsage("`audit verify` proves the whole log", mend="only --head goes with it")
        return _verify(session, head, as_json=as_json)
    if head is not None:
        raise WrongUsage("--head goes with `audit verify`")
    _list(session, limit or 50, as_json=as_json, **asked)
    return None


def _list(session: Session, limit: int, *, as_json: bool, **asked: Any) -> None:
    query = _query(session, **asked)
    found = list(islice(pages_of(session.looking(), "audit", limit + 1, **query), limit + 1))
    more = len(found) > limit
    if as_json:
        session.print_json({"audit": found[:limit], "more": more})
        return
    if found:
        session.say_all(_table(session, found[:limit]))
    else:
        session.say("no rows match")
    if more:
        session.note(f"there are more than {limit}: --limit shows more of them")


def _query(
    session: Session, *, since: date | None, until: date | None, text: str | None, **equal: str | None
) -> Mapping[str, object]:
    zone = session.place.timezone
    return {
        **equal,
        "q": text,
        "since": None if since is None else json_instant(start_of(session.settle(since), zone)),
        "until": None if until is None else json_instant(moment_after(session.settle(until), zone)),
    }


def _table(session: Session, found: Sequence[View]) -> Iterator[str]:
    times = session.place.times
    today = times.local(session.now()).date()
    narrow = session.terminal.is_narrow
    rows: list[Row] = []
    for line in found:
        at = parse_instant(line["at"])
        shown = times.on(today, at, short=True) if narrow else times.full(at)
        result = Cell(line["result"], None if line["result"] == "done" else "yellow")
        whence = [] if narrow else [" ".join(filter(None, (line["via"], line["address"])))]
        number = [] if narrow else [str(line["id"])]
        rest = [line["action"], on_one_line(line["subject"]), result, on_one_line(line["reason"])]
        rows.append([*number, shown, line["actor"], *whence, *rest])
    headers = [header for header in HEADERS if not (narrow and header in ("ID", "FROM"))]
    return table(headers, rows, session.terminal)


def _verify(session: Session, head: str | None, *, as_json: bool) -> int:
    if head is not None and not HEAD.fullmatch(head):
        raise WrongUsage("--head is the number of a row and its hash", mend="write it as `audit verify` prints it")
    found = session.looking(PROOF_S).get("/api/audit/verify", head=head)
    if as_json:
        session.print_json(found)
    elif found["ok"]:
        pruned = f" after {counted(found['anchor']['id'], 'row')} that were pruned" if found["anchor"]["id"] else ""
        session.say(f"ok: {counted(found['rows'], 'row')}{pruned}, each follows from the one before")
        session.say(f"head: {found['head']['id']}:{found['head']['hash']}")
    else:
        session.say(f"broken: row {found['broken']['id']} {found['broken']['what']}")
        session.say(f"the {counted(found['rows'], 'row')} before it hold")
    return faults.OK if found["ok"] else faults.FAILED
