"""What jobs say of each other, of calendars and of pools. Spec: jobs.md 4.1, 4.7, 4.9, 12.2."""

from __future__ import annotations

import pytest

from tests.unit.config.conftest import Build, Load

HEAD = "calendars: {bank: {}, fed: {}}\npools: {db: 2}\n"


def text(**jobs: str) -> str:
    return HEAD + "jobs:\n" + "".join(f"  {name}: {{command: x, {keys}}}\n" for name, keys in jobs.items())


@pytest.mark.parametrize(
    ("jobs", "complaint"),
    [
        ({"a": "depends_on: [nope]"}, '4:32: job a: depends_on: unknown job "nope"'),
        (
            {"a": "depends_on: [{job: nightlyy}]", "nightly": "schedule: '@daily'"},
            '4:32: job a: depends_on: unknown job "nightlyy"; did you mean "nightly"?',
        ),
        (
            {"a": "schedule: manual, calendar: bnak"},
            '4:47: job a: calendar: unknown calendar "bnak"; did you mean "bank"?',
        ),
        ({"a": "schedule: manual, pools: {db: 3}"}, "4:49: job a: pools.db: it needs 3 slots, and the pool has 2"),
        (
            {"a": "schedule: manual, pools: {nope: 1}"},
            '4:45: job a: pools.nope: unknown pool "nope"; define it under pools:',
        ),
        ({"a": "schedule: manual, pools: {db1: 1}"}, '4:45: job a: pools.db1: unknown pool "db1"; did you mean "db"?'),
        ({"a": "depends_on: [a], schedule: manual"}, "4:32: job a: depends_on: it waits for itself: a -> a"),
        ({"a": "command: '{files}', schedule: manual"}, '4:19: the key "command" stands twice'),
    ],
)
def test_what_names_nothing_is_complained_about(problems: Build, jobs: dict[str, str], complaint: str) -> None:
    assert any(found.startswith(f"error c.yaml:{complaint}") for found in problems(text(**jobs))), problems(
        text(**jobs)
    )


def test_a_fault_is_said_once_and_not_by_those_who_depend_on_the_broken_job(problems: Build) -> None:
    found = problems(text(a="timeout: x, schedule: '@daily'", b="depends_on: [a]", c="depends_on: [a, b]"))
    assert len(found) == 1


def test_a_job_on_a_broken_calendar_or_pool_is_not_judged_by_it(problems: Build) -> None:
    found = problems(
        "calendars: {bad: {weekdays: [x]}}\npools: {bad: 0}\n"
        "jobs:\n  a: {command: x, schedule: '@daily', calendar: bad, pools: {bad: 9}}\n"
        "  b: {command: x, depends_on: [a]}\n"
    )
    assert len(found) == 2


def test_an_edge_to_a_job_on_a_broken_calendar_is_not_judged(problems: Build) -> None:
    found = problems(
        "calendars: {bad: {weekdays: [x]}}\njobs:\n  a: {command: x, schedule: '@daily', calendar: bad}\n"
        "  b: {command: x, schedule: '@daily', depends_on: [a]}\n"
    )
    assert len(found) == 1


def test_a_flood_of_complaints_ends_the_checks(problems: Build) -> None:
    found = problems("jobs:\n" + "".join(f"  j{n}: {{command: x, depends_on: [no{n}]}}\n" for n in range(1200)))
    assert len(found) == 1001


# --------------------------------------------------------------------------- circles


def test_a_circle_on_one_date_is_shown_from_its_smallest_name(problems: Build) -> None:
    found = problems(
        text(
            c="depends_on: [a]", a="depends_on: [b]", b="schedule: '@daily', depends_on: [x, c]", x="schedule: '@daily'"
        )
    )
    path = "it waits for itself: a -> b -> c -> a; break the circle, or let one edge look at an earlier run_date"
    assert found == [f"error c.yaml:5:32: job a: depends_on: {path}"]


def test_an_earlier_date_anywhere_breaks_the_circle(load: Load) -> None:
    load(text(a="depends_on: [{job: b, run_date: -1}], schedule: '@daily'", b="depends_on: [a]"))


# --------------------------------------------------------------------------- calendars along edges


@pytest.mark.parametrize(
    ("jobs", "complaint"),
    [
        (
            {"a": "schedule: '@daily', calendar: bank", "b": "schedule: '@daily', depends_on: [a]"},
            '5:52: job b: depends_on: "a" is on calendar bank and this job on none: their run dates do not match',
        ),
        (
            {"a": "schedule: '@daily'", "b": "schedule: '@daily', calendar: bank, depends_on: [a]"},
            '5:68: job b: depends_on: "a" is on calendar none and this job on bank',
        ),
        (
            {"a": "schedule: '@daily', calendar: bank", "b": "calendar: fed, depends_on: [a]"},
            '5:47: job b: depends_on: "a" is on calendar bank and this job on fed',
        ),
        (
            {"a": "schedule: '@daily', calendar: bank", "b": "calendar: none, depends_on: [a]"},
            '5:48: job b: depends_on: "a" is on calendar bank and this job on none',
        ),
        (
            {"a": "schedule: '@daily', calendar: bank", "b": "schedule: '@daily'", "c": "depends_on: [a, b]"},
            "6:19: job c: depends_on: its upstreams are on different calendars (a is on bank, b is on none)",
        ),
    ],
)
def test_an_edge_between_different_calendars_is_an_error(problems: Build, jobs: dict[str, str], complaint: str) -> None:
    (found,) = problems(text(**jobs))
    assert found.startswith(f"error c.yaml:{complaint}")


