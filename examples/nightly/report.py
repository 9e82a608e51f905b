"""Report: what the night has found, in a page for people.

python3 report.py clocks.db 2027-05-20 reports/2027-05-20.md
"""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import tzdata

TOTALS = "SELECT count(*), count(DISTINCT zone) FROM changes WHERE run_date = ?"
KINDS = "SELECT kind, shift_minutes, count(*) FROM changes WHERE run_date = ? GROUP BY 1, 2 ORDER BY 3 DESC"
NEXT = """
SELECT substr(zone, 1, instr(zone, '/') - 1) AS region, min(instant), count(DISTINCT zone)
FROM changes WHERE run_date = ? AND instant > run_date AND zone LIKE '%/%' GROUP BY region ORDER BY 2
"""
ODD = """
SELECT zone, wall, shift_minutes FROM changes
WHERE run_date = ? AND abs(shift_minutes) <> 60 ORDER BY instant DESC LIMIT 5
"""


def lines(connection: sqlite3.Connection, run_date: str) -> list[str]:
    def rows(query: str) -> list[tuple[object, ...]]:
        return connection.execute(query, (run_date,)).fetchall()

    ((count, zones),) = rows(TOTALS)
    return [
        f"# Clock changes around {run_date}",
        "",
        f"{count} changes of {zones} zones within five years, by the zone data of {tzdata.IANA_VERSION}.",
        "",
        "| change | minutes | how often |",
        "|---|---|---|",
        *(f"| {kind} | {minutes} | {number} |" for kind, minutes, number in rows(KINDS)),
        "",
        "## What comes next",
        "",
        *(f"- {region}: {instant}, {number} zones that change" for region, instant, number in rows(NEXT)),
        "",
        "## Not by an hour",
        "",
        *(f"- {zone} at {wall}: {minutes} minutes" for zone, wall, minutes in rows(ODD)),
    ]


def main() -> None:
    database, run_date, target = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    with closing(sqlite3.connect(database)) as connection:
        text = "\n".join(lines(connection, run_date)) + "\n"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    print(f"{target} is written")


main()
