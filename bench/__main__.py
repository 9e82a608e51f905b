"""Ask every question of bench/ in turn, each in a process of its own; JSON lines out. `python -m bench [NAME…]`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ALL = [
    "runs_per_second",
    "attempts",
    "thousand_due",
    "idle",
    "start_up",
    "load_config",
    "list_pages",
    "next_firing",
    "store_writes",
    "postgres_runs",
    "pepper_stores",
    "api_pages",
    "board",
    "first_view",
    "graph_frames",
    "streams",
    "command_line",
    "pepper",
    "cluster",
]


def main() -> int:
    """Return how many questions could not be asked."""
    names = sys.argv[1:] or ALL
    root = Path(__file__).resolve().parents[1]
    return sum(bool(subprocess.call([sys.executable, "-m", f"bench.{name}"], cwd=root)) for name in names)


if __name__ == "__main__":
    sys.exit(main())
