"""The store: whole, of this directory's age, and not ahead of the clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from pyscheduler.cli.checks.finding import Finding, bad, ok, warn
from pyscheduler.cli.checks.folders import strangers
from pyscheduler.cli.times import Times
from pyscheduler.errors import StoreError
from pyscheduler.lengths import length
from pyscheduler.store import Peek

TOLERATED: Final = timedelta(seconds=5)


def memory(state_dir: Path, times: Times, now: datetime, url: str | None = None) -> Iterator[Finding]:
    """Yield what there is to say about the store and what it remembers."""
    try:
        store = Peek.open(state_dir, url=url)
        if store is None:
            yield ok("store", "none yet: the first start makes it")
            yield strangers(state_dir, None)
            return
        with store:
            store.check()
            values = store.engine_values()
            yield ok("store", "every page of it is whole" if url is None else f"on {store.where}; its tables are ours")
            yield from _values(values, times, now)
            yield strangers(state_dir, store)
    except StoreError as error:
        yield bad("store", f"{error.where}: {error.what}" if error.where else error.what, error.mend)


def _values(values: Mapping[str, str], times: Times, now: datetime) -> Iterator[Finding]:
    if values.get("store_is_older") or values.get("catch_up_held"):
        what = "an older store was put back: what it takes for missed is held"
        yield warn("catch-up", what, "pysched catch-up --dry-run, then --accept or --skip")
    if "last_tick" in values:
        yield clock(datetime.fromisoformat(values["last_tick"]), times, now)


def clock(last_tick: datetime, times: Times, now: datetime) -> Finding:
    """Judge the clock by the last instant the scheduler has seen on it."""
    if now < last_tick - TOLERATED:
        behind = length((last_tick - now).total_seconds())
        what = f"the clock shows {times.full(now)}, {behind} before what the scheduler has already seen"
        return bad("clock", what, "set it: an instant that comes again has its run already, and gets no other")
    ago = length(max(0.0, (now - last_tick).total_seconds()))
    return ok("clock", f"{times.full(now)}; the scheduler last looked at it {ago} ago")
