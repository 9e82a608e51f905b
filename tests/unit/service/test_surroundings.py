"""What is said of a unit or a container that would kill running jobs: each case, and silence where all is well."""

from __future__ import annotations

import pytest

from pyscheduler.service.surroundings import Around, remarks, unit_of

GOOD = {"KillMode": "process", "OOMPolicy": "continue", "TasksMax": "infinity", "Type": "notify"}


def said(**around: object) -> list[str]:
    return [remark.what for remark in remarks(Around(**around), max_running=100)]  # type: ignore[arg-type]


def test_the_unit_we_ship_is_fine() -> None:
    """Nothing is said where restarting is free."""
    assert said(unit="pysched.service", shown=GOOD, first="systemd", under_first=True) == []


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("KillMode", "control-group", "stopping or restarting it kills every running job"),
        ("KillMode", "mixed", "stopping or restarting it kills every running job"),
        ("OOMPolicy", "stop", "takes all others with it"),
        ("OOMPolicy", "kill", "takes all others with it"),
        ("TasksMax", "799", "100 running jobs may want 800 processes"),
    ],
)
def test_a_unit_that_kills_jobs_is_named(setting: str, value: str, words: str) -> None:
    """The unit, the setting, what it does to jobs; and how to mend it."""
    (remark,) = remarks(Around(unit="my.service", shown=GOOD | {setting: value}), max_running=100)
    assert remark.what.startswith(f"my.service has {setting}={value}: ")
    assert words in remark.what
    assert f"set {setting}=" in remark.mend
    assert remark.warn


def test_what_systemd_does_not_say_is_not_guessed() -> None:
    """No answer, no remark; nor where KillMode is none or the limit large enough."""
    assert said(unit="my.service", shown={}) == []
    assert said(unit="my.service", shown=GOOD | {"KillMode": "none", "TasksMax": "800"}) == []


def test_the_first_process_of_a_container_takes_its_jobs_along() -> None:
    """As pid 1, or right under an init that ends with us, a restart kills everything."""
    assert "this is pid 1" in said(is_first=True, first="python")[0]
    assert "pid 1 is tini, which ends with this process" in said(under_first=True, first="tini")[0]
    assert said(under_first=True, first="systemd") == []


def test_a_container_with_another_first_process_is_for_doctor_only() -> None:
    """FC-038: without a warning at each start."""
    (remark,) = remarks(Around(container=True, first="supervisord"), max_running=8)
    assert not remark.warn


@pytest.mark.parametrize(
    ("cgroup", "unit"),
    [
        ("0::/system.slice/pysched.service\n", "pysched.service"),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/mine.service\n", "mine.service"),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/shell.scope\n", ""),
        ("1:name=systemd:/system.slice/old.service\n0::/\n", "old.service"),
        ("0::/user.slice/user-0.slice/session-3.scope\n", ""),
        ("", ""),
    ],
)
def test_the_unit_is_read_from_the_cgroup(cgroup: str, unit: str) -> None:
    """The innermost service, but not the user's own manager."""
    assert unit_of(cgroup) == unit
