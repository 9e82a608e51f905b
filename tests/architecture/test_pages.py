"""The manual's pages that stand for code are held to it."""

from __future__ import annotations

import re
from pathlib import Path

from pyscheduler import errors
from scripts.states import page

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_states_is_drawn_from_the_table() -> None:
    """`python scripts/states.py > docs/reference/states.md` after a change of the table."""
    assert (ROOT / "docs/reference/states.md").read_text() == page()


def test_every_error_has_its_paragraph() -> None:
    """One heading a code, none without a class, none empty."""
    text = (ROOT / "docs/reference/errors.md").read_text()
    paragraphs = dict(re.findall(r"^## `([a-z-]+)`\n\n(.+?)(?=\n## |\Z)", text, re.MULTILINE | re.DOTALL))
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.PyschedError)]
    assert set(paragraphs) == {kind.code for kind in kinds} - {"error"}
    assert all(len(paragraph.split()) > 15 for paragraph in paragraphs.values())
