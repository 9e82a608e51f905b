"""Run the tests: those that may share the machine side by side, then those that measure or kill alone."""

from __future__ import annotations

import os
import subprocess
import sys

SIDE_BY_SIDE = ["-n", str(max(2, os.cpu_count() or 2)), "--dist", "worksteal", "-m", "not slow and not alone"]
ALONE = ["-m", "alone and not slow"]


def main() -> int:
    """Return the worst exit code of the two runs."""
    more = sys.argv[1:]
    codes = [subprocess.call([sys.executable, "-m", "pytest", *chosen, *more]) for chosen in (SIDE_BY_SIDE, ALONE)]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
