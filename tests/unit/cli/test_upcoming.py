"""When jobs fire next, and what clock changes do: from the configuration file alone."""

from __future__ import annotations

import pytest

from pyscheduler.cli.terminal import Terminal
from tests.unit.cli.prompt import Prompt

TEXT = """
scheduler: {name: night, timezone: Europe/Berlin}
jobs:
  extract: {command: "true", schedule: "30 2 * * *"}
  load: {command: "true", depends_on: [extract]}
  tokyo: {command: "true", schedule: {at: "09:00"}, timezone: Asia/Tokyo}
  byhand: {command: "true", schedule: manual}
  off: {command: "true", schedule: "@daily", enabled: false}
  midnight: {command: "true", schedule: "@daily"}
"""


@pytest.fixture
def night(pysched: Prompt) -> Prompt:
    pysched.config.write_text(TEXT)
    return pysched


def test_the_next_firings_of_a_job(night: Prompt) -> None:
    """Local and UTC, with the run date, as many as asked for."""
    assert night("next", "extract", "-n", "2").out.splitlines() == [
        "LOCAL (Europe/Berlin)      UTC                   RUN DATE",
        "2027-05-21 02:30:00+02:00  2027-05-21 00:30:00Z  2027-05-21",
        "2027-05-22 02:30:00+02:00  2027-05-22 00:30:00Z  2027-05-22",
    ]


def test_a_clock_change_and_the_rule_applied(night: Prompt) -> None:
    """DESIGN 8 row 4: `pysched next` prints it, in spring and in autumn."""
    spring = night("next", "extract", "--after", "2027-03-28", "--count", "1").out.splitlines()[1]
    assert spring.startswith("2027-03-28 03:00:00+02:00  2027-03-28 01:00:00Z  2027-03-28  ")
    assert "02:30" in spring.partition("2027-03-28  ")[2]
    autumn = night("next", "extract", "--after", "2027-10-31", "--count", "1").out.splitlines()[1]
    assert autumn.startswith("2027-10-31 02:30:00+02:00")
    assert "twice" in autumn


def test_a_narrow_terminal_gets_the_rule_below_the_table(night: Prompt) -> None:
    """It is cut in its column, and it is what was asked for."""
    said = night("next", "extract", "--after", "2027-10-31", "--count", "2", terminal=Terminal(width=80))
    lines = said.out.splitlines()
    assert lines[1].endswith("…")
    assert len(lines) == 4
    assert lines[3].startswith("02:30 comes twice")


def test_a_job_in_another_zone_is_shown_in_both(night: Prompt) -> None:
    """Its own, which its schedule speaks of, and the scheduler's."""
    assert night("next", "tokyo", "--count", "1").out.splitlines() == [
        "LOCAL (Asia/Tokyo)         HERE (Europe/Berlin)       UTC                   RUN DATE",
        "2027-05-21 09:00:00+09:00  2027-05-21 02:00:00+02:00  2027-05-21 00:00:00Z  2027-05-21",
    ]


def test_a_job_that_follows_others_is_forecast(night: Prompt) -> None:
    """It has no firings of its own, and still an answer."""
    lines = night("next", "load", "--count", "1").out.splitlines()
    assert lines[0] == "load has no schedule of its own: it follows extract."
    assert lines[2].startswith("load  2027-05-21  2027-05-21 02:30:00+02:00")


@pytest.mark.parametrize(("job", "why"), [("byhand", "it runs when somebody triggers it"), ("off", "it is disabled")])
def test_a_job_that_does_not_fire_says_why(night: Prompt, job: str, why: str) -> None:
    """An empty table would be no answer."""
    assert night("next", job).out == f"{job} does not fire: {why}\n"


def test_all_jobs_the_next_first(night: Prompt) -> None:
    """Those that do not fire stand last, with why."""
    lines = night("next").out.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["midnight", "tokyo", "extract"]
    assert lines[4:] == [
        "",
        "JOB     DOES NOT FIRE",
        "byhand  it runs when somebody triggers it",
        "load    it follows extract",
        "off     it is disabled",
    ]


def test_firings_for_programs(night: Prompt) -> None:
    """The names are those of the API's `/api/next`."""
    found = night("next", "extract", "--after", "2027-03-28", "--count", "1", "--json").json
    assert found["schedules"] == ["cron 30 2 * * *"]
    (firing,) = found["firings"]
    assert firing["scheduled_at"] == "2027-03-28T01:00:00Z"
    assert firing["local"] == "2027-03-28T03:00:00+02:00"
    assert firing["run_date"] == "2027-03-28"
    assert firing["rule"]
    every = night("next", "--json").json["jobs"]
    assert [job["job"] for job in every] == ["byhand", "extract", "load", "midnight", "off", "tokyo"]
    assert [len(job["firings"]) for job in every] == [0, 1, 0, 1, 0, 1]


def test_an_unknown_job_is_exit_code_1_with_a_near_name(night: Prompt) -> None:
    """Nothing was wrong with the command line."""
    said = night("next", "loadd")
    assert said.code == 1
    assert "did you mean load?" in said.err


def test_a_faulty_configuration_is_exit_code_2(night: Prompt) -> None:
    """Every problem, with its place."""
    night.config.write_text(TEXT.replace("[extract]", "[extrakt]"))
    said = night("next")
    assert said.code == 2
    assert f"error: {night.config}:5:" in said.err
    assert 'did you mean "extract"?' in said.err
