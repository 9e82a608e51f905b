from __future__ import annotations

import os
import pwd

import pytest

from tests.unit.config.conftest import Build

JOB = "jobs: {{a: {{command: x, schedule: manual, user: {}}}}}"


def test_a_user_who_is_not_there_is_warned_of(problems: Build) -> None:
    """Before the first night, not after it."""
    (found,) = problems(JOB.format("nobody-of-that-name"))
    assert found == (
        'warning c.yaml:1:48: job a: user: no user "nobody-of-that-name" on this machine; '
        "each run would end as a start error"
    )


def test_a_user_whom_we_cannot_become_is_warned_of(problems: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root becomes anybody, others only themselves."""
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    (found,) = problems(JOB.format("root"))
    assert 'only a scheduler that runs as root can become "root"; here uid 4711 runs it' in found
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert problems(JOB.format("root")) == []
    mine = pwd.getpwall()[-1]
    monkeypatch.setattr(os, "geteuid", lambda: mine.pw_uid)
    assert problems(JOB.format(mine.pw_name)) == []
