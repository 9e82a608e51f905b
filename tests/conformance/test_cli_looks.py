"""The command line against a real scheduler: every verb that looks. Spec: jobs.md 14.1; DESIGN 11."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.hours import MIDNIGHT, NIGHTLY, clear_of
from tests.shell import ROOT, Shell, shell

TEXT = r"""
scheduler: {name: night, timezone: Europe/Berlin}
pools: {disk: 1}
defaults: {schedule: manual}
jobs:
  bytes: {command: "printf 'before\\n\\377\\376\\303\\n\\342\\202 cut\\nafter\\n'; printf 'oops\\n' >&2"}
  flaky: {command: "echo attempt {attempt}; test {attempt} -ge 2", retries: {count: 1, delay: 1h}}
  fails: {command: "exit 3"}
  holder: {command: "sleep 300", pools: {disk: 1}}
  wants: {command: "true", pools: {disk: 1}}
  after: {command: "true", schedule: "0 3 1 1 *", depends_on: [fails]}
  slow: {command: "echo one; sleep 1; echo two; sleep 1; printf three"}
  nightly: {command: "true", schedule: "30 2 * * *"}
"""
OFFSET = re.compile(r"[+-]\d{2}:\d{2}$")


@pytest.fixture(scope="module")
def pysched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    clear_of(MIDNIGHT, NIGHTLY, zone="Europe/Berlin")
    with shell(tmp_path_factory.mktemp("night"), TEXT) as found:
        found.serve("--log-level", "debug")
        found.until_state(found.trigger("bytes"), "succeeded")
        found.until_state(found.trigger("fails"), "failed")
        yield found


def test_alone_it_says_what_to_do_next(pysched: Shell) -> None:
    """The scheduler runs: look at the board."""
    assert pysched.ok().out.startswith("night runs 8 jobs of pysched.yaml; next firing 20")
    assert "pysched status" in pysched.ok().out


def test_status_has_every_run_of_today_worst_first(pysched: Shell) -> None:
    """And each line's time has its offset."""
    lines = pysched.ok("status").lines
    rows = [line for line in lines if line.startswith(("bytes.", "fails."))]
    assert rows[0].startswith("fails.")
    assert rows[-1].startswith("bytes.")
    assert all(OFFSET.search(row.split()[4]) for row in rows)
    found = pysched.ok("status", "--json").json
    assert {"bytes", "fails"} <= {run["job"] for run in found["runs"]}
    assert pysched.ok("status", "--date", "2000-01-01", "--json").json["runs"] == []


def test_runs_are_filtered(pysched: Shell) -> None:
    """By job and state, newest first, bounded."""
    for _ in range(3):
        pysched.until_state(pysched.trigger("fails"), "failed")
    found = pysched.ok("runs", "--job", "fails", "--state", "failed", "--limit", "2", "--json").json
    assert found["more"] is True
    assert [run["job"] for run in found["runs"]] == ["fails", "fails"]
    assert found["runs"][0]["scheduled_at"] > found["runs"][1]["scheduled_at"]
    assert pysched.ok("runs", "--job", "nightly").out == "no runs match\n"


def test_a_log_comes_out_byte_for_byte(pysched: Shell) -> None:
    """FC-048: raw to a pipe; the two streams apart; LANG=C is no trouble."""
    run_id = pysched.ask("/api/runs", job="bytes")["runs"][0]["run_id"]
    whole = b"before\n\xff\xfe\xc3\n\xe2\x82 cut\nafter\n"
    assert pysched.ok("log", run_id).raw == whole
    assert pysched("log", run_id, env={"LANG": "C", "LC_ALL": "C"}).raw == whole
    assert pysched.ok("log", run_id, "--stderr").raw == b"oops\n"
    assert pysched.ok("log", run_id, "--tail", "2").raw == b"\xe2\x82 cut\nafter\n"
    assert pysched.ok("log", "bytes").raw == whole


def test_following_a_running_job_to_its_end(pysched: Shell) -> None:
    """What it writes comes as it is written; the command ends with the run, exit code 0."""
    run_id = pysched.trigger("slow")
    following = pysched.begin("log", "-f", run_id)
    out, err = following.communicate(timeout=60)
    assert following.returncode == 0
    assert out == b"one\ntwo\nthree"
    assert err.decode() == f"--- {run_id}: succeeded\n"


def test_following_goes_from_attempt_to_attempt(pysched: Shell) -> None:
    """A failed attempt, its retry (which an hour would pass before, by itself), the end."""
    run_id = pysched.trigger("flaky")
    pysched.until_state(run_id, "retry_wait")
    following = pysched.begin("log", "-f", run_id)
    pysched.until(lambda: f"{run_id}/log 200" in pysched.said(), "it follows")
    pysched.ok("force-start", run_id)
    out, err = following.communicate(timeout=60)
    assert out == b"attempt 1\nattempt 2\n"
    assert err.decode().splitlines()[-1] == f"--- {run_id}: succeeded"


def test_ctrl_c_ends_the_following_and_leaves_the_run_alone(pysched: Shell) -> None:
    """Exit code 130, no traceback."""
    run_id = pysched.trigger("holder")
    pysched.until_state(run_id, "running")
    following = pysched.begin("log", "-f", run_id)
    pysched.until(lambda: f"{run_id}/log 200" in pysched.said(), "it follows")
    following.send_signal(signal.SIGINT)
    _, err = following.communicate(timeout=60)
    assert following.returncode == 130
    assert b"Traceback" not in err
    assert pysched.run(run_id)["state"] == "running"
    pysched.ok("kill", run_id)
    pysched.until_state(run_id, "failed")


