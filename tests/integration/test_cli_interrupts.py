"""Ctrl-C ends a command whatever it is doing at that instant."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.serving import ROOT

PROGRAM = """
import os, signal, sys, time
from pyscheduler.cli import main as way_in

if "slow" in sys.argv:
    set_timer = signal.setitimer
    slow = [True]
    def setitimer(*given):
        set_timer(*given)
        if slow and slow.pop():
            time.sleep(0.5)
    signal.setitimer = setitimer

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0)  # here it is raised, and Python may not let it out

def command(**given):
    Finalized()
    time.sleep(60)

way_in.pysched.main = command
sys.exit(way_in.main())
"""


@pytest.mark.parametrize("machine", ["quick", "slow"])
def test_ctrl_c_that_comes_where_python_may_not_raise_ends_the_command_all_the_same(machine: str) -> None:
    """It was lost, and `log -f` went on for ever: it comes again a moment later, also where that moment is too soon."""
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", PROGRAM, machine]
    done = subprocess.run(command, env=env, capture_output=True, timeout=100, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
