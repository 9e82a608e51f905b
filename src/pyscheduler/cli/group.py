"""The command `pysched` itself: imports the one command that is asked for, and knows the others by name."""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click
from click.shell_completion import CompletionItem

from pyscheduler import __version__
from pyscheduler.cli.catalogue import COMMANDS, SECTIONS
from pyscheduler.cli.options import shared_options

SYNONYMS: Final = {
    "start": "serve",
    "run": "trigger",
    "ls": "jobs",
    "logs": "log",
    "logbook": "events",
    "history": "runs",
    "retry": "rerun",
    "check": "validate",
    "unpause": "resume",
}
"""What other schedulers call a command of ours."""


class Commands(click.Group):
    """A group whose commands are imported when they are run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return every command's name, in the order of the help."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or None."""
        del ctx
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = getattr(import_module(f"pyscheduler.cli.{entry.module}"), entry.attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that `args` begin with; a usage error that names a near one."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            meant = SYNONYMS.get(name)
            near = [meant] if meant else get_close_matches(name, COMMANDS, n=1, cutoff=0.7)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"there is no command {name!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section, from the catalogue alone."""
        del ctx
        width = max(map(len, COMMANDS))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), entry.summary) for name, entry in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that begin so, without importing any."""
        found = [
            CompletionItem(name, help=entry.summary) for name, entry in COMMANDS.items() if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]


HELP = """A crash-safe job scheduler that always knows why a job did not run.

Commands speak with the scheduler whose configuration is given with -c, by $PYSCHED_CONFIG, or lies here as
pysched.yaml. Each has its own --help, with examples.
"""

EPILOG = "Exit codes: 0 done, 1 refused, unreachable or failed, 2 wrong usage or configuration, 130 Ctrl-C."


def _show_version(context: click.Context, _option: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        click.echo(f"pysched {__version__}")
        context.exit()


@click.pass_context
def _pysched(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        from pyscheduler.cli.session import Session
        from pyscheduler.cli.welcome import welcome

        welcome(context.ensure_object(Session))


pysched = Commands(
    "pysched",
    callback=_pysched,
    params=[
        *shared_options(whole=True),
        click.Option(
            ["--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_show_version,
            help="Show the release; `pysched version` shows more.",
        ),
    ],
    invoke_without_command=True,
    help=HELP,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
