"""One of several processes that write to one store: `python -m tests.contract.pypepper.rival KIND SETTINGS NUMBER`."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

from tests.contract.pypepper.store_kit import opened, record

ROUNDS = 25


def main() -> int:
    """Make ROUNDS updates of the shared row, reading it anew after each refusal, and as many rows of its own."""
    kind, settings, number = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
    store = opened(kind, settings)
    for turn in range(ROUNDS):
        assert store.put(record(f"{number}-{turn}"))
        while True:
            shared = store.get("shared")
            assert shared is not None
            mine = replace(shared, workflow_count=shared.workflow_count + 1, updated=f"{number}-{turn}")
            if store.put(mine):
                break
    store.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
