"""`stop` and the process that it waits for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pyscheduler.cli import at_home
from tests.unit.cli.prompt import Prompt

SLOW = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.5), sys.exit(0)))
print("here", flush=True)
time.sleep(60)
"""


def test_it_says_stopped_when_the_process_has_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not when its lock is free, or cannot be seen for a moment: what is left of it may still work."""
    with subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        seen = [child.pid, child.pid]
        monkeypatch.setattr(at_home, "scheduler_of", lambda _folder: seen.pop() if seen else None)
        pysched = Prompt(tmp_path, capsys)
        assert pysched("stop").out == f"stopped (pid {child.pid}); running jobs go on\n"
        assert child.poll() == 0
