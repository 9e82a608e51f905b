"""What commands share: the options that find the scheduler, `--json`, `--reason`, and the shape of their help.

`-c` may stand before or after the command. `--url` and `--token` are known so that they can be told apart from a typing
mistake: they belong to a scheduler that listens on a port, which this release does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import click

from pyscheduler.cli.session import Session

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=click.Command)


def _take_config(context: click.Context, _option: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.ensure_object(Session).given_config = value


def _not_yet(_context: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise click.UsageError(
            f"--{option.name} is for a scheduler that listens on a port, and this release has none yet: "
            "commands reach it through the socket in its state_dir, on its own machine."
        )


def shared_options() -> list[click.Option]:
    """Return fresh copies of the options that every command and the group itself take."""
    return [
        click.Option(
            ["-c", "--config"],
            metavar="FILE",
            type=click.Path(),
            expose_value=False,
            callback=_take_config,
            help="The main configuration file. Default: $PYSCHED_CONFIG, then ./pysched.yaml.",
        ),
        click.Option(["--url"], hidden=True, expose_value=False, callback=_not_yet),
        click.Option(["--token"], hidden=True, expose_value=False, callback=_not_yet),
    ]


class Verb(click.Command):
    """A command with the shared options and, at the end of its help, examples as they are typed."""

    examples: Sequence[str] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(shared_options())

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, each on a line of its own."""
        del ctx
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


def verb(name: str, *examples: str) -> Callable[[F], Verb]:
    """Make a command of a function whose docstring is its help."""

    def made(function: F) -> Verb:
        command = click.command(name, cls=Verb)(function)
        command.examples = examples
        return command

    return made


# --------------------------------------------------------------------------- options of some commands

json_option: Final = click.option("--json", "as_json", is_flag=True, help="Print one JSON document for programs.")
reason_option: Final = click.option("--reason", metavar="TEXT", help="Why, for the logbook.")


file_argument: Final = click.argument("file", required=False, type=click.Path(), metavar="[FILE]")


def use_file(session: Session, file: str | None) -> None:
    """Take a FILE argument for what it is: the same as `-c FILE`."""
    if file is not None:
        session.given_config = file
