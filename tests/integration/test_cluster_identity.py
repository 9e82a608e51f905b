"""Who this process is, and what the kernel says of another: with real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pyscheduler.cluster.identity import HOST_VARIABLE, host_id, identity, probe
from pyscheduler.model.lease import Identity
from pyscheduler.rules.proof import Presence, Verdict, judge

NOON = datetime(2027, 5, 20, 12, tzinfo=UTC)


def verdict(them: Identity, me: Identity) -> Verdict:
    return judge(them, NOON, me, probe(them.pid), db_now=NOON, uptime_s=10)


def test_each_life_has_its_own_name(tmp_path: Path) -> None:
    """Two lives of one process differ in nothing else."""
    one, two = identity(state_dir=tmp_path), identity(state_dir=tmp_path)
    assert one.inc_id != two.inc_id
    assert replace(one, inc_id="") == replace(two, inc_id="")
    assert (one.pid, one.state_dir) == (os.getpid(), str(tmp_path))
    assert one.start_ticks
    assert one.pid_ns
    assert one.boot_id


def test_the_machines_id_does_not_leave_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What others see is a hash, another one for each deployment."""
    monkeypatch.setenv(HOST_VARIABLE, "rack-7")
    assert host_id("a") == host_id("a") != host_id("b")
    assert "rack-7" not in host_id("a")


def test_a_living_process_is_not_dead_and_a_buried_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P1 on a real process: alive, a zombie that nobody has buried, gone."""
    monkeypatch.setenv(HOST_VARIABLE, "rack-7")
    me = identity(state_dir=tmp_path)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        found = probe(child.pid)
        assert found.presence is Presence.PRESENT
        assert found.start_ticks
        them = replace(me, inc_id="them", pid=child.pid, start_ticks=found.start_ticks)
        assert verdict(them, me) is Verdict.UNKNOWN
        assert verdict(replace(them, start_ticks=found.start_ticks - 1), me) is Verdict.DEAD
        assert verdict(replace(them, pid_ns="1"), me) is Verdict.UNKNOWN
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert verdict(them, me) is Verdict.DEAD
    finally:
        child.kill()
        child.communicate()
    assert verdict(them, me) is Verdict.DEAD
    assert verdict(me, me) is Verdict.UNKNOWN


def test_another_users_process_is_alive() -> None:
    """EPERM is an answer: somebody is there."""
    assert probe(1).presence is Presence.PRESENT


@pytest.mark.parametrize("pid", [None, 0, -1])
def test_a_number_that_is_no_pid_is_never_signalled(pid: int | None) -> None:
    """Zero and less would be a whole group."""
    assert probe(pid).presence is Presence.UNKNOWN
