"""The manual's pages that stand for code are held to it."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyscheduler
from pyscheduler.errors import PyschedError
from scripts.states import page

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_states_is_drawn_from_the_table() -> None:
    """`python scripts/states.py > docs/reference/states.md` after a change of the table."""
    assert (ROOT / "docs/reference/states.md").read_text() == page()


def family(kind: type[PyschedError] = PyschedError) -> Iterator[type[PyschedError]]:
    """Yield every class of the error family in any room, the root left out."""
    for child in kind.__subclasses__():
        yield child
        yield from family(child)


def test_every_error_has_its_paragraph() -> None:
    """One heading a code, whichever room raises it; none without a class, none empty, none twice."""
    for module in pkgutil.walk_packages(pyscheduler.__path__, "pyscheduler."):
        if "__main__" not in module.name and ".migrations" not in module.name:
            importlib.import_module(module.name)
    text = (ROOT / "docs/reference/errors.md").read_text()
    found = re.findall(r"^## `([a-z-]+)`\n\n(.+?)(?=\n## |\Z)", text, re.MULTILINE | re.DOTALL)
    codes = {kind.code for kind in family() if kind.__module__.startswith("pyscheduler.")}
    assert codes >= {"config", "conflict", "store-locked", "unreachable"}, "the rooms were not looked into"
    assert Counter(code for code, _ in found) == Counter(dict.fromkeys(codes, 1))
    assert all(len(paragraph.split()) > 15 for _, paragraph in found)