def test_why_names_the_culprit(pysched: Shell) -> None:
    """A dependency down to its root, a pool and who holds it, a time to come, a date that no schedule names."""
    failed = pysched.trigger("fails", "--run-date", "2027-05-20")
    pysched.until_state(failed, "failed")
    blocked = pysched.trigger("after", "--run-date", "2027-05-20")
    answer = pysched.ok("why", blocked, "--json").json["why"]
    assert answer["culprit"] == "dependency"
    assert answer["because"]["run"]["run_id"] == failed
    assert failed in pysched.ok("why", "after", "2027-05-20").out
    holder = pysched.trigger("holder", "--run-date", "2027-05-21")
    pysched.until_state(holder, "running")
    queued = pysched.trigger("wants", "--run-date", "2027-05-21")
    pool = pysched.ok("why", queued, "--json").json["why"]
    assert pool["culprit"] == "pool"
    assert holder in pool["text"]
    assert pysched.ok("why", "nightly", "2030-01-01", "--json").json["why"]["culprit"] == "time"
    assert pysched.ok("why", "after", "2030-06-01", "--json").json["why"]["culprit"] == "schedule"
    assert pysched("why", "nobody").code == 1
    pysched.ok("kill", holder)
    pysched.until_state(queued, "succeeded")


@pytest.mark.parametrize(
    "given",
    [
        ["status"],
        ["runs"],
        ["show", "fails"],
        ["why", "nightly"],
        ["next"],
        ["next", "nightly"],
        ["forecast"],
        ["catch-up"],
        ["doctor"],
        ["version"],
        ["validate"],
        ["simulate"],
        ["diff", "{home}/pysched.yaml", "{home}/pysched.yaml"],
        ["backup", "{home}/copy.db"],
        ["hash-token"],
    ],
    ids=lambda given: given[0],
)
def test_every_command_that_prints_data_has_an_answer_for_programs(pysched: Shell, given: list[str]) -> None:
    """One JSON document on stdout, under any locale."""
    given = [word.format(home=pysched.home) for word in given]
    for encoding, locale in (("utf-8", "C.UTF-8"), ("ascii", "C")):
        done = pysched.inside(*given, "--json", encoding=encoding, LANG=locale)
        assert done.code == 0
        assert isinstance(done.json, dict)
        assert done.raw.isascii() or encoding == "utf-8"


@pytest.mark.parametrize("given", [["status"], ["runs"], ["show", "fails"], ["next"], ["doctor"], ["--help"]])
def test_a_plain_locale_gets_plain_ascii(pysched: Shell, given: list[str]) -> None:
    """LANG=C: tables without a single other character."""
    done = pysched.inside(*given, LANG="C")
    assert done.code == 0
    assert done.raw.isascii(), done.out


def test_a_reader_that_leaves_is_no_error_worth_words(pysched: Shell) -> None:
    """`pysched runs | head -1`."""
    words = " ".join([*pysched.command("runs"), "| head -1"])
    done = subprocess.run(["/bin/sh", "-c", words], env=pysched.env, cwd=pysched.home, capture_output=True, check=True)
    assert done.stdout.startswith(b"RUN ")
    assert done.stderr == b""


HEAVY = (
    "pydantic",
    "sqlalchemy",
    "fastapi",
    "alembic",
    "uvicorn",
    "asyncio",
    "pyscheduler.timetable",
    "pyscheduler.model.job",
    "importlib.resources",
)
PROBE = f"""
import sys
from pyscheduler.cli.main import main
code = main(sys.argv[1:])
print("|".join(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize(
    "given",
    [
        [],
        ["status"],
        ["runs"],
        ["show", "fails"],
        ["log", "bytes"],
        ["why", "nightly"],
        ["trigger", "bytes"],
        ["pause", "nightly"],
        ["resume", "nightly"],
        ["reload"],
        ["catch-up"],
        ["--help"],
        ["completion", "bash"],
    ],
    ids=lambda given: " ".join(given) or "alone",
)
def test_a_thin_command_imports_nothing_heavy(pysched: Shell, given: list[str]) -> None:
    """DESIGN 9: what only talks to the scheduler needs no pydantic, SQLAlchemy or fastapi."""
    words = [sys.executable, "-c", PROBE, *given]
    done = subprocess.run(words, env=pysched.env, cwd=pysched.home, capture_output=True, check=True)
    assert done.stderr.splitlines()[-1] == b""


def test_a_named_configuration_is_used_from_anywhere(pysched: Shell) -> None:
    """`-c` before or after the command, or PYSCHED_CONFIG."""
    elsewhere = Shell(ROOT)
    for given in (["-c", str(pysched.config), "status"], ["status", "-c", str(pysched.config)]):
        assert elsewhere.ok(*given).out.startswith("night:")
    assert elsewhere("status", env={"PYSCHED_CONFIG": str(pysched.config)}).code == 0
    assert elsewhere("status", env={"PYSCHED_CONFIG": ""}).code == 2
    assert os.path.exists(pysched.config)
