"""`validate` and `schema`: what is wrong with a configuration, what a right one looks like. Spec: jobs.md 12, 14."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pyscheduler.cli import faults
from pyscheduler.cli.options import file_argument, json_option, only_here, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.errors import ConfigError, StoreError
from pyscheduler.model.problem import Problem, Severity

if TYPE_CHECKING:
    from pyscheduler.config import Config


@only_here
@verb("validate", "pysched validate", "pysched validate /etc/pysched.yaml", "pysched validate new.yaml --json")
@file_argument
@click.option("--allow-inactive", is_flag=True, help="Only warn of jobs that need a part which is not active yet.")
@json_option
@pass_session
def validate(session: Session, allow_inactive: bool, as_json: bool) -> int:
    """Check a configuration; every problem is told at once.

    Reads FILE (by default the configuration that the other commands use) with everything it includes and the files
    of users and tokens that it names, and starts nothing. Each problem names file, line and column, what is wrong and
    how to mend it. Errors go to standard output, warnings to standard error; the exit code is 2 where there is an
    error.

    `${NAME}` is read from the environment of this command, which need not be the scheduler's own.
    """
    from pyscheduler.config import build_config

    path = session.config_path
    config, problems = build_config(path, env=session.environ, allow_inactive=allow_inactive)
    problems += [*_of_people(config), *_of_store(path, config)]
    wrong = any(problem.severity is Severity.ERROR for problem in problems)
    if as_json:
        session.print_json(_document(path, len(config.jobs), problems, ok=not wrong))
    else:
        _print(session, path, len(config.jobs), problems, wrong=wrong)
    return faults.WRONG_USAGE if wrong else faults.OK


def _of_people(config: Config) -> list[Problem]:
    """Return what is wrong with the files that say who may come in: a start would be refused for it."""
    from pyscheduler.config.credentials import read_credentials

    try:
        return list(read_credentials(config.settings)[1])
    except ConfigError as error:
        return list(error.problems)


def _of_store(path: Path, config: Config) -> list[Problem]:
    """Return a warning where the store's driver is not installed here; the scheduler may be elsewhere."""
    if config.settings.store is None:
        return []
    from pyscheduler.store.claims.opening import need_driver

    try:
        need_driver(config.settings.store)
    except StoreError as error:
        return [Problem(str(path), 0, 0, f"scheduler.store: {error.what}", error.mend, severity=Severity.WARNING)]
    return []


def _document(path: Path, jobs: int, problems: list[Problem], *, ok: bool) -> dict[str, object]:
    return {"ok": ok, "file": str(path), "jobs": jobs, "problems": [problem_json(problem) for problem in problems]}


def problem_json(problem: Problem) -> dict[str, object]:
    """Return a problem as every answer for programs has it. Spec: jobs.md 13.3."""
    return {
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "job": problem.job,
        "severity": problem.severity.value,
        "message": problem.message,
        "mend": problem.mend,
    }


def _print(session: Session, path: Path, jobs: int, problems: list[Problem], *, wrong: bool) -> None:
    for problem in problems:
        if problem.severity is Severity.ERROR:
            session.say(str(problem))
        else:
            session.note(f"warning: {problem}")
    if wrong:
        count = Counter(problem.severity for problem in problems)
        session.note(f"{path}: {faults.counted(count[Severity.ERROR], 'error')}")
    else:
        session.say(f"ok: {path} has {faults.counted(jobs, 'job')}" if jobs else f"ok: {path} has no jobs yet")
        if not jobs:
            session.note("nothing will run: jobs stand under `jobs:`; `pysched init FILE` writes an example")


@only_here
@verb("schema", "pysched schema > pysched.schema.json", "# yaml-language-server: $schema=pysched.schema.json")
@pass_session
def schema(session: Session) -> None:
    """Print the JSON Schema of the configuration, for editors.

    An editor that knows the schema completes keys and marks mistakes while the configuration is typed. The second
    example is the line that tells it so, at the top of pysched.yaml. What lies between jobs (dependencies, pools,
    calendars) is beyond a schema: `pysched validate` checks it.
    """
    from pyscheduler.config import json_schema

    session.print_json(json_schema())
