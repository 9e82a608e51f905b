"""The runs to expect: from the configuration file alone, with durations from a history where there is one."""

from __future__ import annotations

import pytest

from pyscheduler.errors import StoreUnavailable
from tests.unit.cli.prompt import Prompt

TEXT = """
scheduler: {name: night, timezone: Europe/Berlin}
jobs:
  extract: {command: "true", schedule: "30 2 * * *"}
  load: {command: "true", depends_on: [extract]}
  tokyo: {command: "true", schedule: {at: "09:00"}, timezone: Asia/Tokyo}
  byhand: {command: "true", schedule: manual}
  midnight: {command: "true", schedule: "@daily"}
"""


@pytest.fixture
def night(pysched: Prompt) -> Prompt:
    pysched.config.write_text(TEXT)
    return pysched


def test_a_forecast_follows_the_dependencies(night: Prompt) -> None:
    """By expected start, with what decides about it."""
    lines = night("forecast", "--to", "2027-05-21T02:00").out.splitlines()
    assert lines[0].split() == ["JOB", "RUN", "DATE", "EXPECTED", "START", "TAKES", "BECAUSE", "OF"]
    assert [line.split()[0] for line in lines[1:3]] == ["midnight", "tokyo"]
    assert lines[3:] == ["", "2 runs expected from 2027-05-20 14:00:00+02:00 to 2027-05-21 02:00:00+02:00"]
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


def test_a_history_that_cannot_be_read_is_done_without(night: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for another user: what is to come stands in the file alone. It is said."""

    def closed(_config: object) -> dict[str, float]:
        raise StoreUnavailable("this user may not look into the folder", where="state")

    monkeypatch.setattr("pyscheduler.cli.ahead.typical_durations", closed)
    said = night("forecast", "--to", "2027-05-21T02:00")
    assert said.code == 0
    assert "2 runs expected" in said.out
    assert "without typical durations" in said.err
