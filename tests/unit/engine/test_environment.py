"""What reaches a job's environment and what never does: jobs.md 1.12, DESIGN 8 row 7."""

from __future__ import annotations

import pwd

import pytest

from pyscheduler.engine.environment import DEFAULT_PATH, base_environment, fit_to_tell, inherited, run_facts
from pyscheduler.model.result import AttemptResult
from tests.builders import a_job, a_run

RICH = {
    "HOME": "/home/ann",
    "USER": "ann",
    "LOGNAME": "ann",
    "SHELL": "/bin/zsh",
    "PATH": "/usr/bin",
    "LANG": "C",
    "LC_ALL": "C",
    "TZ": "UTC",
    "TMPDIR": "/tmp",
    "EDITOR": "vi",
    "DB_PASS": "s3cret",
    "PYTHONPATH": "/x",
    "VIRTUAL_ENV": "/v",
    "LD_PRELOAD": "/l",
    "NOTIFY_SOCKET": "/n",
    "LISTEN_FDS": "1",
    "WATCHDOG_USEC": "1",
    "INVOCATION_ID": "i",
    "JOURNAL_STREAM": "j",
    "PYSCHED_ATTEMPT_KEY": "k",
    "PYSCHED_RUN_ID": "outer.1",
}


def test_secrets_and_the_service_managers_words_stay_out() -> None:
    """What the configuration reads as ${NAME}, and what would be a lie to a job."""
    base = base_environment(RICH, {"DB_PASS", "HOME"})
    assert base == {
        "HOME": "/home/ann",
        "USER": "ann",
        "LOGNAME": "ann",
        "SHELL": "/bin/zsh",
        "PATH": "/usr/bin",
        "LANG": "C",
        "LC_ALL": "C",
        "TZ": "UTC",
        "TMPDIR": "/tmp",
        "EDITOR": "vi",
    }


def test_a_start_error_names_no_value_of_the_environment() -> None:
    """FC-082: the system's text holds the path that was filled in; what else an end says stays as it is."""
    variables = {"DB_PASS": "s3cr&t", "PIN": "1"}
    result = AttemptResult(start_error="No such file or directory: '/x/s3cr&t/1'", exit_code=127)
    assert fit_to_tell(result, variables) == AttemptResult(
        start_error="No such file or directory: '/x/${DB_PASS}/1'", exit_code=127
    )
    plain = AttemptResult(exit_code=3)
    assert fit_to_tell(plain, variables) is plain


def test_fc_058_a_bare_start_finds_home_in_the_password_file() -> None:
    """`set -u; echo $HOME` works under a service manager that sets nothing."""
    entry = pwd.getpwuid(__import__("os").geteuid())
    base = base_environment({}, ())
    assert (base["HOME"], base["USER"], base["PATH"]) == (entry.pw_dir, entry.pw_name, DEFAULT_PATH)


@pytest.mark.parametrize(
    ("inherit", "editor", "lang"), [(True, True, True), (False, False, True), (("EDITOR",), True, True)]
)
def test_a_job_may_narrow_what_it_inherits(inherit: bool | tuple[str, ...], editor: bool, lang: bool) -> None:
    """`inherit_env: false` or a list; the login variables, PATH and the language are always there."""
    env = inherited(base_environment(RICH, ()), a_job(inherit_env=inherit))
    assert ("EDITOR" in env, "LANG" in env, "HOME" in env) == (editor, lang, True)


def test_a_job_of_another_user_gets_that_users_login() -> None:
    """HOME, USER, LOGNAME and SHELL come from its passwd entry."""
    root = pwd.getpwnam("root")
    env = inherited(base_environment(RICH, ()), a_job(user="root"))
    assert (env["HOME"], env["USER"], env["LOGNAME"]) == (root.pw_dir, "root", "root")


def test_a_job_is_told_which_run_it_is() -> None:
    """Job, date, run, attempt, trigger, and the due instant in UTC and in its own zone."""
    facts = run_facts(a_run(), a_job(timezone="Europe/Berlin"), 2)
    assert facts == {
        "PYSCHED_JOB": "load",
        "PYSCHED_RUN_DATE": "2027-05-20",
        "PYSCHED_RUN_ID": "load.2027-05-20.1",
        "PYSCHED_ATTEMPT": "2",
        "PYSCHED_TRIGGER": "schedule",
        "PYSCHED_SCHEDULED_AT": "2027-05-20T12:00:00Z",
        "PYSCHED_SCHEDULED_LOCAL": "2027-05-20T14:00:00+02:00",
    }
