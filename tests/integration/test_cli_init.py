"""The unit that `init --systemd` writes, in systemd's own judgement where systemd is there to judge."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.shell import ROOT, Shell, shell

NAMES = """Description After StartLimitIntervalSec Type NotifyAccess User WorkingDirectory EnvironmentFile ExecStart
ExecReload KillMode OOMPolicy TasksMax Restart RestartSec WatchdogSec TimeoutStartSec TimeoutStopSec WantedBy"""
KNOWN = frozenset(NAMES.split())
"""Settings that systemd.unit(5), systemd.service(5), systemd.exec(5) and systemd.kill(5) know by these names."""


def complaints(unit: Path, *scope: str) -> str:
    """Return what systemd has to say; where it is not installed, settings it would not know."""
    if shutil.which("systemd-analyze"):
        words = ["systemd-analyze", *scope, "verify", "--man=no", str(unit)]
        env = {**os.environ, "XDG_RUNTIME_DIR": str(unit.parent)}
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
        # What it says of other units of this host is no matter of ours.
        said = [line for line in done.stderr.splitlines() if unit.name in line or "pysched" in line]
        return "\n".join(said) if said or done.returncode == 0 else done.stderr
    names = [line.partition("=")[0] for line in unit.read_text().splitlines() if "=" in line and line[0] not in "#["]
    return " ".join(name for name in names if name not in KNOWN)


def written(pysched: Shell, *options: str) -> Path:
    """Return the unit that init writes."""
    unit = pysched.home / "night.service"
    pysched.ok("init", "--systemd", "--output", str(unit), *options)
    return unit


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    """Also where the path of the configuration has blanks and a percent sign in it."""
    for number, folder in enumerate(("plain", "100% my jobs")):
        home = tmp_path / folder
        with shell(home, "scheduler: {name: night}\n") as pysched:
            assert complaints(written(pysched)) == "", number


def test_systemd_finds_nothing_wrong_with_a_users_unit(tmp_path: Path) -> None:
    """`systemctl --user`."""
    with shell(tmp_path, "scheduler: {name: night}\n") as pysched:
        assert complaints(written(pysched, "--user"), "--user") == ""


def test_a_wrong_unit_would_be_found(tmp_path: Path) -> None:
    """The judge is awake."""
    unit = tmp_path / "wrong.service"
    unit.write_text("[Service]\nType=notify\nKilMode=process\nExecStart=/bin/true pysched\n")
    assert "KilMode" in complaints(unit)


def test_the_first_guide_can_be_followed(tmp_path: Path) -> None:
    """The first five minutes of a new user, as docs/guides/first-job.md tells them: write, check, serve, see it run."""
    with shell(tmp_path) as pysched:
        assert "pysched init" in pysched.ok().out
        pysched.ok("init")
        assert pysched("init").code == 1
        assert pysched.ok("validate").out == "ok: pysched.yaml has 1 job\n"
        pysched.serve()
        run_id = pysched.trigger("hello")
        pysched.until_state(run_id, "succeeded")
        assert pysched.ok("log", "hello").out == f"hello from {run_id}, attempt 1\n"
        guide = (ROOT / "docs" / "guides" / "first-job.md").read_text()
        added = guide.partition("```yaml\n")[2].partition("```")[0]
        (tmp_path / "old.yaml").write_text(pysched.config.read_text())
        pysched.write(pysched.config.read_text() + added)
        assert pysched.ok("diff", "old.yaml", "pysched.yaml").lines[0] == "job count is new"
        assert pysched.ok("reload").out == "reloaded, version 2\n"
        counted = pysched.trigger("count")
        assert pysched.until_state(counted, "succeeded")
        assert int(pysched.ok("log", "count").out) >= 1
