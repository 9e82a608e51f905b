"""The command line against a real scheduler: each verb that acts, its answer, its exit code. Spec: jobs.md 11, 14.1."""

from __future__ import annotations

import getpass
from collections.abc import Iterator

import pytest

from tests.shell import Shell, shell

TEXT = """
scheduler: {name: night, timezone: Europe/Berlin, kill_grace: 2s}
defaults: {overlap: allow}
jobs:
  quick: {command: "echo done", schedule: manual}
  nap: {command: "sleep 300", schedule: manual}
  after: {command: "true", schedule: "0 3 1 1 *", depends_on: [nap]}
  daily: {command: "true", schedule: "0 3 * * *"}
  first: {command: "true", schedule: manual}
  second: {command: "true", depends_on: [first]}
"""


@pytest.fixture(scope="module")
def pysched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell(tmp_path_factory.mktemp("night"), TEXT) as found:
        yield found.serve()


def waiting(pysched: Shell, day: str) -> str:
    """Return a run that waits for an upstream."""
    run_id = pysched.trigger("after", "--run-date", day)
    assert pysched.run(run_id)["state"] == "waiting"
    return run_id


def test_trigger_starts_a_run(pysched: Shell) -> None:
    """One line `RUN_ID: STATE`, exit code 0, and the job has really run."""
    done = pysched.ok("trigger", "quick", "--run-date", "2027-05-20", "--reason", "to see")
    run_id, _, state = done.out.strip().partition(": ")
    assert run_id == "quick.2027-05-20.1"
    assert state.partition(" ")[0] in ("queued", "running", "succeeded")
    pysched.until_state(run_id, "succeeded")
    assert pysched.ok("log", run_id).raw == b"done\n"
    assert "reason to see" in pysched.ok("show", run_id).out


def test_trigger_of_an_unknown_job_is_1(pysched: Shell) -> None:
    """With what the scheduler says."""
    done = pysched("trigger", "quik")
    assert (done.code, done.out) == (1, "")
    assert "there is no job quik" in done.err


def test_kill_ends_the_processes(pysched: Shell) -> None:
    """The run fails, `killed by` the user that the kernel names; a second kill is refused."""
    run_id = pysched.trigger("nap", "--run-date", "2027-05-01")
    pysched.until_state(run_id, "running")
    started = pysched.run(run_id)["started_at"]
    assert started is not None
    why = pysched.ok("why", run_id, "--json").json
    assert why["why"]["run"]["started_at"] == started
    assert why["next_firing"] is None
    (told,) = pysched.ok("kill", run_id, "--json").json["runs"]
    assert told["started_at"] == started
    run = pysched.until_state(run_id, "failed")
    assert run["reason"].startswith("killed by ")
    assert pysched("kill", run_id).code == 1


def test_hold_and_release(pysched: Shell) -> None:
    """A held run stays, a released one goes back to where it was."""
    run_id = waiting(pysched, "2027-05-02")
    assert pysched.ok("hold", run_id).out.startswith(f"{run_id}: held")
    assert pysched("hold", run_id).code == 1
    assert pysched.ok("release", run_id).out == f"{run_id}: waiting (waiting for nap (2027-05-02): no run yet)\n"


def test_force_start_passes_dependencies(pysched: Shell) -> None:
    """It runs though its upstream has no run."""
    run_id = waiting(pysched, "2027-05-03")
    pysched.ok("force-start", run_id)
    pysched.until_state(run_id, "succeeded")


@pytest.mark.parametrize(
    ("verb", "day", "state"),
    [
        ("skip", "2027-05-04", "skipped"),
        ("cancel", "2027-05-05", "cancelled"),
        ("mark-success", "2027-05-06", "succeeded"),
        ("mark-failed", "2027-05-07", "failed"),
    ],
)
def test_a_waiting_run_is_decided_by_hand(pysched: Shell, verb: str, day: str, state: str) -> None:
    """Each verb ends it in its own state, and the answer for programs says so."""
    run_id = waiting(pysched, day)
    found = pysched.ok(verb, run_id, "--json").json
    assert [(run["run_id"], run["state"]) for run in found["runs"]] == [(run_id, state)]
    assert found["refused"] == []


