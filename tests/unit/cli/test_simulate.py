"""Days of a schedule in a blink, by the real engine."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.unit.cli.prompt import Prompt

TEXT = """
scheduler: {name: night, timezone: Europe/Berlin, log_retention: 1d}
jobs:
  extract: {command: "true", schedule: "30 2 * * *", retries: {count: 1, delay: 10s}}
  load: {command: "true", depends_on: [extract]}
  aid: {command: "true", depends_on: [{job: load, on: failure}]}
"""


@pytest.fixture
def night(pysched: Prompt) -> Prompt:
    pysched.config.write_text(TEXT)
    return pysched


SKIPPED = "skipped: load (2027-05-{}) did not fail"
DAYS = ("--from", "2027-05-20", "--to", "2027-05-21")


def test_a_board_of_what_would_happen(night: Prompt) -> None:
    """In order of start; the chain follows, the branch for failures is skipped."""
    assert night("simulate", *DAYS).out.splitlines() == [
        "From 2027-05-20 00:00:00+02:00 to 2027-05-21 23:59:59+02:00: 6 runs: 2 skipped, 4 succeeded",
        "",
        "RUN                   STATE        TRY  STARTED                     TOOK  REASON",
        f"aid.2027-05-20.1      » skipped      -  -                              -  {SKIPPED.format(20)}",
        "extract.2027-05-20.1  ✓ succeeded    1  2027-05-20 02:30:00+02:00  1m00s  -",
        "load.2027-05-20.1     ✓ succeeded    1  2027-05-20 02:31:00+02:00  1m00s  -",
        f"aid.2027-05-21.1      » skipped      -  -                              -  {SKIPPED.format(21)}",
        "extract.2027-05-21.1  ✓ succeeded    1  2027-05-21 02:30:00+02:00  1m00s  -",
        "load.2027-05-21.1     ✓ succeeded    1  2027-05-21 02:31:00+02:00  1m00s  -",
        "",
        "From 2027-05-20 00:00:00+02:00 to 2027-05-21 23:59:59+02:00: 6 runs: 2 skipped, 4 succeeded",
    ]


def test_the_logger_is_left_as_it_was(night: Prompt) -> None:
    """A scheduler in the same process goes on telling its log."""
    before = logging.getLogger("pyscheduler").level
    night("simulate", *DAYS)
    assert logging.getLogger("pyscheduler").level == before


def test_the_seeds_day(pysched: Prompt) -> None:
    """Seed 004, "Try It": bake at nine, ice after it, both on 19 October 2026, ice succeeded."""
    pysched.config.write_text(
        'jobs:\n  bake: {command: ./bake.sh, schedule: "0 9 * * *"}\n  ice: {command: ./ice.sh, depends_on: [bake]}\n'
    )
    lines = pysched("simulate", "--from", "2026-10-19", "--to", "2026-10-19").out.splitlines()
    assert lines[-4:-2] == [
        "bake.2026-10-19.1  ✓ succeeded    1  2026-10-19 09:00:00+00:00  1m00s  -",
        "ice.2026-10-19.1   ✓ succeeded    1  2026-10-19 09:01:00+00:00  1m00s  -",
    ]


def test_a_failure_on_one_date(night: Prompt) -> None:
    """Every attempt of that run fails, what depends on it is blocked or runs, the other day is as ever."""
    found = night("simulate", *DAYS, "--fail", "load@2027-05-20", "--json").json
    states = {run["run_id"]: run["state"] for run in found["runs"]}
    assert states == {
        "extract.2027-05-20.1": "succeeded",
        "load.2027-05-20.1": "failed",
        "aid.2027-05-20.1": "succeeded",
        "extract.2027-05-21.1": "succeeded",
        "load.2027-05-21.1": "succeeded",
        "aid.2027-05-21.1": "skipped",
    }
    assert found["counts"] == {"failed": 1, "skipped": 1, "succeeded": 4}


def test_a_failure_on_every_date_with_its_retries(night: Prompt) -> None:
    """Without a date the job always fails; its retry is used up, and what waits for its success is blocked."""
    found = night("simulate", *DAYS, "--fail", "extract", "--json").json
    runs = {run["run_id"]: run for run in found["runs"]}
    assert runs["extract.2027-05-20.1"]["state"] == "failed"
    assert runs["extract.2027-05-20.1"]["attempt"] == 2
    assert runs["load.2027-05-21.1"]["state"] == "blocked"


def test_durations_move_what_follows(night: Prompt) -> None:
    """`--duration extract=90m`: load starts an hour and a half later."""
    found = night("simulate", *DAYS, "--duration", "extract=1h30m", "--json").json
    runs = {run["run_id"]: run for run in found["runs"]}
    assert runs["extract.2027-05-20.1"]["duration_seconds"] == 5400
    assert runs["load.2027-05-20.1"]["started_at"] == "2027-05-20T02:00:00Z"


def test_what_has_not_ended_is_shown_as_it_stands(night: Prompt) -> None:
    """At the end of the window a long run still runs."""
    found = night("simulate", "--from", "2027-05-20", "--duration", "extract=2d", "--json").json
    assert {run["state"] for run in found["runs"]} == {"running", "waiting"}


def test_nothing_is_touched(night: Prompt) -> None:
    """Not the state, not the logs: the simulated runs have the very names of real ones, and old logs are kept."""
    kept = night.folder / "logs" / "extract" / "2027-05-20" / "extract.2027-05-20.1.1.out"
    elsewhere = night.folder / "elsewhere.2027-05-20.out"
    kept.parent.mkdir(parents=True)
    for log in (kept, elsewhere):
        log.write_text("from the real run")
    stdout = f'stdout: "{night.folder}/elsewhere.{{run_date}}.out"'
    night.config.write_text(TEXT.replace('load: {command: "true",', f'load: {{command: "true", {stdout},'))
    before = sorted(night.folder.rglob("*"))
    assert night("simulate", "--from", "2027-05-20", "--to", "2027-05-25").code == 0
    assert sorted(night.folder.rglob("*")) == before
    assert [log.read_text() for log in (kept, elsewhere)] == ["from the real run"] * 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--from", "2027-01-01", "--to", "2028-06-01"], "spans"),
        (["--fail", "loadd"], "there is no job loadd"),
        (["--fail", "load@May"], "is no date"),
        (["--duration", "load=long"], "is no duration"),
        (["--duration", "loadd=1m"], "there is no job loadd"),
    ],
)
def test_what_makes_no_sense_is_exit_code_2(night: Prompt, given: list[str], words: str) -> None:
    """With what is wrong."""
    said = night("simulate", *given)
    assert said.code == 2
    assert words in said.err


def test_a_flood_is_refused_before_it_begins(night: Prompt) -> None:
    """A year of a job that fires every second would take hours."""
    night.config.write_text('jobs: {drip: {command: "true", schedule: "* * * * * *"}}')
    said = night("simulate", "--from", "2027-01-01", "--to", "2027-12-31")
    assert said.code == 1
    assert "31,536,000 firings" in said.err


def test_no_folder_is_left_behind(night: Prompt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The throw-away store is thrown away."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    assert night("simulate", *DAYS).code == 0
    assert list(scratch.iterdir()) == []
