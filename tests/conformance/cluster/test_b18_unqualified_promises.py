"""B18: nobody is promised an execution that happens exactly once (claims.md B18). On SQLite too: texts are read."""

from __future__ import annotations

import re
from pathlib import Path

import pyscheduler.cluster

ROOT = Path(__file__).parents[3]
READ = [
    *Path(pyscheduler.cluster.__file__).parent.glob("*.py"),
    ROOT / "docs" / "reference" / "cluster.md",
    ROOT / "docs" / "reference" / "cli.md",
    ROOT / "src" / "pyscheduler" / "cli" / "tick.py",
    ROOT / "src" / "pyscheduler" / "cli" / "standing.py",
    ROOT / "changes" / "tick-and-work.added.md",
]


def test_the_words_stand_beside_claims_alone() -> None:
    """Claims are exactly-once; executions are what docs/concepts/claims.md says, in its words."""
    for path in READ:
        if path.exists():
            for line in path.read_text().splitlines():
                if re.search(r"exactly[- ]once", line, re.IGNORECASE):
                    assert re.search(r"claim|grant", line, re.IGNORECASE), f"{path}: {line}"
