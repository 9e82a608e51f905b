"""`doctor`: everything that could keep the scheduler from its promises, with a way to mend each. Changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from pyscheduler.cli import faults
from pyscheduler.cli.checks.finding import Finding, Level, bad, ok, warn
from pyscheduler.cli.options import file_argument, json_option, only_at_home, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.table import Cell, styled
from pyscheduler.cli.text import on_one_line
from pyscheduler.errors import ConfigError, PyschedError
from pyscheduler.model.job import Settings
from pyscheduler.model.problem import Severity

_COLOURS: Final = {Level.OK: "green", Level.WARN: "yellow", Level.BAD: "red"}
CLIENT_S: Final = 5.0


@only_at_home
@verb("doctor", "pysched doctor", "pysched doctor /etc/pysched.yaml --json")
@file_argument
@json_option
@pass_session
def doctor(session: Session, as_json: bool) -> int:
    """Examine machine and state, and say what to mend.

    Looks at programs and zone data, the configuration, the state directory with its permissions, locks and room, the
    store page by page, the clock, and what around the scheduler would kill running jobs. Works whether the scheduler
    runs or not, and changes nothing. Each line is ok, warn or bad; the exit code is 1 where one is bad.
    """
    found = []
    for finding in examine(session):
        found.append(finding)
        if not as_json:
            for line in _lines(session, finding):
                session.tell(line)
    count = Counter(finding.level for finding in found)
    if as_json:
        session.print_json(_document(found))
    else:
        session.say(f"\n{count[Level.BAD]} bad, {count[Level.WARN]} to look at, {count[Level.OK]} ok")
    return faults.FAILED if count[Level.BAD] else faults.OK


def examine(session: Session) -> Iterator[Finding]:
    """Yield every finding, as it is made."""
    from pyscheduler.cli.checks.folders import folders
    from pyscheduler.cli.checks.programs import programs
    from pyscheduler.cli.checks.service import service

    yield from programs()
    try:
        place = session.place
    except PyschedError as error:
        yield bad("configuration", " ".join(faults.lines_of(error)), "nothing else can be looked at without it")
        return
    yield from _configuration(session)
    yield from folders(place.state_dir, place.log_dir)
    yield from _memory(session)
    yield from service(session.hasty_client(CLIENT_S), _max_running(session))


def _memory(session: Session) -> Iterator[Finding]:
    from pyscheduler.cli.checks.memory import memory

    try:
        url = session.place.store_url(session.environ)
    except ConfigError as error:
        yield bad("store", f"its address cannot be read: {error.problems[0]}", "set it for this command too")
        return
    yield from memory(session.place.state_dir, session.place.times, session.now(), url)


def _configuration(session: Session) -> Iterator[Finding]:
    from pyscheduler.config import build_config

    config, problems = build_config(session.config_path, env=session.environ, allow_inactive=True)
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    if config is not None:
        yield from _credential_files(config.settings)
    if errors:
        what = f"{faults.counted(len(errors), 'error')}, the first is {errors[0]}"
        yield bad("configuration", what, "pysched validate says them all")
    elif problems:
        what = f"{config.path}: {faults.counted(len(problems), 'warning')}, the first is {problems[0]}"
        yield warn("configuration", what, "pysched validate says them all")
    else:
        yield ok("configuration", f"{config.path}: {faults.counted(len(config.jobs), 'job')}")


def _credential_files(settings: Settings) -> Iterator[Finding]:
    """Judge the files that say who may come in, where there are any."""
    from pyscheduler.config.credentials import read_credentials

    about, mend = "credential files", "mend it before the next start or reload: both would be refused"
    try:
        found, warnings = read_credentials(settings)
    except ConfigError as error:
        errors = [problem for problem in error.problems if problem.severity is Severity.ERROR]
        what = f"{faults.counted(len(errors), 'fault')}, the first is {errors[0]}"
        yield bad(about, what, mend)
        return
    for problem in warnings:
        yield warn(about, f"{problem.file}: {problem.message}", problem.mend)
    if not found.is_open and not warnings:
        programs, people = len(found.tokens or ()), len(found.users or ())
        yield ok(about, f"{faults.counted(programs, 'token')}, {faults.counted(people, 'user')}")


def _max_running(session: Session) -> int:
    try:
        return session.load().settings.max_running
    except ConfigError:
        return 1


def _lines(session: Session, finding: Finding) -> Iterator[str]:
    level = styled(
        Cell("", _COLOURS[finding.level], bold=finding.level is Level.BAD), f"{finding.level:4}", session.terminal
    )
    yield f"{level}  {finding.about}: {on_one_line(finding.what)}"
    if finding.mend:
        yield f"      mend: {on_one_line(finding.mend)}"


def _document(found: list[Finding]) -> dict[str, object]:
    findings = [
        {"about": each.about, "level": each.level.value, "what": each.what, "mend": each.mend} for each in found
    ]
    return {"ok": all(each.level is not Level.BAD for each in found), "findings": findings}