def test_a_dependency_only_job_inherits_through_any_number_of_others(load: Load) -> None:
    config = load(
        text(d="depends_on: [c, b]", c="depends_on: [b]", b="depends_on: [a]", a="schedule: '@daily', calendar: bank")
    )
    assert {name: job.calendar for name, job in config.jobs.items()} == dict.fromkeys("abcd", "bank")


def test_a_scheduled_or_manual_job_never_inherits(load: Load) -> None:
    config = load(text(a="schedule: manual", b="schedule: manual, depends_on: [a]", c="depends_on: [b]"))
    assert {job.calendar for job in config.jobs.values()} == {None}


def test_a_calendar_is_inherited_also_by_a_job_in_a_circle_of_earlier_dates(load: Load) -> None:
    config = load(
        text(a="schedule: '@daily', calendar: bank", b="depends_on: [a, {job: c, run_date: -1}]", c="depends_on: [b]")
    )
    assert config.jobs["b"].calendar == config.jobs["c"].calendar == "bank"


# --------------------------------------------------------------------------- the rest


def test_waiting_for_a_disabled_job_is_warned_of(problems: Build) -> None:
    found = problems(text(a="schedule: '@daily', enabled: false", b="schedule: '@daily', depends_on: [a]"))
    what = '"a" is disabled, so it never gets a run to wait for'
    assert found == [f"warning c.yaml:5:52: job b: depends_on: {what}"]
    assert problems(text(a="schedule: '@daily', enabled: false", b="depends_on: [a], enabled: false")) == []


def test_names_that_differ_in_letter_case_only_are_warned_of(problems: Build) -> None:
    """They are two jobs, and their log files meet on a disk that folds case (FC-068)."""
    found = problems(text(A="schedule: manual", a="schedule: manual"))
    assert len(found) == 1
    assert found[0].startswith('warning c.yaml:5:3: job a: "A" differs from it in letter case only')


@pytest.mark.parametrize(
    "where",
    ["command: '{files}'", "command: [cat, '{files}']", "cwd: '{files}'", "env: {F: '{files}'}", "stdout: '{files}'"],
)
def test_files_need_a_watcher_among_the_direct_dependencies(problems: Build, where: str) -> None:
    keys = where if where.startswith("command") else f"command: x, {where}"
    head = "jobs:\n  w: {type: file_watcher, watch: /in/x, schedule: '@daily'}\n  m: {command: x, depends_on: [w]}\n"
    found = problems(head + f"  j: {{{keys}, depends_on: [m]}}\n", allow_inactive=True)
    assert "{files} stands only in a job that depends on a file watcher directly" in found[-1]
    assert len(problems(head + f"  j: {{{keys}, depends_on: [m, w]}}\n", allow_inactive=True)) == 1


@pytest.mark.parametrize("name", ["files", "attempt"])
def test_a_watch_pattern_knows_neither_files_nor_attempt(problems: Build, name: str) -> None:
    found = problems(
        f"jobs: {{w: {{type: file_watcher, watch: '/in/{{{name}}}', schedule: '@daily'}}}}\n", allow_inactive=True
    )
    assert f"watch: {{{name}}} has no value before the files are found; remove it" in found[-1]


def test_names_are_checked_in_the_same_pass_as_shapes(problems: Build) -> None:
    """A job, calendar or pool with a fault of its own still says what it refers to: nothing waits for a second try."""
    found = problems(
        """
        calendars:
          shop: {weekday: [mon], country: Germany, include: [trade]}
          ring: {weekdays: [mon], include: [shap], holidays: [tomorrow]}
          loop: {include: [pool], colour: red}
          pool: {include: [loop], colour: red}
        pools: {db: 2}
        jobs:
          a: {command: x, schedul: "@daily", depends_on: [aa], calendar: bank, pools: {dbb: 1}}
          b: {command: x, depends_on: [c], timeout: soon}
          c: {command: x, depends_on: [b], retries: {count: x}}
          d: {depends_on: [nobody]}
          e: {command: x, schedule: "61 * * * *", pools: {db: 3}}
        """
    )
    said = "\n".join(found)
    for fault in (
        'unknown key "weekday"', '"Germany" is no country', 'unknown calendar "trade"', 'unknown calendar "shap"',
        "the calendars include each other in a circle: loop -> pool -> loop", 'unknown key "schedul"',
        'unknown job "aa"', 'unknown calendar "bank"', 'unknown pool "dbb"', "it waits for itself: b -> c -> b",
        'unknown job "nobody"', "command is missing", "it needs 3 slots, and the pool has 2",
    ):  # fmt: skip
        assert fault in said
    assert len(found) == len(set(found))


def test_a_list_with_a_faulty_item_is_checked_item_by_item(problems: Build) -> None:
    """Each complaint points to the item it is about."""
    found = problems("jobs: {a: {command: x, depends_on: [{jobs: b}, nobody, {job: b, on: x}, a]}}")
    assert len(found) == 5
    assert any('c.yaml:1:48: job a: depends_on: unknown job "nobody"' in line for line in found)
    assert any("c.yaml:1:73: job a: depends_on: it waits for itself: a -> a" in line for line in found)


def test_what_a_key_that_cannot_be_read_may_have_named_is_not_guessed(problems: Build) -> None:
    """One fault is said once."""
    found = problems("jobs: {a: {command: x, depends_on: {job: b}}, b: {command: x, schedule: manual, pools: 7}}")
    assert len(found) == 2
