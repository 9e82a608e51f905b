"""`completion`: the script by which a shell asks this program what comes next. click writes it."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from pyscheduler.cli.options import only_here, verb
from pyscheduler.cli.session import Session, pass_session

SHELLS = ("bash", "zsh", "fish")


@only_here
@verb(
    "completion",
    "pysched completion bash > ~/.local/share/bash-completion/completions/pysched",
    "pysched completion zsh > ~/.zfunc/_pysched",
    "pysched completion fish > ~/.config/fish/completions/pysched.fish",
)
@click.argument("shell", type=click.Choice(SHELLS))
@pass_session
def completion(session: Session, shell: str) -> None:
    """Print the script that lets a shell complete commands.

    Commands, options, and the names of jobs and runs are completed: from the running scheduler if it answers within
    half a second, job names else from the configuration. Zsh looks into ~/.zfunc if `fpath+=~/.zfunc` stands before
    `compinit` in ~/.zshrc.
    """
    from pyscheduler.cli.group import pysched
    from pyscheduler.cli.main import COMPLETE_VARIABLE

    made = get_completion_class(shell)
    assert made is not None, shell
    # Not made.source(): bash's runs a bash to look at its version, and none need be installed where this is written.
    session.say(ShellComplete.source(made(pysched, {}, "pysched", COMPLETE_VARIABLE)).rstrip())
