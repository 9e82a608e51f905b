"""Completion as bash does it: the script is sourced, a word is typed, the candidates come back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.shell import ROOT, Shell, shell

TEXT = 'jobs: {load: {command: "true", schedule: manual}, look: {command: "true", schedule: manual}}'

TYPED = """
set -e
source {script}
COMP_WORDS=({words})
COMP_CWORD={at}
_pysched_completion {command}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def complete(pysched: Shell, words: str) -> list[str]:
    """Return what bash offers after `words`, whose last one is unfinished."""
    command = pysched.home / "pysched"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pyscheduler.cli "$@"\n')
    command.chmod(0o755)
    script = pysched.home / "pysched.bash"
    script.write_bytes(pysched.ok("completion", "bash").raw)
    parts = words.split(" ")
    typed = TYPED.format(
        script=script, words=" ".join(part or "''" for part in parts), at=len(parts) - 1, command=command
    )
    done = subprocess.run(["bash", "-c", typed], env=pysched.env, cwd=pysched.home, capture_output=True, check=True)
    assert done.stderr == b""
    return done.stdout.decode().split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("pysched rest", ["restore"]),
        ("pysched next lo", ["load", "look"]),
        ("pysched trigger loa", ["load"]),
        ("pysched completion ", ["bash", "zsh", "fish"]),
    ],
)
def test_bash_completes_commands_and_jobs(tmp_path: Path, words: str, expected: list[str]) -> None:
    """While no scheduler runs, from the configuration."""
    with shell(tmp_path, TEXT) as pysched:
        # nothing comes where the file was not read within a second; then one presses the key again
        pysched.until(lambda: complete(pysched, words) == expected, "it is offered")


def test_bash_completes_runs_of_the_running_scheduler(tmp_path: Path) -> None:
    """The newest that begin so."""
    with shell(tmp_path, TEXT) as pysched:
        run_id = pysched.serve().trigger("load", "--run-date", "2027-05-20")
        # nothing comes where the scheduler has not answered within half a second; then one presses the key again
        pysched.until(lambda: complete(pysched, "pysched show loa") == [run_id], "it is offered")
        assert complete(pysched, "pysched hold loo") == []


def test_the_sources_are_where_the_tests_think() -> None:
    """The shell of the tests runs this very checkout."""
    assert (ROOT / "src" / "pyscheduler" / "cli" / "main.py").is_file()
