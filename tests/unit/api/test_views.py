"""Nouns as the API shows them: every field in its place, no value of the environment."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, time, timedelta, timezone
from typing import Any

from pyscheduler.api import shapes, views
from pyscheduler.model.job import CronSpec, Dependency, DependsOn, Job, RetryPolicy
from pyscheduler.model.run import Attempt, LogbookLine, Outcome, Run, RunState
from pyscheduler.rules.why import Answer, Culprit
from pyscheduler.timetable.calendars import ALL_DAYS
from pyscheduler.timetable.firings import Timetable
from tests.builders import DAY, NOON, a_job, a_run, an_attempt, ended_attempt


def test_instants_are_utc_and_end_in_z() -> None:
    """Spec 13.3, whatever zone they come in; fractions only where there are any."""
    assert views.instant(datetime(2027, 5, 20, 6, 5, tzinfo=timezone(timedelta(hours=2)))) == "2027-05-20T04:05:00Z"
    assert views.instant(datetime(2027, 5, 20, 4, 5, 0, 1500, UTC)) == "2027-05-20T04:05:00.001500Z"
    assert views.instant(None) is None


def test_a_run_has_the_times_of_its_latest_attempt() -> None:
    """Null while they are unknown."""
    run = a_run(state=RunState.RUNNING, attempt=1)
    fresh = views.run_view(run)
    assert (fresh["started_at"], fresh["duration_seconds"]) == (None, None)
    running = views.run_view(run, an_attempt(run))
    assert (running["started_at"], running["ended_at"]) == ("2027-05-20T12:00:00Z", None)
    ended = views.run_view(run, ended_attempt(run, Outcome.FAILED, started_at=NOON - timedelta(seconds=90)))
    assert ended["duration_seconds"] == 90.0
    for view in (fresh, running, ended):
        shapes.Run.model_validate(view)


def test_nothing_that_is_remembered_is_left_out() -> None:
    """A field that the model gains must be shown or be left out on purpose."""
    run = {each.name for each in fields(Run)} - {"attempt_base"}
    assert run <= set(views.run_view(a_run()))
    attempt = {each.name for each in fields(Attempt)} - {"key", "boot_id", "cpu_s"}
    assert attempt <= set(views.attempt_view(an_attempt(a_run())))
    line = {each.name for each in fields(LogbookLine)} - {"id"}
    assert line == set(views.event_view(LogbookLine(at=NOON, actor="ann", action="hold")))


def test_columns_name_what_is_there() -> None:
    """CSV is made of the same views."""
    assert set(views.RUN_COLUMNS) <= set(views.run_view(a_run()))
    assert set(views.ATTEMPT_COLUMNS) <= set(views.attempt_view(an_attempt(a_run())))
    assert set(views.JOB_COLUMNS) <= set(views.job_view(a_job(), Timetable.of(a_job(), ALL_DAYS), None, None))


def definition(**given: Any) -> dict[str, Any]:
    job = a_job(**given)
    return views.definition_view(job, Timetable.of(job, ALL_DAYS))


def test_a_definition_has_all_keys_and_hides_all_values_of_env() -> None:
    """Spec 13.5: every key with its default; `env` shows names only, templates stand as typed."""
    shown = definition(env={"TOKEN": "${TOKEN}", "PLAIN": "x"}, command=("echo", "${TOKEN}"))
    keys = {each.name for each in fields(Job)} - {"name", "kind"}
    assert {key.removesuffix("_s") for key in keys} <= {key.removesuffix("_seconds") for key in shown}
    assert shown["env"] == {"TOKEN": "***", "PLAIN": "***"}
    assert shown["command"] == ["echo", "${TOKEN}"]


def test_a_definitions_values_are_plain() -> None:
    """Durations in seconds, enums as words, dates and times as text."""
    shown = definition(
        schedules=(CronSpec(text="0 9 * * *"),),
        manual=True,
        depends_on=(Dependency("up", DependsOn.DONE, -1),),
        retries=RetryPolicy(count=2, on=("failed", 75)),
        success_codes=frozenset({3, 0}),
        must_start_by=time(9, 30),
        timeout_s=60.0,
        max_log_bytes=1024,
    )
    assert shown["schedules"] == ["cron 0 9 * * *", "manual"]
    assert shown["depends_on"] == [{"job": "up", "on": "done", "run_date_offset": -1}]
    assert shown["retries"]["delay_seconds"] == 60.0
    assert shown["retries"]["on"] == ["failed", 75]
    assert shown["success_codes"] == [0, 3]
    assert (shown["must_start_by"], shown["timeout_seconds"], shown["criticality"]) == ("09:30:00", 60.0, "normal")
    assert shown["max_log_bytes"] == 1024


def test_a_chain_of_answers_has_an_end() -> None:
    """However long it is."""
    answer = Answer(Culprit.TIME, "t", "r", "load", DAY)
    for _ in range(50):
        answer = Answer(Culprit.DEPENDENCY, "t", "r", "load", DAY, because=answer)
    view = views.answer_view(answer, {})
    shapes.Answer.model_validate(view)
    links = 1
    while view["because"] is not None:
        view, links = view["because"], links + 1
    assert links == views.DEEPEST_WHY + 1
