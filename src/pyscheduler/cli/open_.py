"""`open`: lets a browser of the service's own user in, by a link that works once. DESIGN 1 (P8)."""

from __future__ import annotations

import click

from pyscheduler.cli import faults
from pyscheduler.cli.faults import CommandError, Refused
from pyscheduler.cli.options import json_option, only_at_home, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.times import parse_instant


@only_at_home
@verb("open", "pysched open", "pysched open --browser")
@click.option("--browser", is_flag=True, help="Open it in this machine's browser as well.")
@json_option
@pass_session
def open_(session: Session, browser: bool, as_json: bool) -> int:
    """Print a link that lets one browser in, once.

    For the scheduler's own user, who is known by the socket: the browser that follows the link is signed in as that
    user. It works for a short time and only on this machine; from another one, forward the port first (`ssh -L`).
    """
    try:
        answer = session.client().post("/api/links")
    except Refused as error:
        raise _explained(error) from error
    if as_json:
        session.print_json(answer)
    else:
        session.say(answer["url"])
        session.note(f"it works once, until {session.place.times.full(parse_instant(answer['expires_at']))}")
    if browser and not _opened(answer["url"]):
        session.note("no browser could be started here: follow the link yourself")
        return faults.FAILED
    return faults.OK


def _explained(error: Refused) -> CommandError:
    """Say what to do where pages cannot be reached."""
    if error.status == 404:
        mend = "set scheduler.listen in the configuration and start the scheduler anew"
        return CommandError("this scheduler has no pages to open", where=error.where, mend=mend)
    return error


def _opened(url: str) -> bool:
    import webbrowser

    return webbrowser.open(url)
