"""The way in and the way out: streams that cannot choke, one place where errors become words and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence

import click

from pyscheduler.cli import faults
from pyscheduler.cli.group import pysched
from pyscheduler.cli.interrupts import keep_interrupts
from pyscheduler.cli.session import Session
from pyscheduler.cli.terminal import Terminal
from pyscheduler.cli.text import wrapped
from pyscheduler.errors import PyschedError

COMPLETE_VARIABLE = "_PYSCHED_COMPLETE"


def main(arguments: Sequence[str] | None = None, session: Session | None = None) -> int:
    """Run the command line and return its exit code. `session` is what a program or a test puts in its place."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _let_anything_be_printed()
    if arguments is None:  # a process of its own
        keep_interrupts()
    try:
        code = _run(given, session)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone, as `head` does. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return faults.FAILED
    return code


def _run(arguments: Sequence[str], session: Session | None) -> int:
    try:
        answer = pysched.main(
            args=list(arguments),
            prog_name="pysched",
            standalone_mode=False,
            complete_var=COMPLETE_VARIABLE,
            obj=session,
        )
    except click.ClickException as error:
        _complain(faults.usage_lines(error))
        return error.exit_code
    except click.Abort as error:
        # An end of input where a question was asked is no Ctrl-C, and neither is a "no".
        return faults.INTERRUPTED if isinstance(error.__cause__, KeyboardInterrupt) else faults.FAILED
    except KeyboardInterrupt:
        return faults.INTERRUPTED
    except PyschedError as error:
        _complain(faults.lines_of(error))
        return faults.exit_code_of(error)
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - a bug must not end in a traceback on an operator's screen
        click.echo(faults.save_bug(error, arguments), err=True)
        return faults.FAILED
    return answer if isinstance(answer, int) else faults.OK


def _complain(lines: Iterable[str]) -> None:
    """Print an error on stderr; on a terminal broken between words."""
    width = Terminal.of(sys.stderr, os.environ).width
    for line in lines:
        click.echo(wrapped(line, width), err=True)


def _let_anything_be_printed() -> None:
    """Show what an encoding cannot hold by its escape, instead of failing over it (field case FC-048)."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
