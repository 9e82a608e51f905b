"""Run the tests: those that may share the machine side by side, then those that measure or kill alone."""

from __future__ import annotations

import os
import subprocess
import sys

WORKERS = (os.cpu_count() or 2) + 1  # one more than cores: many tests wait for processes, timers and disks
SIDE_BY_SIDE = ["-n", str(WORKERS), "--dist", "worksteal", "-m", "not slow and not alone"]
ALONE = ["-m", "alone and not slow"]


def main() -> int:
    """Return the worst exit code of the two runs."""
    more = sys.argv[1:]
    codes = [subprocess.call([sys.executable, "-m", "pytest", *chosen, *more]) for chosen in (SIDE_BY_SIDE, ALONE)]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
