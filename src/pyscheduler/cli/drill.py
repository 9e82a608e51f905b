"""`drill failover`: let another scheduler lead, for real, and say how long nobody did. DESIGN 6."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

import click

from pyscheduler.cli.client import Client, segment
from pyscheduler.cli.faults import FAILED, OK, CommandError, WrongUsage
from pyscheduler.cli.options import json_option, reason_option, verb
from pyscheduler.cli.session import Session, pass_session

LOOK_S: Final = 0.05
PATIENCE_S: Final = 60.0


@verb("drill", "pysched drill failover", "pysched drill failover --yes --json")
@click.argument("what", type=click.Choice(["failover"]))
@click.option("--yes", is_flag=True, help="Do not ask first.")
@reason_option
@json_option
@pass_session
def drill(session: Session, what: str, yes: bool, reason: str | None, as_json: bool) -> int:
    """Hand the lead over to another scheduler, and measure it.

    The scheduler that leads closes its engine as for a restart, and another one of the same store takes over. What runs
    goes on; firings that come due meanwhile are made up for as each job's catch_up says. The time that is told is that
    of a polite stop. After a crash the lease of the authority has to run out first (scheduler.cluster.authority_lease).
    """
    client = session.client()
    before = client.get("/api/nodes")["authority"]
    if before["lease_s"] is None:
        raise WrongUsage("nobody leads at this moment", mend="pysched nodes")
    if not yes and not click.confirm(f"let {before['node']} hand over now?", default=True):
        return FAILED
    client.post(f"/api/nodes/{segment(before['node'])}/hand-over", {"reason": reason or f"drill {what}"})
    began = time.monotonic()
    after = _until_another_leads(client, before["epoch"])
    took_s = time.monotonic() - began
    if after is None:
        session.note_all([f"nobody has taken over within {PATIENCE_S:.0f} s: pysched nodes"])
        return FAILED
    if as_json:
        session.print_json({"from": before["node"], "to": after["node"], "seconds": round(took_s, 3)})
    else:
        session.say(f"{after['node']} leads in place of {before['node']}, {took_s:.2f} s after it was asked")
    return OK


def _until_another_leads(client: Client, epoch: int) -> Mapping[str, Any] | None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            found: Mapping[str, Any] = client.get("/api/nodes")["authority"]
        except CommandError:
            found = {"epoch": epoch}
        if found["epoch"] > epoch:
            return found
        time.sleep(LOOK_S)
    return None
