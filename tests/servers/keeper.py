"""Keep one server for a test run: `python -m tests.servers.keeper KIND MEETING`. See `sharing.py`."""

from __future__ import annotations

import fcntl
import signal
import sys
from pathlib import Path

from tests.servers.kinds import discard, fresh
from tests.servers.sharing import locked, tell


def main() -> int:
    """Start, tell, wait until no user is left, stop."""
    kind, meeting = sys.argv[1], Path(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a ^C in the terminal ends the users, and that ends us
    server = fresh(kind)
    try:
        tell(server.place, meeting)
        with locked(meeting / f"{kind}.users", fcntl.LOCK_EX):
            (meeting / f"{kind}.place").unlink(missing_ok=True)
            discard(server)
    finally:
        discard(server)
    return 0


if __name__ == "__main__":
    sys.exit(main())
