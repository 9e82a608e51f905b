"""`pysched demo --serve`: a console that is alive, for the user who started it, and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from pyscheduler.engine.clock import SystemClock
from tests.serving import PATIENCE_S, ROOT


@pytest.mark.timeout(300)  # thirty days are a minute and more on a busy machine
def test_a_living_day_is_served_and_goes_without_a_trace(tmp_path: Path) -> None:
    """The address opens on the board with what was promised; Ctrl-C removes the state and ends what ran."""
    # its day is made around the present: where that is soon after midnight, there is no day yet to be in the middle of
    hours_to_noon = 12 - SystemClock().now().hour
    zone = f"Etc/GMT{-hours_to_noon:+d}"  # as POSIX has it, plus is to the west
    own = {"PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1", "TZ": zone}
    env = os.environ | own
    command = [sys.executable, "-m", "pyscheduler.cli", "demo", "--serve"]
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) as demo:
        try:
            assert demo.stdout is not None
            said = ""
            for line in demo.stdout:
                said += line
                if "Ctrl-C" in line:
                    break
            address = re.search(r"http://127\.0\.0\.1:\d+/", said)
            assert address, said
            with urllib.request.urlopen(address[0], timeout=PATIENCE_S) as answer:
                board = answer.read().decode()
            for job in ("ledger-export", "bank-transfer", "extract-rates", "partner-import", "send-invoices"):
                assert f"/runs/{job}." in board
            states = ("failed", "blocked", "retry_wait", "held", "waiting")
            assert [state for state in states if f'data-state="{state}"' not in board] == []
            with urllib.request.urlopen(f"{address[0]}jobs/backup-database", timeout=PATIENCE_S) as answer:
                assert "30 latest runs" in answer.read().decode()
        finally:
            demo.send_signal(signal.SIGINT)
            deadline = time.monotonic() + PATIENCE_S
            while demo.poll() is None and time.monotonic() < deadline:
                time.sleep(0.1)
            demo.kill()  # one that did not hear is not waited for
    assert demo.returncode == 0
    assert list(tmp_path.glob("pysched-living-*")) == []
