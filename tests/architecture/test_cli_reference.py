"""The manual of the command line names every command and option there is, and none that is not."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from pyscheduler.cli.catalogue import COMMANDS
from pyscheduler.cli.group import pysched
from pyscheduler.cli.states import LOOKS

DOCS = Path(__file__).parents[2] / "docs"
MANUAL = (DOCS / "reference" / "cli.md").read_text()
EVERYWHERE = {"--config", "-c", "--url", "--token", "--json", "--reason", "--help", "-h"}


def command(name: str) -> click.Command:
    found = pysched.get_command(click.Context(pysched), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_in_the_manual(name: str) -> None:
    """An option that nobody can read about does not exist."""
    assert re.search(rf"`{re.escape(name)}[ `]", MANUAL), name
    options = {option for each in command(name).params if isinstance(each, click.Option) for option in each.opts}
    for option in sorted(options - EVERYWHERE):
        assert option in MANUAL, (name, option)


def test_the_manual_names_no_option_that_is_not() -> None:
    """A page that promises too much is worse than none."""
    known = {"--help", "-h"} | {option for each in pysched.params for option in each.opts}
    for name in COMMANDS:
        known |= {option for each in command(name).params for option in each.opts}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", MANUAL)) <= known


def test_the_manual_shows_every_state() -> None:
    """Word, shape, ASCII."""
    for word, look in LOOKS.items():
        assert f"`{look.shape} {word}`" in MANUAL
        assert f"`{look.plain}`" in MANUAL


@pytest.mark.parametrize("page", ["reference/cli.md", "guides/first-job.md"])
def test_every_command_that_the_pages_show_is_one(page: str) -> None:
    """A line to copy must be worth copying."""
    text = (DOCS / page).read_text()
    shown = re.findall(r"^pysched ([a-z][a-z-]*)", text, flags=re.MULTILINE)
    assert shown
    assert set(shown) <= set(COMMANDS)
