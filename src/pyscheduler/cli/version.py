"""`version`: which release, on which Python, SQLite and zone data (firings move when that changes)."""

from __future__ import annotations

import platform

from pyscheduler import __version__
from pyscheduler.cli.options import json_option, only_here, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.table import pairs


@only_here
@verb("version", "pysched version", "pysched version --json")
@json_option
@pass_session
def version(session: Session, as_json: bool) -> None:
    """Show the release, and those of what it stands on.

    Name these in a bug report. The zone data decides when jobs fire over a clock change; the SQLite library is the one
    the store uses, which need not be the one Python brings.
    """
    import tzdata  # type: ignore[import-untyped]

    from pyscheduler.store.driver import sqlite

    driver = sqlite()
    found = {
        "pysched": __version__,
        "python": platform.python_version(),
        "sqlite": driver.sqlite_version,
        "sqlite_driver": driver.__name__.partition(".")[0],
        "tzdata": tzdata.IANA_VERSION,
        "platform": platform.platform(),
    }
    if as_json:
        session.print_json(found)
    else:
        session.say_all(pairs(((name.replace("_", " "), value) for name, value in found.items()), session.terminal))
