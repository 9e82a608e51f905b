"""Transform: one table of all regions' changes, with what each one did to the clock on the wall.

    python3 transform.py work/2027-05-20

Reads the CSV files in the folder and writes `changes.csv` beside them.
"""

import csv
import sys
from datetime import datetime, timedelta
from pathlib import Path

SOURCES = ("america", "asia", "europe", "others")


def transformed(row: dict[str, str]) -> dict[str, str]:
    instant, before, after = datetime.fromisoformat(row["instant"]), int(row["before"]), int(row["after"])
    return {
        "zone": row["zone"],
        "instant": row["instant"],
        "wall": (instant + timedelta(seconds=before)).replace(tzinfo=None).isoformat(" ", "minutes"),
        "shift_minutes": str((after - before) // 60),
        "kind": "gap" if after > before else "fold",
    }


def main() -> None:
    folder = Path(sys.argv[1])
    rows: list[dict[str, str]] = []
    for source in SOURCES:
        with (folder / f"{source}.csv").open(newline="") as handle:
            rows += map(transformed, csv.DictReader(handle))
    rows.sort(key=lambda row: (row["instant"], row["zone"]))
    part = folder / "changes.part"
    with part.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    part.replace(folder / "changes.csv")
    print(f"{len(rows)} changes of {len({row['zone'] for row in rows})} zones")


main()
