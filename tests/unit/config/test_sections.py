"""The sections of all files. Spec: jobs.md 1.1, 1.5, 1.8."""

from __future__ import annotations

import pytest

from tests.unit.config.conftest import Build, Load

JOB = "{command: x, schedule: manual}"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("job: {}", '1:1: unknown key "job"; did you mean "jobs"?'),
        ("zzz: {}", '1:1: unknown key "zzz"'),
        ("jobs:", "1:6: jobs: must be a mapping; write NAME: lines, indented below it"),
        ("jobs: [a]", "1:7: jobs: must be a mapping; write NAME: lines, indented below it"),
        ("pools: x", "1:8: pools: must be a mapping; write NAME: lines, indented below it"),
        ("scheduler: x", "1:12: scheduler: must be a mapping; write KEY: VALUE lines, indented below it"),
        ("defaults: [x]", "1:11: defaults: must be a mapping; write KEY: VALUE lines, indented below it"),
        ("jobs: {a: x}", "1:8: job a: must be a mapping; write KEY: VALUE lines, indented below it"),
        ("jobs: {'a.b': {}}", '1:8: jobs: "a.b" is no name; use 1 to 64 letters (a to z), digits, _ and -'),
        ("jobs: {_scheduler: {}}", '1:8: jobs: "_scheduler" is a reserved name; choose another'),
        ("calendars: {none: {}}", '1:13: calendars: "none" is a reserved name; choose another'),
        ("pools: {p: 0}", '1:12: pools.p: "0" is less than 1, the least allowed'),
        ("pools: {p: x}", '1:12: pools.p: "x" is no whole number'),
        ("pools: {p: [1]}", "1:12: pools.p: must be a number of slots, 1 or more"),
        ("pools: {p: '${NOPE}'}", '1:12: pools.p: "${NOPE}" reads ${NOPE}, which is not set; set NOPE in'),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_section_is_said_at_its_place(problems: Build, text: str, complaint: str) -> None:
    (found,) = problems(text)
    assert found.startswith(f"error c.yaml:{complaint}")


@pytest.mark.parametrize("section", ["scheduler", "defaults", "notifiers", "routes", "agents"])
def test_some_sections_stand_in_the_main_file_only(problems: Build, section: str) -> None:
    """And what they say there is not looked at."""
    found = problems("include: [b.yaml]\n", {"b.yaml": f"{section}: {{nonsense: x}}\n"})
    assert found == [f"error b.yaml:1:1: {section} is only allowed in the main file; move it there"]


def test_calendars_pools_and_jobs_may_come_from_any_file(load: Load) -> None:
    """And the main file's defaults reach the jobs of included files."""
    config = load(
        "include: [b.yaml]\ndefaults: {timeout: 1h}\n",
        {"b.yaml": f"calendars: {{c: {{}}}}\npools: {{p: 2}}\njobs: {{b: {JOB}}}\n"},
    )
    assert (list(config.calendars), config.pools, config.jobs["b"].timeout_s) == (["c"], {"p": 2}, 3600.0)


@pytest.mark.parametrize(("section", "value"), [("jobs", JOB), ("calendars", "{}"), ("pools", "1")])
def test_one_name_in_two_files_names_both_places_and_the_first_wins(problems: Build, section: str, value: str) -> None:
    found = problems(f"include: [b.yaml]\n{section}: {{n: {value}}}\n", {"b.yaml": f"\n{section}: {{n: {value}}}\n"})
    column = len(section) + 4
    place = '"n" is defined twice, first in c.yaml:2; rename or remove one'
    assert found == [f"error b.yaml:2:{column}: {section}: {place}"]


def test_a_pool_that_could_not_be_read_is_not_called_unknown(problems: Build) -> None:
    """One fault is said once."""
    found = problems("pools: {p: 0}\njobs: {a: {command: x, schedule: manual, pools: {p: 1}}}\n")
    assert len(found) == 1


def test_a_pool_size_may_come_from_the_environment(load: Load) -> None:
    assert load("pools: {p: '${N}'}", env={"N": "7"}).pools == {"p": 7}


def test_pools_and_jobs_come_in_the_order_of_names(load: Load) -> None:
    config = load(f"pools: {{b: 1, a: 2}}\njobs: {{b: {JOB}, a: {JOB}, B: {JOB}}}\n")
    assert list(config.pools) == ["a", "b"]
    assert list(config.jobs) == ["B", "a", "b"]


def test_the_reading_stops_in_a_flood_of_errors(problems: Build) -> None:
    text = "jobs:\n" + "".join(f"  j{number}: x\n" for number in range(1500))
    found = problems(text)
    assert len(found) == 1001
    assert found[-1] == "error c.yaml: 1000 errors or more: the rest was not looked at"
