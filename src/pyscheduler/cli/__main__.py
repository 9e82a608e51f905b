"""`python -m pyscheduler.cli` is `pysched`, for where the command itself is not on the PATH."""

import sys

from pyscheduler.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
