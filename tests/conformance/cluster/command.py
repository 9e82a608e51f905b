"""`pysched` as it is typed: a configuration of a test's own, and the command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from pyscheduler.engine.clock import SystemClock
from tests.conformance.cluster.kit import SOURCE, World


@dataclass
class Typed:
    """A configuration file in a world's folder. Jobs are `name: YAML of one line`."""

    world: World

    @property
    def file(self) -> Path:
        return self.world.folder / "pysched.yaml"

    def write(self, jobs: dict[str, str], settings: str = "") -> None:
        """Write the configuration."""
        place = self.world.place()
        store = "\n  store: ${TEST_STORE}" if self.world.store is not None else ""
        lines = "".join(f"\n  {name}: {job}" for name, job in jobs.items())
        head = f"scheduler:\n  timezone: UTC\n  state_dir: {place['state_dir']}{store}{settings}"
        self.file.write_text(f"{head}\njobs:{lines}\n")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Type a command and do not wait for it."""
        env = {**os.environ, "PYTHONPATH": str(SOURCE / "src"), "TEST_STORE": self.world.store or ""}
        argv = [sys.executable, "-m", "pyscheduler.cli", *arguments, "-c", str(self.file)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(argv, stdout=pipe, stderr=pipe, text=True, env=env, cwd=self.world.folder)
        self.world.processes.append(process)
        return process

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Type a command; returns its exit code, its output, its errors."""
        process = self.start(*arguments)
        out, err = process.communicate(timeout=90)
        return process.returncode, out, err


NEVER = "0 0 0 1 1 *"


def soon(seconds: int) -> tuple[str, datetime]:
    """Return a cron expression for one second that is about to come, and that second."""
    at = (SystemClock().now() + timedelta(seconds=seconds)).replace(microsecond=0)
    return f"{at.second} {at.minute} {at.hour} {at.day} {at.month} *", at
