"""Draw docs/reference/states.md from the table of states: `python scripts/states.py > docs/reference/states.md`."""

from __future__ import annotations

import re
from collections import defaultdict

from pyscheduler.model.run import RunState
from pyscheduler.rules.lifecycle import TABLE

HEAD = """# States

Drawn from the one table in `rules/lifecycle.py` (a test holds this page to it). What is not here cannot happen.

Open: `scheduled` `waiting` `blocked` `queued` `running` `retry_wait` `held`. Final: `succeeded` `failed` `skipped`
`cancelled`; only a hand, or the rerun of an upstream that alone had decided it, moves a final run.

| from | when | to |
|---|---|---|
"""


def words(name: str) -> str:
    """Return an event's name as words: BecameReady, became ready."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()


def page() -> str:
    """Return the whole page."""
    rows: dict[tuple[str, str], list[RunState]] = defaultdict(list)
    for (state, event), to in TABLE.items():
        rows[(event.__name__, to.value)].append(state)
    lines = [f"| {', '.join(states)} | {words(event)} | {to} |" for (event, to), states in rows.items()]
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
