"""Load: the table into a SQLite database, all of it or nothing, again and again with the same result.

    python3 load.py work/2027-05-20/changes.csv clocks.db

The first attempt at a run pretends that somebody else has the database locked. Such things pass by themselves, which is
what retries are for: the second attempt succeeds.
"""

import csv
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

TABLE = """
CREATE TABLE IF NOT EXISTS changes (
    run_date TEXT, zone TEXT, instant TEXT, wall TEXT, shift_minutes INTEGER, kind TEXT,
    PRIMARY KEY (run_date, zone, instant)
)
"""
BUSY = 75  # EX_TEMPFAIL: try again later


def main() -> None:
    source, database = Path(sys.argv[1]), sys.argv[2]
    run_date, attempt = os.environ["PYSCHED_RUN_DATE"], os.environ["PYSCHED_ATTEMPT"]
    if attempt == "1":
        print(f"{database} is locked by another program (this example pretends so)", file=sys.stderr)
        sys.exit(BUSY)
    with source.open(newline="") as handle:
        rows = [(run_date, *row.values()) for row in csv.DictReader(handle)]
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(TABLE)
        connection.execute("DELETE FROM changes WHERE run_date = ?", (run_date,))
        connection.executemany("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?)", rows)
    print(f"{len(rows)} rows in {database}")


main()
