"""The page about the environment names every variable that the code gives, withholds or always hands on."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

from pyscheduler.engine import environment
from pyscheduler.minder.kernel import KEY_VARIABLE
from tests.builders import a_job, a_run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "environment.md").read_text()


def test_every_variable_of_a_job_is_listed() -> None:
    """And no other: what the page promises is there."""
    of_run = environment.run_facts(a_run("load", date(2027, 5, 20)), a_job("load"), 1).keys()
    given = of_run | environment.claim_facts(1, "").keys() | {KEY_VARIABLE}
    table = PAGE.partition("## What else")[0]
    assert set(re.findall(r"^\| `(PYSCHED_\w+)`", table, re.MULTILINE)) == given


def test_what_is_withheld_and_what_never_is_are_listed() -> None:
    """By name or, for families, with a star."""
    for name in environment.ALWAYS | environment.NEVER:
        assert f"`{name}`" in PAGE, name
    for prefix in environment.NEVER_PREFIXES:
        assert f"`{prefix}*`" in PAGE, prefix
    assert environment.DEFAULT_PATH in PAGE


def test_every_variable_the_readme_and_the_guides_use_exists() -> None:
    """A name that no job finds would be an empty string in somebody's script."""
    known = set(re.findall(r"`(PYSCHED_\w+)`", PAGE))
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        assert set(re.findall(r"PYSCHED_[A-Z_]*[A-Z]", page.read_text())) <= known, page
