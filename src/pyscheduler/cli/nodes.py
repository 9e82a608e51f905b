"""`nodes`, `drain` and `fence`: the schedulers that share one store. DESIGN 6, `docs/concepts/claims.md`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import click

from pyscheduler.cli.client import segment
from pyscheduler.cli.faults import FAILED, OK, WrongUsage
from pyscheduler.cli.options import json_option, reason_option, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.table import Cell, Row, table
from pyscheduler.lengths import length

_COLOURS: Final = {"alive": "green", "draining": "yellow", "stopping": "yellow", "silent": "red", "fenced": "magenta"}
_NUMBERS: Final = ("RUNS", "ROOM", "HEARD", "LEASE", "PID")
_HEADERS: Final = ("NODE", "STATE", "LEADS", "RUNS", "ROOM", "HEARD", "LEASE", "PID", "ADDRESS", "TAGS", "WHY")


@verb("nodes", "pysched nodes", "pysched nodes --json")
@json_option
@pass_session
def nodes(session: Session, as_json: bool) -> None:
    """List the schedulers that share this store.

    Who leads (the authority), who lives, what each runs, when it was last heard of, and how long its lease still holds.
    Any of them answers, whether it leads or not.
    """
    answer = session.client().get("/api/nodes")
    if as_json:
        session.print_json(answer)
        return
    session.say_all(table(_HEADERS, list(_rows(answer)), session.terminal, right=_NUMBERS))
    leader = answer["authority"]
    if leader["lease_s"] is None:
        session.say("nobody leads at this moment: no run is created until one of them takes over")
    else:
        session.say(f"{leader['node']} leads, epoch {leader['epoch']}")


def _rows(answer: Mapping[str, Any]) -> Iterator[Row]:
    for each in answer["nodes"]:
        is_over = each["state"] in ("fenced", "left")
        lease = "" if is_over else length(each["lease_s"])
        yield [
            each["node"],
            Cell(each["state"], _COLOURS.get(each["state"]), dim=is_over),
            "leads" if each["is_authority"] else "",
            str(each["running"] + each["claimed"]),
            str(each["capacity"]),
            f"{length(each['heard_s_ago'])} ago",
            lease,
            "" if each["pid"] is None else str(each["pid"]),
            each["address"] or "",
            ", ".join(each["tags"]),
            each["reason"] if each["state"] == "fenced" else "",
        ]


@verb("drain", "pysched drain batch2", "pysched drain batch2 --undo")
@click.argument("node")
@click.option("--undo", is_flag=True, help="Let it claim again.")
@reason_option
@json_option
@pass_session
def drain(session: Session, node: str, undo: bool, reason: str | None, as_json: bool) -> None:
    """Let a node claim nothing more; what it runs goes on.

    For a machine that is to be taken out of service: once `pysched nodes` shows that it runs nothing, stop it. The node
    hears of it with its next heartbeat. A new start of it begins without the drain.
    """
    answer = session.client().post(f"/api/nodes/{segment(node)}/drain", {"undo": undo or None, "reason": reason})
    if as_json:
        session.print_json(answer)
    else:
        session.say(f"{node}: {'claims again' if undo else 'claims nothing more'}")


@verb("fence", 'pysched fence batch2 --reason "its power supply burnt"')
@click.argument("node")
@click.option("--confirm", help="The node's name once more, instead of being asked for it.")
@reason_option
@json_option
@pass_session
def fence(session: Session, node: str, confirm: str | None, reason: str | None, as_json: bool) -> int:
    """Take everything away from a node that is gone for good.

    What it has claimed is offered to the others; its started attempts count as lost, and the jobs' retry rules decide.
    If it is not gone after all, an attempt of its may run beside its own retry: see `docs/concepts/claims.md`. A node
    whose process can be proved dead is given up without this. Needs the role admin, a reason, and the name once more.
    """
    if not reason or not reason.strip():
        raise WrongUsage("fence needs a reason", mend='pysched fence NODE --reason "why"')
    typed = (
        confirm
        if confirm is not None
        else click.prompt(f"type the name of the node again ({node})", default="", show_default=False)
    )
    if typed != node:
        raise WrongUsage("that is not its name: nothing was done", mend="pysched nodes lists them")
    body = {"confirm": typed, "reason": reason}
    answer = session.client().post(f"/api/nodes/{segment(node)}/fence", body)
    if as_json:
        session.print_json(answer)
    else:
        session.say_all(_fenced(node, each) for each in answer["fenced"])
    return OK if all(each["done"] for each in answer["fenced"]) else FAILED


def _fenced(node: str, each: Mapping[str, Any]) -> str:
    if not each["done"]:
        return f"{node} ({each['incarnation'][:8]}): not fenced: {each['why']}"
    what = f"{len(each['revoked'])} started run(s) lost, {len(each['offered_again'])} claim(s) offered again"
    return f"{node} ({each['incarnation'][:8]}): fenced; {what}"
