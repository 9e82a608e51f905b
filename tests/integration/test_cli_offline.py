"""What the commands that look say while no scheduler runs, just started, or has moved: real processes."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from pyscheduler.cli import at_home
from pyscheduler.cli.place import look_up
from tests.shell import Shell, shell

TEXT = """
scheduler: {name: night, timezone: Europe/Berlin}
jobs:
  nap:
    command: echo asleep; while [ ! -e door ]; do sleep 0.1; done; echo awake
    cwd: "."
    schedule: manual
    tags: [bed]
  never: {command: "true", schedule: manual}
"""


def kill(pysched: Shell) -> None:
    """End the scheduler without a word."""
    assert pysched.scheduler is not None
    pysched.scheduler.send_signal(signal.SIGKILL)
    pysched.scheduler.wait(60)


def test_after_kill_9_the_store_answers(tmp_path: Path) -> None:
    """Board, list, run, log and logbook; stderr says whose words they are; programs get the same shapes."""
    with shell(tmp_path, TEXT) as pysched:
        run_id = pysched.serve().trigger("nap")
        pysched.until_state(run_id, "running")
        pysched.until(lambda: pysched("log", run_id).out, "it has written")  # at first there is no log yet
        pysched.until(lambda: pysched.ok("show", run_id, "--json").json["attempts"][0]["pid"], "its process is noted")
        online = pysched.ok("show", run_id, "--json").json
        kill(pysched)
        assert pysched.ok("log", run_id).out == "asleep\n"
        assert pysched.ok("log", "nap", "--tail", "1").out == "asleep\n"
        board = pysched.ok("status")
        assert f"{run_id}  ▶ running" in board.out
        assert "nothing fires or starts while no scheduler runs" in board.out
        assert f"what follows is what its store in {tmp_path / 'state'} says" in board.err
        assert pysched.ok("status", "--json").json["scheduler"]["mend"]
        assert pysched.ok("show", run_id, "--json").json["attempts"] == online["attempts"]
        assert run_id in pysched.ok("runs", "--job", "nap", "--state", "running", "--tag", "bed").out
        assert pysched.ok("runs", "--state", "failed").out == "no runs match\n"
        assert run_id in pysched.ok("events", "--job", "nap", "--action", "trigger").out
        done = pysched("show", "nap.2000-01-01.1")
        assert (done.code, done.out) == (1, "")
        assert "there is no run nap.2000-01-01.1" in done.err
        for given in (["kill", run_id], ["trigger", "nap"]):
            assert "no scheduler is running" in pysched(*given).err


def test_a_followed_log_goes_on_through_a_restart(tmp_path: Path) -> None:
    """What the job writes meanwhile is not lost, and the end is told by the next scheduler."""
    with shell(tmp_path, TEXT) as pysched:
        run_id = pysched.serve("--log-level", "debug").trigger("nap")
        pysched.until_state(run_id, "running")
        following = pysched.begin("log", "-f", run_id)
        pysched.until(lambda: f"{run_id}/log 200" in pysched.said(), "it follows")
        kill(pysched)
        pysched.serve()
        (tmp_path / "door").touch()
        out, err = following.communicate(timeout=60)
        assert following.returncode == 0, err
        assert out == b"asleep\nawake\n"
        assert err.decode().splitlines()[-1] == f"--- {run_id}: succeeded"


def test_right_after_serve_every_command_waits(tmp_path: Path) -> None:
    """As the README has it: serve in the background, then status."""
    with shell(tmp_path, TEXT) as pysched:
        with pysched.log.open("ab") as log:
            pysched.scheduler = subprocess.Popen(pysched.command("serve"), cwd=tmp_path, env=pysched.env, stderr=log)
        place = look_up(pysched.config, {})
        # two commands that begin together may overtake each other by more than the pause that a busy machine leaves
        pysched.until(lambda: at_home.on_its_way(place), "it has announced its start")
        done = pysched("status")
        assert done.code == 0, done.err
        assert "night: today" in done.out


def test_another_state_dir_under_a_running_scheduler(tmp_path: Path) -> None:
    """Nobody is told to start a second one."""
    with shell(tmp_path, TEXT) as pysched:
        pysched.serve()
        assert pysched.scheduler is not None
        pysched.write(TEXT.replace("{name: night,", "{name: night, state_dir: other,"))
        done = pysched("reload")
        assert done.code == 1
        assert f"(pid {pysched.scheduler.pid}) has its state in {tmp_path / 'state'}" in done.err
        assert "pysched serve" not in done.err


def test_a_looked_at_board_is_not_written_over(tmp_path: Path) -> None:
    """What was only looked at is no line of the scheduler's log; what was done is, and so is a refusal."""
    with shell(tmp_path, TEXT) as pysched:
        pysched.serve()
        pysched.ok("status")
        pysched.trigger("never")
        assert pysched("show", "never.2000-01-01.1").code == 1
        pysched.until(lambda: "/api/runs/never.2000-01-01.1 404" in pysched.said(), "the refusal")
        assert "/api/jobs/never/trigger 200" in pysched.said()
        assert "GET /api/scheduler" not in pysched.said()
        assert "GET /api/runs 200" not in pysched.said()
