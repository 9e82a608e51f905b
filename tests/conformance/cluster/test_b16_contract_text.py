"""B16: what a status means is said once, and it is what the scheduler does (claims.md B16). On SQLite too."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from pyscheduler.cluster import status

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "docs" / "reference" / "cluster.md", ROOT / "docs" / "reference" / "cli.md"]


def test_an_abandoned_claim_is_said_to_be_handed_out_again() -> None:
    """The seed's enum said the opposite of what its scheduler did."""
    text = " ".join(inspect.getsource(status.TaskStatus).split())
    assert "A claim that was abandoned is handed out again" in text
    assert "never" not in text.partition("DONE")[0]


def test_the_pages_send_readers_to_the_promises() -> None:
    """They promise nothing of their own."""
    for page in PAGES:
        assert re.search(r"claims\.md|cluster\.md", page.read_text()), page
