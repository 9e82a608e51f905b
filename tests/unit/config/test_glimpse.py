"""The settings alone, quickly."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pyscheduler.config import ConfigError, glance
from pyscheduler.config.glimpse import Glance

Write = Callable[..., Path]


def test_it_says_where_a_scheduler_lives(write: Write, tmp_path: Path) -> None:
    path = write("scheduler: {name: night, timezone: Asia/Tokyo, state_dir: s, log_dir: '/${WHERE}/l'}\n")
    assert glance(path, env={"WHERE": "var"}) == Glance("night", "Asia/Tokyo", tmp_path / "s", Path("/var/l"))


@pytest.mark.parametrize("text", ["", "jobs: {}\n", "scheduler: x\n", "- a\n", "scheduler: {}\n"])
def test_what_is_not_said_has_its_default(write: Write, tmp_path: Path, text: str) -> None:
    assert glance(write(text), env={}) == Glance("pysched", "UTC", tmp_path / "state", tmp_path / "logs")


def test_it_reads_no_further_than_the_section(write: Write) -> None:
    """Whatever is wrong behind it is no business of a command that only wants to talk to the scheduler."""
    assert glance(write("scheduler: {name: a, max_running: x}\njobs: [\n"), env={}).name == "a"
    assert glance(write("jobs: {a: {b: c}}\nscheduler: {name: z}\n"), env={}).name == "z"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("scheduler: {timezone: Berlin}\n", 'c.yaml:1:23: scheduler.timezone: "Berlin" is no time zone of the'),
        ("scheduler: {state_dir: [a]}\n", "c.yaml:1:24: scheduler.state_dir: must be text"),
        ("scheduler: {state_dir: '${NOPE}'}\n", 'c.yaml:1:24: scheduler.state_dir: "${NOPE}" reads ${NOPE}, which is'),
        ("scheduler: [\n", "c.yaml:2:1: a [ or { is never closed"),
        ("a: \ufffe\n", "c.yaml:1:4: the character 0xfffe has no place"),
        ("a: \0\n", "c.yaml:1:4: cannot be read: a byte 0x00"),
    ],
)
def test_what_cannot_be_read_is_one_problem(write: Write, text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        glance(write(text), env={})
    assert str(refused.value).startswith(complaint)


def test_a_missing_file_is_a_problem_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        glance(tmp_path / "no.yaml")


def test_nothing_heavy_is_imported(write: Write) -> None:
    """A thin command must start quickly: no pydantic, no holidays."""
    program = (
        "import sys; from pyscheduler.config import glance; glance(sys.argv[1], env={});"
        "print(sorted({'pydantic', 'holidays', 'icalendar', 'asyncio', 'sqlalchemy'} & set(sys.modules)))"
    )
    path = write("scheduler: {name: a}\n")
    said = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env={"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert said.stdout.strip() == "[]"
