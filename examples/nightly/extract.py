"""Extract: the clock changes of one region's time zones, five years either side of the run date, as they stand in the
zone data of the installed `tzdata` package.

    python3 extract.py Europe work/2027-05-20/europe.csv

Writes `zone,instant,before,after`, offsets in seconds. The file gets its name when it is whole: whoever finds it finds
all of it, also after a crash in between.
"""

import csv
import os
import sys
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

REGIONS = ("America", "Asia", "Europe")
YEARS = timedelta(days=5 * 365)
STEP = timedelta(days=3)
"""No zone has changed its clocks twice within three days."""

zoneinfo.reset_tzpath(())  # the installed package, not whatever this host has in /usr/share


def zones_of(region: str) -> list[str]:
    names = sorted(zoneinfo.available_timezones())
    if region == "others":
        return [name for name in names if not name.startswith(tuple(f"{each}/" for each in REGIONS))]
    return [name for name in names if name.startswith(f"{region}/")]


def changes(name: str, since: datetime, until: datetime) -> Iterator[tuple[str, str, int, int]]:
    zone = zoneinfo.ZoneInfo(name)

    def offset(instant: datetime) -> int:
        return int(instant.astimezone(zone).utcoffset().total_seconds())  # type: ignore[union-attr]

    here = since
    while here < until:
        there = here + STEP
        before, after = offset(here), offset(there)
        if before != after:
            yield name, change_between(here, there, offset).isoformat(), before, after
        here = there


def change_between(early: datetime, late: datetime, offset) -> datetime:  # type: ignore[no-untyped-def]
    """Return the first second with the later offset."""
    wanted = offset(late)
    while late - early > timedelta(seconds=1):
        middle = early + (late - early) // 2
        early, late = (early, middle) if offset(middle) == wanted else (middle, late)
    return late.replace(microsecond=0)


def main() -> None:
    region, target = sys.argv[1], Path(sys.argv[2])
    run_date = date.fromisoformat(os.environ["PYSCHED_RUN_DATE"])
    day = datetime(run_date.year, run_date.month, run_date.day, tzinfo=UTC)
    zones = zones_of(region)
    rows = [row for name in zones for row in changes(name, day - YEARS, day + YEARS)]
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    with part.open("w", newline="") as handle:
        csv.writer(handle).writerows([("zone", "instant", "before", "after"), *rows])
    part.replace(target)
    print(f"{region}: {len(rows)} changes in {len(zones)} zones")


main()
