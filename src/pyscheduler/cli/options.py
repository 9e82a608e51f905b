"""What commands share: the options that find the scheduler, `--json`, `--reason`, and the shape of their help.

They may stand before or after the command. `--token` is known so that it can be refused: what stands in arguments is
seen by everybody on the machine. Some commands work on the scheduler's own machine alone, and say so to who names an
address: with `--url` always, with PYSCHED_URL where they would otherwise act on another scheduler than is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final, TypeVar

import click

from pyscheduler.cli.address import URL_VARIABLE
from pyscheduler.cli.place import not_from_afar
from pyscheduler.cli.session import Session

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=click.Command)


def _take_config(context: click.Context, _option: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.ensure_object(Session).given_config = value


def _take_elsewhere(context: click.Context, option: click.Parameter, value: str | bool | None) -> None:
    if value and option.name is not None:
        setattr(context.ensure_object(Session).elsewhere, option.name, value)


def _refuse_token(_context: click.Context, _option: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise click.UsageError(
            "a token in arguments is seen by everybody on this machine: put it in a file that only you can read, "
            "and name that with --token-file."
        )


def shared_options(*, whole: bool = False) -> list[click.Option]:
    """Return fresh copies of the options that every command and the group itself take; `whole` shows all of them."""
    return [
        click.Option(
            ["-c", "--config"],
            metavar="FILE",
            type=click.Path(),
            expose_value=False,
            callback=_take_config,
            help="The main configuration file. Default: $PYSCHED_CONFIG, then ./pysched.yaml.",
        ),
        click.Option(
            ["--url"],
            metavar="URL",
            expose_value=False,
            callback=_take_elsewhere,
            help="The address of a scheduler elsewhere, in place of -c. Default: $PYSCHED_URL.",
        ),
        click.Option(
            ["--token-file"],
            metavar="FILE",
            type=click.Path(),
            expose_value=False,
            callback=_take_elsewhere,
            help="The file with the token for it. Default: $PYSCHED_TOKEN_FILE.",
        ),
        click.Option(
            ["--ca-file"],
            metavar="FILE",
            type=click.Path(),
            expose_value=False,
            callback=_take_elsewhere,
            hidden=not whole,
            help="Whom to trust for https, as PEM, instead of the system's authorities.",
        ),
        click.Option(
            ["--insecure-http"],
            is_flag=True,
            expose_value=False,
            callback=_take_elsewhere,
            hidden=not whole,
            help="Speak plain http with another machine: others can read the token and change the answers.",
        ),
        click.Option(["--token"], hidden=True, expose_value=False, callback=_refuse_token),
    ]


class Reach(Enum):
    """From where a command works."""

    ANYWHERE = 1
    HERE = 2
    """It asks no scheduler: an address in the environment is nothing to it."""
    AT_HOME = 3
    """It works on files or processes of the scheduler."""


class Verb(click.Command):
    """A command with the shared options and, at the end of its help, examples as they are typed."""

    examples: Sequence[str] = ()
    reach: Reach = Reach.ANYWHERE

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(shared_options())

    def invoke(self, ctx: click.Context) -> Any:
        """Run it, unless the scheduler that is meant is too far away for it."""
        _check_reach(self, ctx.ensure_object(Session))
        return super().invoke(ctx)

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


def only_at_home(command: Verb) -> Verb:
    """Mark a command that works on files or processes of the scheduler."""
    command.reach = Reach.AT_HOME
    return command


def only_here(command: Verb) -> Verb:
    """Mark a command that asks no scheduler."""
    command.reach = Reach.HERE
    return command


def _check_reach(command: Verb, session: Session) -> None:
    is_named = session.elsewhere.url is not None
    if command.reach is Reach.HERE and not is_named:
        session.environ = {name: value for name, value in session.environ.items() if name != URL_VARIABLE}
    if command.reach is not Reach.ANYWHERE and session.address is not None:
        raise not_from_afar(f"`pysched {command.name}` works", session.address)


# --------------------------------------------------------------------------- options of some commands

json_option: Final = click.option("--json", "as_json", is_flag=True, help="Print one JSON document for programs.")
reason_option: Final = click.option("--reason", metavar="TEXT", help="Why, for the logbook.")


def _take_file(context: click.Context, _argument: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.ensure_object(Session).given_config = value


file_argument: Final = click.argument(
    "file", required=False, type=click.Path(), metavar="[FILE]", callback=_take_file, expose_value=False
)
"""The same as `-c FILE`."""
