"""Clean up: takes the rows of a run date out of the database again. Runs only where loading them has failed.

python3 clean_up.py clocks.db 2027-05-20
"""

import sqlite3
import sys
from contextlib import closing


def main() -> None:
    database, run_date = sys.argv[1:]
    with closing(sqlite3.connect(database)) as connection, connection:
        gone = connection.execute("DELETE FROM changes WHERE run_date = ?", (run_date,)).rowcount
    print(f"{gone} rows removed")


main()
