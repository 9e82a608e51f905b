"""The scripts by which shells complete."""

from __future__ import annotations

import pytest

from tests.unit.cli.prompt import Prompt


@pytest.mark.parametrize(
    ("shell", "words"),
    [
        ("bash", "complete -o nosort -F _pysched_completion pysched"),
        ("zsh", "#compdef pysched"),
        ("fish", "complete --no-files --command pysched"),
    ],
)
def test_each_shell_has_its_script(pysched: Prompt, shell: str, words: str) -> None:
    """Needs no configuration and no shell."""
    pysched.config.unlink()
    said = pysched("completion", shell)
    assert said.code == 0
    assert words in said.out
    assert "_PYSCHED_COMPLETE" in said.out


def test_another_shell_is_wrong_usage(pysched: Prompt) -> None:
    """With those there are."""
    said = pysched("completion", "csh")
    assert said.code == 2
    assert "'bash', 'zsh', 'fish'" in said.err
