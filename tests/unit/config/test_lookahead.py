"""What will go wrong months from now. Spec: jobs.md 12.2; DESIGN 8 row 18."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from pyscheduler.config import Config, lookahead
from pyscheduler.config.coming import Coming
from pyscheduler.config.dates import Stretch
from pyscheduler.config.lookahead import deferred_checks
from tests.unit.config.conftest import TODAY, Build, Load

HEAD = "calendars: {bank: {holidays: [2027-05-17]}}\n"


def text(**jobs: str) -> str:
    return HEAD + "jobs:\n" + "".join(f"  {name}: {{command: x, {keys}}}\n" for name, keys in jobs.items())


# --------------------------------------------------------------------------- waiting for ever


@pytest.mark.parametrize(
    ("jobs", "waits"),
    [
        # A daily job that waits for a weekly one: the first date is tomorrow.
        ({"u": "schedule: '0 1 * * mon'", "j": "schedule: '0 2 * * *', depends_on: [u]"}, ("j", "2027-05-04", '"u"')),
        # Weekdays only, so the first Saturday.
        (
            {"u": "schedule: '0 1 * * mon-fri'", "j": "schedule: '0 2 * * *', depends_on: [u]"},
            ("j", "2027-05-08", '"u"'),
        ),
        # Yesterday's working day: Mondays only upstream, so Tuesday has its Monday and Wednesday waits for ever.
        (
            {
                "u": "schedule: '0 1 * * mon', calendar: bank",
                "j": "schedule: '0 2 * * *', calendar: bank, depends_on: [{job: u, run_date: -1}]",
            },
            ("j", "2027-05-05", '"u"'),
        ),
        # The run date is another one.
        (
            {
                "u": "schedule: '0 1 * * *', calendar: bank, run_date: previous_business_day",
                "j": "schedule: '0 2 * * sat', depends_on: [v]",
                "v": "schedule: '0 1 * * sun'",
            },
            ("j", "2027-05-08", '"v"'),
        ),
        # Through a dependency-only job, which itself waits for one of its two upstreams.
        (
            {
                "a": "schedule: '0 1 * * *'",
                "b": "schedule: '0 1 * * fri'",
                "m": "depends_on: [a, b]",
                "j": "schedule: '0 2 * * *', depends_on: [m]",
            },
            ("j", "2027-05-04", '"m", which waits for "b"'),
        ),
        # It ends.
        (
            {"u": "schedule: {at: '01:00', end: 2027-12-31}", "j": "schedule: '0 2 * * *', depends_on: [u]"},
            ("j", "2028-01-01", '"u"'),
        ),
    ],
)  # fmt: skip
def test_a_job_that_would_wait_for_ever_is_told_the_first_date_and_the_root(
    problems: Build, jobs: dict[str, str], waits: tuple[str, str, str]
) -> None:
    job, day, chain = waits
    found = [line for line in problems(text(**jobs)) if f"job {job}:" in line]
    what = f"on run date {day} it would wait for ever for {chain}: within 366 days there is no run of that date"
    assert [line.split("depends_on: ")[1] for line in found] == [what]
    assert found[0].startswith("warning c.yaml:")


def test_the_warning_points_to_the_dependency_at_fault(problems: Build) -> None:
    found = problems(text(a="schedule: '@daily'", b="schedule: '@weekly'", j="schedule: '@daily', depends_on: [a, b]"))
    assert [line.split(": job")[0] for line in found] == ["warning c.yaml:5:55"]


@pytest.mark.parametrize(
    "jobs",
    [
        {"u": "schedule: '@daily'", "j": "schedule: '0 2 * * mon', depends_on: [u]"},
        {"u": "schedule: manual", "j": "schedule: '@daily', depends_on: [u]"},
        {"u": "schedule: '@reboot'", "j": "schedule: '@daily', depends_on: [u]"},
        {"u": "schedule: manual", "m": "depends_on: [u]", "j": "schedule: '@daily', depends_on: [m]"},
        {"u": "schedule: '@daily'", "m": "depends_on: [u]", "j": "schedule: '@daily', depends_on: [m]"},
        {"u": "schedule: '@weekly'", "j": "depends_on: [u]"},
        {"u": "schedule: '@weekly'", "j": "schedule: '@daily', depends_on: [u], enabled: false"},
        {"j": "schedule: '@daily', depends_on: [{job: j, run_date: -1}]"},
        {
            "u": "schedule: '0 9 * * *', calendar: bank, run_date: previous_business_day",
            "j": "schedule: '0 23 * * *', calendar: bank, depends_on: [u]",
        },
        {
            "u": "schedule: '0 9 * * *', calendar: bank",
            "j": "schedule: '0 23 * * *', calendar: bank, depends_on: [{job: u, run_date: -260}]",
        },
        {"a": "depends_on: [u, {job: b, run_date: -1}]", "b": "depends_on: [a]", "u": "schedule: '@daily'"},
    ],
)
def test_what_will_come_gives_no_warning(problems: Build, jobs: dict[str, str]) -> None:
    """A hand or a boot may make any date; a circle of earlier dates is not judged through itself."""
    assert problems(text(**jobs)) == []


@pytest.mark.parametrize(
    ("day", "waits"), [("2027-05-03", False), ("2027-05-04", True), ("2028-05-03", True), ("2028-05-04", False)]
)
def test_a_year_from_tomorrow_is_looked_at(problems: Build, day: str, waits: bool) -> None:
    """Today is not judged: its upstream may have run already."""
    jobs = {"u": "schedule: '@weekly'", "j": f"schedule: {{once: '{day} 23:00'}}, depends_on: [u]"}
    assert any(f"on run date {day} it would wait for ever" in line for line in problems(text(**jobs))) == waits


def test_a_job_that_also_waits_for_its_own_past_gets_no_run_from_that(problems: Build) -> None:
    jobs = {
        "u": "schedule: '@weekly'",
        "m": "depends_on: [u, {job: m, run_date: -7}]",
        "j": "schedule: '@daily', depends_on: [m]",
    }
    found = problems(text(**jobs))
    assert any('job j: depends_on: on run date 2027-05-04 it would wait for ever for "m"' in line for line in found)


def test_a_join_of_a_daily_and_a_weekly_job_is_told_that_most_of_its_runs_never_start(problems: Build) -> None:
    """A dependency-only job gets a run from either, and each waits for both."""
    (found,) = problems(text(a="schedule: '@daily'", b="schedule: '@weekly'", j="depends_on: [a, b]"))
    assert 'on run date 2027-05-04 it would wait for ever for "b"' in found


# --------------------------------------------------------------------------- run dates that several runs share


def test_several_firings_of_one_run_date_are_warned_of_where_somebody_waits(problems: Build) -> None:
    jobs = {"u": "schedule: '0 */6 * * *'", "a": "depends_on: [u]", "b": "depends_on: [u]", "c": "depends_on: [u]"}
    (found,) = problems(text(**jobs))
    what = '4 firings share the run date 2027-05-04, and "a" and 2 more will look at the latest only'
    assert found == f"warning c.yaml:3:19: job u: schedule: {what}"
    assert problems(text(u="schedule: '0 */6 * * *'")) == []


def test_two_schedules_that_meet_on_one_day_are_seen(problems: Build) -> None:
    (found,) = problems(text(u="schedule: ['0 6 * * *', '0 7 31 5 *']", a="depends_on: [u]"))
    assert "2 firings share the run date 2027-05-31" in found


def test_a_weekend_that_falls_on_one_run_date_is_seen(problems: Build) -> None:
    """`previous_business_day` without a calendar moves one to one; the union of two days before does not."""
    schedules = "['0 6 * * *', '0 7 1 6 *']"
    (found,) = problems(
        text(u=f"schedule: {schedules}, calendar: bank, run_date: previous_business_day", a="depends_on: [u]")
    )
    assert "2 firings share the run date 2027-05-31" in found


def test_a_disabled_dependant_does_not_count(problems: Build) -> None:
    assert problems(text(u="schedule: '@hourly'", a="depends_on: [u], enabled: false")) == []


def test_the_last_day_of_the_month_is_looked_at(problems: Build) -> None:
    (found,) = problems(text(u="schedule: ['0 6 * * *', '0 7 3 6 *']", a="depends_on: [u]"))
    assert "2 firings share the run date 2027-06-03" in found


def test_only_a_month_is_looked_at(problems: Build) -> None:
    assert problems(text(u="schedule: ['0 6 * * *', '0 7 4 6 *']", a="depends_on: [u]")) == []


# --------------------------------------------------------------------------- the budget


def many(load: Load, monkeypatch: pytest.MonkeyPatch, budget_s: float) -> Config:
    monkeypatch.setattr(lookahead, "BUDGET_S", budget_s)
    jobs: dict[str, str] = {}
    for number in range(30):
        jobs[f"u{number:02d}"] = f"schedule: '{number} 1 * * mon'"
        jobs[f"j{number:02d}"] = f"schedule: '{number} 2 * * *', depends_on: [u{number:02d}]"
    return load(text(**jobs))


def test_what_there_was_no_time_for_is_said_once_and_can_be_done_later(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never called good or bad; `deferred_checks` says the rest."""
    clock = iter(float(number) for number in range(10_000))
    monkeypatch.setattr("pyscheduler.config.coming.time.thread_time", lambda: next(clock))
    config = many(load, monkeypatch, budget_s=60.5)
    assert 0 < len(config.pending) < 30
    assert all(name.startswith("j") for name in config.pending)
    unfinished = [problem for problem in config.warnings if "look-ahead not finished" in problem.message]
    assert len(unfinished) == 1
    assert f"no time for {len(config.pending)} of 30 jobs" in unfinished[0].message
    said = {problem.job for problem in config.warnings if "wait for ever" in problem.message}
    later = list(deferred_checks(config))
    assert {problem.job for problem in later} == set(config.pending)
    assert said | set(config.pending) == {f"j{number:02d}" for number in range(30)}
    assert not said & set(config.pending)
    assert str(later[0]).startswith("c.yaml:")


