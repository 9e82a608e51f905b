"""Put rows and tell of each once it is kept: `python -m tests.faults.pypepper.store.teller SETTINGS NUMBER`."""

from __future__ import annotations

import itertools
import json
import sys

from tests.contract.pypepper.store_kit import opened, record


def main() -> None:
    """Go on until killed."""
    store = opened("sqlite", json.loads(sys.argv[1]))
    for turn in itertools.count():
        job = f"{sys.argv[2]}-{turn}"
        assert store.put(record(job))
        print(job, flush=True)


if __name__ == "__main__":
    main()
