"""When jobs fire next, what clock changes do, and what to expect: from the configuration file alone."""

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
    assert night("next", "extract", "--count", "2").out.splitlines() == [
        "LOCAL (Europe/Berlin)      UTC                   RUN DATE    CLOCK CHANGE",
        "2027-05-21 02:30:00+02:00  2027-05-21 00:30:00Z  2027-05-21  -",
        "2027-05-22 02:30:00+02:00  2027-05-22 00:30:00Z  2027-05-22  -",
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
        "LOCAL (Asia/Tokyo)         HERE (Europe/Berlin)       UTC                   RUN DATE    CLOCK CHANGE",
        "2027-05-21 09:00:00+09:00  2027-05-21 02:00:00+02:00  2027-05-21 00:00:00Z  2027-05-21  -",
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


def test_a_forecast_follows_the_dependencies(night: Prompt) -> None:
    """By expected start, with what decides about it."""
    lines = night("forecast", "--to", "2027-05-21T02:00").out.splitlines()
    assert lines[0].split() == ["JOB", "RUN", "DATE", "EXPECTED", "START", "TAKES", "BECAUSE", "OF"]
    assert [line.split()[0] for line in lines[1:]] == ["midnight", "tokyo"]
    found = night("forecast", "--job", "load", "--json").json["entries"]
    assert [(entry["run_date"], entry["expected_start"], entry["via"]) for entry in found] == [
        ("2027-05-21", "2027-05-21T00:30:00Z", "extract")
    ]


def test_midnight_belongs_to_the_day_it_opens(night: Prompt) -> None:
    """Spec: jobs.md 14.1 names the opposite a trap."""
    given = ("forecast", "--job", "midnight", "--from", "2027-05-20", "--to", "2027-05-21", "--json")
    entries = night(*given).json["entries"]
    assert [entry["expected_start"] for entry in entries] == ["2027-05-19T22:00:00Z", "2027-05-20T22:00:00Z"]


def test_a_forecast_of_another_file(night: Prompt) -> None:
    """FILE is the same as -c FILE."""
    other = night.folder / "other.yaml"
    other.write_text('jobs: {only: {command: "true", schedule: "@daily"}}')
    assert [entry["job"] for entry in night("forecast", str(other), "--json").json["entries"]] == ["only"]


def test_a_forecast_of_more_than_a_year_is_refused(night: Prompt) -> None:
    """Spec: jobs.md 12.1; exit code 2."""
    assert night("forecast", "--from", "2027-01-01", "--to", "2028-06-01").code == 2


def test_nothing_to_expect_is_said(night: Prompt) -> None:
    """With the window that was looked at."""
    said = night("forecast", "--to", "2027-05-20T15:00")
    assert said.out == "No run is expected from 2027-05-20 14:00:00+02:00 to 2027-05-20 15:00:00+02:00.\n"


def test_a_faulty_configuration_is_exit_code_2(night: Prompt) -> None:
    """Every problem, with its place."""
    night.config.write_text(TEXT.replace("[extract]", "[extrakt]"))
    said = night("next")
    assert said.code == 2
    assert f"error: {night.config}:5:" in said.err
    assert 'did you mean "extract"?' in said.err