def test_rerun_opens_an_ended_run_and_what_depends_on_it(pysched: Shell) -> None:
    """With --downstream the dependant runs again too; an open run is refused."""
    first = pysched.trigger("first", "--run-date", "2027-05-08")
    second = "second.2027-05-08.1"
    pysched.until_state(second, "succeeded")
    done = pysched.ok("rerun", first, "--downstream")
    assert [line.partition(":")[0] for line in done.lines] == [first, second]
    pysched.until(lambda: pysched.run(second)["reruns"] == 1, "it was rerun")
    assert pysched.until_state(second, "succeeded")["attempt"] == 2
    assert pysched("rerun", waiting(pysched, "2027-05-09")).code == 1


def test_several_runs_in_one_command(pysched: Shell) -> None:
    """A refused one does not stop the others; the exit code is 1."""
    run_id = waiting(pysched, "2027-05-10")
    done = pysched("skip", "nobody.2027-05-10.1", run_id)
    assert done.code == 1
    assert done.out == f"{run_id}: skipped (skip by {getpass.getuser()})\n"
    assert "nobody.2027-05-10.1" in done.err


def test_backfill_makes_the_missing_runs(pysched: Shell) -> None:
    """One for each date that has none; the second time there is nothing to do."""
    given = ("backfill", "daily", "--from", "2026-01-05", "--to", "2026-01-07")
    assert [line.partition(":")[0] for line in pysched.ok(*given).lines] == [
        "daily.2026-01-05.1",
        "daily.2026-01-06.1",
        "daily.2026-01-07.1",
    ]
    assert pysched.ok(*given).out.startswith("no runs")
    assert pysched("backfill", "daily", "--from", "2026-01-07", "--to", "2026-01-05").code == 1


def test_pause_and_resume(pysched: Shell) -> None:
    """A job, then everything; the board says so; ending what is not there is refused."""
    pysched.ok("pause", "daily", "--reason", "upgrade")
    pysched.ok("pause", "--all")
    board = pysched.ok("status").out
    assert "everything is paused by" in board
    assert "job daily is paused by" in board
    assert pysched("pause", "--all").code == 1
    pysched.ok("resume", "--all", "--catch-up")
    pysched.ok("resume", "daily")
    assert "paused" not in pysched.ok("status").out
    assert pysched("resume", "daily").code == 1


def test_reload_takes_all_or_nothing(pysched: Shell) -> None:
    """A good configuration gets a version, a bad one its problems and exit code 1, the same one is no reload."""
    pysched.write(TEXT + "  extra: {command: 'true', schedule: manual}\n")
    assert pysched.ok("reload").out.startswith("reloaded, version ")
    assert pysched.ok("trigger", "extra").out.startswith("extra.")
    assert pysched.ok("reload").out.startswith("nothing to reload")
    pysched.write(TEXT + "  extra: {xcommand: 'true'}\n")
    done = pysched("reload")
    assert done.code == 1
    assert "pysched.yaml:" in done.err
    assert 'did you mean "command"?' in done.err
    assert pysched.ok("trigger", "extra").code == 0
    assert "the reload by" in pysched.ok("status").out
    pysched.write(TEXT)
    pysched.ok("reload")


def test_catch_up_has_nothing_to_decide(pysched: Shell) -> None:
    """The usual case; deciding anyway is refused."""
    assert pysched.ok("catch-up").out.startswith("nothing is held")
    assert pysched("catch-up", "--accept").code == 1


def test_the_actor_is_the_user_that_the_kernel_names(pysched: Shell) -> None:
    """Never a word of the command's own."""
    run_id = pysched.trigger("quick", "--run-date", "2027-06-01")
    events = pysched.ok("show", run_id, "--json").json["events"]
    assert [line["actor"] for line in events if line["action"] == "trigger"] == [getpass.getuser()]
