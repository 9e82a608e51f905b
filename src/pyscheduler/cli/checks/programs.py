"""The programs and libraries it all stands on: Python, SQLite, zone data, and what must not be installed beside it."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, distribution, version
from typing import Final

from pyscheduler.cli.checks.finding import Finding, ok, warn

SQLITE_AFFECTED_SINCE: Final = (3, 7, 0)
OTHERS: Final = ("pypepper", "pynet")
"""Other people's distributions with import names that we have too (DESIGN 0)."""
OURS: Final = "pyscheduler"
"""Our own distribution, whose name on PyPI is somebody else's."""

Versions = Callable[[str], str | None]


def foreign(name: str) -> str | None:
    """Return the version of a distribution of our own name that does not bring `pysched`; None for ours or none."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return None
    is_ours = any(entry.name == "pysched" and entry.group == "console_scripts" for entry in found.entry_points)
    return None if is_ours else found.version


def installed(distribution: str) -> str | None:
    """Return the version of an installed distribution, None where it is not."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def programs(find: Versions = installed, find_foreign: Versions = foreign) -> Iterator[Finding]:
    """Yield what there is to say about programs and libraries."""
    from pyscheduler.store import driver
    from pyscheduler.timetable.zone import TZDATA_VERSION

    yield ok("python", f"{platform.python_version()} ({sys.executable})")
    sqlite = driver.sqlite()
    yield sqlite_finding(sqlite.sqlite_version_info, sqlite.__name__.partition(".")[0], driver.SAFE_SINCE)
    yield ok("zone data", f"tzdata {TZDATA_VERSION}; firings over clock changes follow it")
    yield _uvloop(find("uvloop"))
    yield from conflicts(find, find_foreign)


def sqlite_finding(number: tuple[int, int, int], driver_name: str, safe_since: tuple[int, int, int]) -> Finding:
    """Judge the version of the SQLite library that the store uses."""
    text = ".".join(map(str, number)) + f" through {driver_name}"
    if SQLITE_AFFECTED_SINCE <= number < safe_since:
        safe = ".".join(map(str, safe_since))
        what = (
            f"{text}: versions 3.7.0 to {safe} (excluded) can lose pages when two programs write or checkpoint at once"
        )
        mend = "let no other program write to the store (the scheduler itself never does), or install pysqlite3"
        return warn("sqlite", what, mend)
    return ok("sqlite", text)


def _uvloop(found: str | None) -> Finding:
    return ok("event loop", f"uvloop {found}" if found else "asyncio's own; uvloop, if installed, is used")


def conflicts(find: Versions, find_foreign: Versions = foreign) -> Iterator[Finding]:
    """Yield a finding for the foreign distributions that bring packages of our names."""
    asked = [(find_foreign, OURS), *((find, name) for name in OTHERS)]
    there = [f"{name} {found}" for look, name in asked if (found := look(name)) is not None]
    if there:
        what = f"{' and '.join(there)} from elsewhere: packages of the same import names overwrite each other"
        yield warn("packages", what, "keep them in another virtual environment")
    else:
        yield ok("packages", "no foreign pyscheduler, pypepper or pynet beside this one")