def test_without_any_time_nothing_is_judged(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    config = many(load, monkeypatch, budget_s=-1.0)
    assert len(config.pending) == 30
    assert len(config.warnings) == 1


def test_what_rests_on_something_unknown_is_unknown(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dependency-only job, and a job behind it whose own dates are known."""
    clock = iter([0.0, 0.0, 0.0, 0.0, *[100.0] * 1000])
    monkeypatch.setattr("pyscheduler.config.coming.time.thread_time", lambda: next(clock))
    jobs = {
        "a": "schedule: '0 1 * * mon'",
        "b": "schedule: '0 2 * * *'",
        "m": "depends_on: [b]",
        "j": "schedule: '0 1 * * mon', depends_on: [m]",
        "k": "schedule: '0 1 * * mon', depends_on: [a]",
    }
    config = load(text(**jobs))
    assert config.pending == ("j", "m")


def test_a_disabled_upstream_contributes_nothing_to_a_join(problems: Build) -> None:
    """Only that it is disabled is said."""
    jobs = {"a": "schedule: '@daily'", "b": "schedule: '@daily', enabled: false", "j": "depends_on: [a, b]"}
    (found,) = problems(text(**jobs))
    assert '"b" is disabled' in found


def test_a_finished_look_ahead_leaves_nothing_for_later(load: Load) -> None:
    config = load(text(u="schedule: '@weekly'", j="schedule: '@daily', depends_on: [u]"))
    assert config.pending == ()
    assert list(deferred_checks(config)) == []


def test_deferred_checks_may_look_from_another_day(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    config = many(load, monkeypatch, budget_s=-1.0)
    first = next(iter(deferred_checks(config, date(2027, 5, 5))))
    assert "on run date 2027-05-06" in first.message


def test_deferred_checks_say_shared_dates_too(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookahead, "BUDGET_S", -1.0)
    config = load(text(u="schedule: '@hourly'", j="depends_on: [u]"))
    (later,) = deferred_checks(config)
    assert (later.job, "24 firings share" in later.message) == ("u", True)


def test_each_schedule_is_worked_out_once_however_many_jobs_share_it(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = {f"u{number}": "schedule: '0 1 * * mon'" for number in range(20)}
    jobs["j"] = "schedule: '0 2 * * mon', depends_on: [" + ", ".join(jobs) + "]"
    asked: list[Any] = []
    real = Stretch.landing_days

    def counted(self: Stretch, schedule: Any) -> int:
        asked.append(schedule)
        return real(self, schedule)

    monkeypatch.setattr(Stretch, "landing_days", counted)
    load(text(**jobs))
    assert len(asked) == 2


def test_a_chain_of_thousands_is_no_recursion(load: Load) -> None:
    jobs = {"j0000": "schedule: '@daily'"} | {f"j{n:04d}": f"depends_on: [j{n - 1:04d}]" for n in range(1, 3000)}
    config = load(text(**jobs))
    assert config.pending == ()
    seen = Coming(config.jobs, config.calendar_for, "lone", TODAY, None)
    assert list(seen.endless_waits()) == []
    assert seen.total == 2999
