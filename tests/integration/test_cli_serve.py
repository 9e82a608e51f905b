"""`serve` as a process, and what the other commands say around its life. Spec: jobs.md 14.1, 14.2."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.shell import shell

TEXT = """
scheduler: {name: night, timezone: Europe/Berlin}
jobs:
  nap: {command: "echo asleep; sleep 300", schedule: manual}
  yearly: {command: "true", schedule: "0 3 1 1 *", depends_on: [nap]}
"""


def test_its_log_tells_of_every_change_of_a_run(tmp_path: Path) -> None:
    """`time level logger: message` on stderr; the end is polite, exit code 0, and running jobs go on."""
    with shell(tmp_path, TEXT) as pysched:
        run_id = pysched.serve().trigger("nap")
        pysched.until_state(run_id, "running")
        assert pysched.stop() == 0
        lines = [line.split(" ", 3) for line in pysched.said().splitlines()]
        assert all(len(line) == 4 and line[2].endswith(":") for line in lines)
        assert f"{run_id} is running" in pysched.said()
        assert "2 jobs of" in pysched.said()
        assert "ready: 0 open runs," in pysched.said()
        pysched.serve()
        assert pysched.run(run_id)["state"] == "running"
        pysched.until(lambda: "ready: 1 open run," in pysched.said(), "its log says so, too")


def test_a_log_file_of_its_own(tmp_path: Path) -> None:
    """Stderr stays quiet; --log-level says how much."""
    with shell(tmp_path, TEXT) as pysched:
        pysched.serve("--log-file", "own.log", "--log-level", "warning")
        pysched.until_state(pysched.trigger("nap"), "running")
        assert pysched.said() == ""
        assert "is running" not in (tmp_path / "own.log").read_text()


def test_a_second_one_is_refused(tmp_path: Path) -> None:
    """Exit code 1; it names the first."""
    with shell(tmp_path, TEXT) as pysched:
        pysched.serve()
        assert pysched.scheduler is not None
        second = pysched("serve")
        assert second.code == 1
        assert f"(pid {pysched.scheduler.pid})" in second.err


def test_a_faulty_configuration_is_2_and_makes_nothing(tmp_path: Path) -> None:
    """Every problem is told."""
    with shell(tmp_path, TEXT.replace("[nap]", "[snap]")) as pysched:
        done = pysched("serve")
        assert done.code == 2
        assert 'did you mean "nap"?' in done.err
        assert not (tmp_path / "state").exists()


def test_ctrl_c_stops_it_and_leaves_jobs_alone(tmp_path: Path) -> None:
    """Exit code 0: it was asked to stop and did."""
    with shell(tmp_path, TEXT) as pysched:
        run_id = pysched.serve().trigger("nap")
        pysched.until_state(run_id, "running")
        assert pysched.scheduler is not None
        pysched.scheduler.send_signal(signal.SIGINT)
        assert pysched.scheduler.wait(60) == 0
        pysched.until(lambda: any("sleep 300" in _command(pid) for pid in pysched._marked()), "the job goes on")


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def test_while_none_runs_every_command_says_so(tmp_path: Path) -> None:
    """Exit code 1 and how to start one; `pysched` alone says what to do next."""
    with shell(tmp_path, TEXT) as pysched:
        assert "no scheduler is running" in pysched.ok().out
        for given in (["status"], ["trigger", "nap"], ["kill", "nap.2027-05-20.1"], ["reload"], ["log", "nap"]):
            done = pysched(*given)
            assert (done.code, done.out) == (1, "")
            assert "mend: pysched serve pysched.yaml starts one" in done.err


def test_why_answers_while_none_runs(tmp_path: Path) -> None:
    """First that nothing starts now, then what the store says, by the same rules."""
    with shell(tmp_path, TEXT) as pysched:
        assert pysched("why", "nap").code == 1
        pysched.serve()
        waiting = pysched.trigger("yearly", "--run-date", "2027-05-20")
        running = pysched.ask("/api/why", run=waiting)["why"]
        pysched.stop()
        answer = pysched.ok("why", waiting, "--json").json
        assert "no scheduler is running" in answer["scheduler"]["error"]
        for key in ("culprit", "text", "release", "job", "run_date"):
            assert answer["why"][key] == running[key]
        lines = pysched.ok("why", "yearly", "2027-05-20").lines
        assert lines[0] == "no scheduler is running, so nothing starts now"
        assert "it waits for nap of 2027-05-20" in "\n".join(lines)
        assert pysched.ok("why", "yearly", "2030-01-01", "--json").json["why"]["culprit"] == "time"
        assert pysched("why", "nobody").code == 1


def test_an_older_store_is_put_back_and_asks_before_it_catches_up(tmp_path: Path) -> None:
    """backup, restore, catch-up: nothing that was missed starts by itself."""
    with shell(tmp_path, TEXT) as pysched:
        pysched.serve()
        assert pysched.ok("backup", "copy.db").out.endswith("bytes, checked\n")
        assert pysched.ok("backup", "copy.db").out.endswith("bytes, checked, in the place of an earlier backup\n")
        assert pysched("restore", "copy.db", "--yes").code == 1
        pysched.stop()
        assert pysched("restore", "copy.db", stdin="n\n").code == 1
        done = pysched.ok("restore", "copy.db", "--yes")
        assert "pysched.db.before-restore-1" in done.out
        pysched.serve()
        assert "are held" in pysched.ok("status").out
        assert pysched.ok("catch-up").out.startswith("held: firings from ")
        assert pysched.ok("catch-up", "--skip", "--reason", "nothing ran").out.startswith("skipped: ")
        assert pysched.ok("catch-up").out.startswith("nothing is held")


def test_what_is_no_backup_is_not_put_back(tmp_path: Path) -> None:
    """It is read through before anything is touched."""
    with shell(tmp_path, TEXT) as pysched:
        (tmp_path / "letter.txt").write_text("dear all")
        done = pysched("restore", "letter.txt", "--yes")
        assert done.code == 1
        assert "this is no whole backup of a store" in done.err
        assert "put a backup back" not in done.err
        assert pysched("restore", "nowhere.db", "--yes").code == 1
        assert pysched("backup", "copy.db").code == 1
        assert not (tmp_path / "state").exists()


def test_stop_ends_it_and_leaves_jobs_alone(tmp_path: Path) -> None:
    """It returns when the scheduler has ended; where none runs there is nothing to stop."""
    with shell(tmp_path, TEXT) as pysched:
        assert pysched("stop").code == 1
        pysched.serve()
        run_id = pysched.trigger("nap")
        pysched.until_state(run_id, "running")
        assert pysched.scheduler is not None
        assert pysched.ok("stop").out == f"stopped (pid {pysched.scheduler.pid}); running jobs go on\n"
        assert pysched.scheduler.wait(60) == 0
        assert pysched("stop").code == 1
        pysched.serve()
        assert pysched.run(run_id)["state"] == "running"


def test_dropped_firings_are_in_the_logbook_that_events_shows(tmp_path: Path) -> None:
    """They have no run: this is where they are seen, with how many there were."""
    text = 'jobs: {ticks: {command: "true", schedule: "* * * * * *", overlap: allow}}'
    with shell(tmp_path, text) as pysched:
        pysched.serve()
        pysched.ok("pause", "ticks", "--reason", "upgrade")
        since = pysched.ask("/api/scheduler")["last_tick"]
        pysched.until(lambda: pysched.ask("/api/scheduler")["last_tick"] > since, "a firing was due")
        pysched.until(lambda: pysched.ask("/api/scheduler")["last_tick"][:18] != since[:18], "some more were")
        pysched.ok("resume", "ticks")
        lines = pysched.ok("events", "--job", "ticks", "--action", "firings_dropped").lines
        assert "count" in lines[1]
        assert "reason upgrade" in pysched.ok("events", "--action", "pause").out
        assert pysched.ok("events", "--job", "_scheduler", "--action", "nothing").out == "no lines match\n"
