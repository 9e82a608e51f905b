"""The catalogue knows every command without importing it, and tells the truth about each."""

from __future__ import annotations

import click
import pytest

from pyscheduler import __version__
from pyscheduler.cli.catalogue import COMMANDS, SECTIONS
from pyscheduler.cli.group import pysched
from pyscheduler.cli.options import Verb
from tests.unit.cli.prompt import Prompt

NAMES = """demo init validate schema serve stop status jobs runs show log events trigger hold release kill rerun
force-start skip mark-success mark-failed cancel pause resume backfill reload catch-up next forecast why diff
simulate alerts replay doctor backup restore audit open hash-token hash-password version completion
tick work list health nodes drain fence drill"""
WANTED = NAMES.split()


def test_every_command_of_the_issue_is_there() -> None:
    """And none beside them."""
    assert sorted(COMMANDS) == sorted(WANTED)


def command(name: str) -> Verb:
    found = pysched.get_command(click.Context(pysched), name)
    assert isinstance(found, Verb)
    return found


@pytest.mark.parametrize("name", WANTED)
def test_a_commands_summary_is_its_own_first_sentence(name: str) -> None:
    """What `pysched --help` says and what `pysched NAME --help` says cannot part."""
    found = command(name)
    assert found.name == name
    assert (found.help or "").partition("\n")[0].strip() == COMMANDS[name].summary


@pytest.mark.parametrize("name", WANTED)
def test_every_help_is_prose_with_an_example(pysched: Prompt, name: str) -> None:
    """More than the summary, and at least one line to copy."""
    said = pysched(name, "--help")
    assert said.code == 0
    assert f"pysched {name}" in said.out.partition("Examples:")[2]
    assert len((command(name).help or "").split("\n\n")) >= 2
    assert all(len(line) <= 100 for line in said.out.splitlines())


def test_the_help_names_every_command_in_one_line(pysched: Prompt) -> None:
    """By section; at eighty columns no summary wraps."""
    said = pysched("--help")
    for title, commands in SECTIONS.items():
        assert f"{title}:" in said.out
        for name, entry in commands.items():
            assert f"  {name.ljust(13)}  {entry.summary}\n" in said.out


def test_a_misspelt_command_gets_a_hint(pysched: Prompt) -> None:
    """Exit code 2."""
    said = pysched("statsu")
    assert said.code == 2
    assert said.err.startswith("error: there is no command 'statsu'; did you mean status?")


def test_no_token_is_taken_from_the_arguments(pysched: Prompt) -> None:
    """Whoever lists processes would see it; it is not repeated either."""
    said = pysched("status", "--token", "s3cret-token")
    assert said.code == 2
    assert "name that with --token-file" in said.err
    assert "s3cret" not in said.err


AT_HOME = ["stop", "doctor", "backup x.db", "restore x.db", "open"]
HERE = ["serve", "init", "demo", "validate", "schema", "simulate", "hash-token", "hash-password", "version"]


@pytest.mark.parametrize("typed", AT_HOME + HERE)
def test_what_works_on_one_machine_says_so(pysched: Prompt, typed: str) -> None:
    """Never on another scheduler than the one that was named."""
    said = pysched("--url", "https://scheduler.example", *typed.split())
    assert said.code == 2
    name = typed.split()[0]
    what = f"error: https://scheduler.example: `pysched {name}` works on the scheduler's own machine alone"
    assert said.err.splitlines()[0] == what


@pytest.mark.parametrize("typed", AT_HOME)
def test_an_address_in_the_environment_keeps_it_from_the_wrong_scheduler(pysched: Prompt, typed: str) -> None:
    """`pysched stop` with PYSCHED_URL is meant for that one, not for the one whose file happens to lie here."""
    said = pysched(*typed.split(), environ={"PYSCHED_URL": "https://scheduler.example"})
    assert said.code == 2
    assert "own machine alone" in said.err


def test_what_asks_no_scheduler_takes_no_notice_of_an_address_in_the_environment(pysched: Prompt) -> None:
    """A file is checked where it lies."""
    assert pysched("validate", environ={"PYSCHED_URL": "https://scheduler.example"}).code == 0


@pytest.mark.parametrize(
    ("typed", "meant"), [("start", "serve"), ("logs", "log"), ("ls", "jobs"), ("Status", "status")]
)
def test_what_others_call_a_command_is_understood(pysched: Prompt, typed: str, meant: str) -> None:
    """`start` is no misspelt `status`; the way out is said once."""
    said = pysched(typed)
    assert said.err.splitlines() == [
        f"error: there is no command '{typed}'; did you mean {meant}?",
        "  mend: `pysched --help` lists all commands",
    ]
    assert pysched("xyzzy").err.count("--help") == 1


def test_the_release_has_its_usual_option(pysched: Prompt) -> None:
    """One line, as everywhere."""
    said = pysched("--version")
    assert (said.code, said.out) == (0, f"pysched {__version__}\n")
