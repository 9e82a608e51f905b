"""The environment a job gets, and what never reaches it. Spec: jobs.md 1.12, DESIGN 8 row 7.

A job inherits the scheduler's environment but for two kinds of variable: those the configuration itself reads as
`${NAME}` (they are secrets as often as not; a job gets one by its own `env`), and those that tell a process about its
place under a service manager or a Python, which would be lies to a job.
"""

from __future__ import annotations

import pwd
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC
from typing import Final
from zoneinfo import ZoneInfo

from pyscheduler.config.templates import redact
from pyscheduler.model.job import Job
from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import Run

ALWAYS: Final = frozenset({"HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "TZ", "TMPDIR"})
NEVER: Final = frozenset({"NOTIFY_SOCKET", "INVOCATION_ID", "JOURNAL_STREAM", "VIRTUAL_ENV", "LD_PRELOAD"})
NEVER_PREFIXES: Final = ("WATCHDOG_", "LISTEN_", "PYTHON", "PYSCHED_")
DEFAULT_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def base_environment(environ: Mapping[str, str], withheld: Collection[str]) -> dict[str, str]:
    """Return what every job inherits from the scheduler's environment, completed for a bare one.

    Where the scheduler was started without HOME, USER, LOGNAME or SHELL they come from the passwd entry of its user,
    and PATH is DEFAULT_PATH: a job finds the same under a service manager as under a login shell.
    """
    base = {name: value for name, value in environ.items() if _passes(name, withheld)}
    return {**_login(None), "PATH": DEFAULT_PATH} | base


def fit_to_tell(result: AttemptResult, variables: Mapping[str, str]) -> AttemptResult:
    """Return an attempt's end with every value of the environment put back as its `${NAME}`.

    A start error is the system's own text, and that names what could not be found: a folder or a program whose path
    the configuration may have filled in. It is remembered, shown and sent to people. Spec: jobs.md 1.4.
    """
    if result.start_error is None:
        return result
    return replace(result, start_error=redact(result.start_error, variables))


def _passes(name: str, withheld: Collection[str]) -> bool:
    if name in ALWAYS or name.startswith("LC_"):
        return True
    return name not in withheld and name not in NEVER and not name.startswith(NEVER_PREFIXES)


def _login(user: str | None) -> dict[str, str]:
    """Return HOME, USER, LOGNAME and SHELL of a user, or of our own; nothing where passwd does not know it."""
    import os

    try:
        entry = pwd.getpwnam(user) if user is not None else pwd.getpwuid(os.geteuid())
    except KeyError:
        return {}
    return {"HOME": entry.pw_dir, "USER": entry.pw_name, "LOGNAME": entry.pw_name, "SHELL": entry.pw_shell or "/bin/sh"}


def inherited(base: Mapping[str, str], job: Job) -> dict[str, str]:
    """Return what this job inherits: `inherit_env` may narrow it, `user` brings its own login variables."""
    if job.inherit_env is True:
        env = dict(base)
    else:
        wanted = job.inherit_env or ()
        env = {
            name: value for name, value in base.items() if name in ALWAYS or name in wanted or name.startswith("LC_")
        }
    return env | _login(job.user) if job.user is not None else env


def run_facts(run: Run, job: Job, attempt: int) -> dict[str, str]:
    """Return the variables that tell a job which run it is; nothing overrides them."""
    local = run.scheduled_at.astimezone(ZoneInfo(job.timezone))
    return {
        "PYSCHED_JOB": run.job,
        "PYSCHED_RUN_DATE": run.run_date.isoformat(),
        "PYSCHED_RUN_ID": run.run_id,
        "PYSCHED_ATTEMPT": str(attempt),
        "PYSCHED_TRIGGER": run.trigger.value,
        "PYSCHED_SCHEDULED_AT": run.scheduled_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "PYSCHED_SCHEDULED_LOCAL": local.isoformat(timespec="seconds"),
    }


def claim_facts(token: int, inc_id: str) -> dict[str, str]:
    """Return the variables by which a job on a shared store can have an older claim fenced off. Spec: claims.md C6."""
    return {"PYSCHED_RUN_TOKEN": str(token), "PYSCHED_INC_ID": inc_id}
