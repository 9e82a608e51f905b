"""What went wrong, as a tired person wants to read it: where, what, how to mend it, and an exit code for programs.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | refused, unreachable or failed |
| 2 | the command line or the configuration is wrong |
| 3 | a pass of `tick` made nothing, because another scheduler leads |
| 130 | ended by Ctrl-C |

A bug of ours is no exception: one line, and the traceback in a file that the line names. Spec: jobs.md 14.1.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

import click

from pyscheduler import __version__
from pyscheduler.errors import ConfigError, PyschedError

OK: Final = 0
FAILED: Final = 1
WRONG_USAGE: Final = 2
HELD_OFF: Final = 3
INTERRUPTED: Final = 130
STARTING: Final = "scheduler is starting"
"""How the API answers until its engine is up."""
BETWEEN: Final = ("the lead changes hands", "this scheduler stands by")
"""How it answers between two leads of a cluster (`service/relay.py`): nobody leads, or who was asked does no longer."""
UNHEARD: Final = "cannot be reached"
"""How the answer for one that leads, and takes no connection, ends: it may have been killed a moment ago."""


class CommandError(PyschedError):
    """A command could not do what it was asked to."""

    code = "command"
    exit_code: ClassVar[int] = FAILED


class NoConfiguration(CommandError):
    """Nothing says which configuration is meant."""

    code = "no-configuration"
    exit_code = WRONG_USAGE


class WrongUsage(CommandError):
    """The arguments make no sense together."""

    code = "wrong-usage"
    exit_code = WRONG_USAGE


class Unreachable(CommandError):
    """No scheduler answers at the place that the configuration names.

    `nobody`: none is there to hear; `left_behind`: one was, and its socket is still there; `broke_off`: one has heard,
    and may have done what it was asked to.
    """

    code = "unreachable"

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        mend: str = "",
        nobody: bool = False,
        left_behind: bool = False,
        broke_off: bool = False,
    ) -> None:
        super().__init__(what, where=where, mend=mend)
        self.nobody, self.left_behind, self.broke_off = nobody, left_behind, broke_off


class Refused(CommandError):
    """The scheduler refused. `status` is its answer's HTTP status; `problems` are those of a configuration."""

    code = "refused"

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        mend: str = "",
        status: int = 0,
        problems: Sequence[Mapping[str, object]] = (),
    ) -> None:
        super().__init__(what, where=where, mend=mend)
        self.status, self.problems = status, tuple(problems)

    @property
    def is_starting(self) -> bool:
        """Whether nothing was done because the scheduler is not up yet."""
        return self.status == 503 and self.what.startswith(STARTING)

    @property
    def is_between(self) -> bool:
        """Whether nothing was done because no scheduler of the cluster leads at this moment."""
        return self.status == 503 and (self.what.startswith(BETWEEN) or self.what.endswith(UNHEARD))


def exit_code_of(error: PyschedError) -> int:
    """Return the exit code that an error of the family means."""
    if isinstance(error, CommandError):
        return error.exit_code
    return WRONG_USAGE if isinstance(error, ConfigError) else FAILED


def lines_of(error: PyschedError) -> Iterator[str]:
    """Yield what a person reads of an error."""
    if isinstance(error, ConfigError):
        for problem in error.problems:
            yield f"{problem.severity}: {problem}"
        return
    where = f"{error.where}: " if error.where else ""
    yield f"error: {where}{error.what}"
    if isinstance(error, Refused):
        yield from (f"  {problem_line(problem)}" for problem in error.problems)
    if error.mend:
        yield f"  mend: {error.mend}"


def usage_lines(error: click.ClickException) -> Iterator[str]:
    """Yield what a person reads of a command line that makes no sense."""
    yield f"error: {error.format_message()}"
    context = getattr(error, "ctx", None)
    if context is not None:
        what = "lists all commands" if context.parent is None else "explains it"
        yield f"  mend: `{context.command_path} --help` {what}"


def problem_line(problem: Mapping[str, object]) -> str:
    """Return a problem of a scheduler's answer the way `Problem` prints itself."""
    place = ":".join(str(problem[key]) for key in ("file", "line", "column") if problem.get(key))
    subject = f"job {problem['job']}: " if problem.get("job") else ""
    mend = f"; {problem['mend']}" if problem.get("mend") else ""
    return f"{problem.get('severity', 'error')}: {place}: {subject}{problem.get('message', '')}{mend}"


def no_such_job(name: str, jobs: Iterable[str], where: object, kind: str = "job") -> CommandError:
    """Return the error for a job that a configuration has not got, with a near name."""
    near = near_name(name, jobs)
    mend = f"did you mean {near}?" if near else "`pysched jobs` lists the jobs"
    return CommandError(f"there is no {kind} {name}", where=str(where), mend=mend)


def near_name(name: str, names: Iterable[str]) -> str | None:
    """Return the name that was probably meant: nearly the same, letter case aside."""
    from difflib import get_close_matches

    folded = {each.casefold(): each for each in names}
    near = get_close_matches(name.casefold(), folded, n=1)
    return folded[near[0]] if near else None


def counted(number: int, noun: str) -> str:
    """Return `1 job`, `2 jobs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def save_bug(error: BaseException, arguments: Sequence[str]) -> str:
    """Write a bug's traceback to a file of its own and return the one line that tells of it."""
    import platform
    import tempfile
    import traceback

    text = "".join(
        (
            f"pysched {__version__}, Python {platform.python_version()}, {platform.platform()}\n",
            f"command: {' '.join(arguments[:1])}\n\n",
            *traceback.format_exception(error),
        )
    )
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    try:
        descriptor, path = tempfile.mkstemp(prefix="pysched-bug-", suffix=".txt")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as handle:
            handle.write(text)
    except OSError:
        sys.stderr.write(text)
        return f"bug: {what}; please report it with the lines above"
    return f"bug: {what}; please report it with {path}"
