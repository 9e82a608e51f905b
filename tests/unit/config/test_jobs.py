"""From keys and defaults to a Job. Spec: jobs.md 1.9, 1.10."""

from __future__ import annotations

import pytest

from pyscheduler.model.job import (
    CatchUp,
    Criticality,
    Dependency,
    DependsOn,
    Job,
    JobKind,
    Overlap,
    RetryPolicy,
    SourceRef,
)
from tests.unit.config.conftest import Build, Load

JOB = "jobs: {j: {command: x, schedule: manual%s}}\n"


def test_a_job_that_says_nothing_has_every_default(load: Load) -> None:
    """The table of spec 1.10."""
    job = load("jobs:\n  j: {command: ./x, schedule: manual}\n").jobs["j"]
    assert job == Job(name="j", source=SourceRef("c.yaml", 2, 3), command="./x", manual=True)
    assert job.retries == RetryPolicy(0, 60.0, 2.0, 600.0)
    assert (job.overlap, job.catch_up, job.criticality) == (Overlap.QUEUE, CatchUp.LATEST, Criticality.NORMAL)
    assert job.stdout == "{log_dir}/{job}/{run_date}/{run_id}.{attempt}.out"
    assert job.enabled


def test_a_job_takes_zone_grace_and_leftovers_from_the_scheduler(load: Load) -> None:
    text = "scheduler: {timezone: Asia/Tokyo, kill_grace: 3s, leftovers: kill}\n" + JOB
    job = load(text % "").jobs["j"]
    assert (job.timezone, job.kill_grace_s, job.leftovers) == ("Asia/Tokyo", 3.0, "kill")
    job = load(text % ", timezone: UTC, kill_grace: 1m, leftovers: leave").jobs["j"]
    assert (job.timezone, job.kill_grace_s, job.leftovers) == ("UTC", 60.0, "leave")


DEFAULTS = """
    pools: {a: 5, b: 5, c: 5}
    notifiers: {n: {type: log, path: x}, m: {type: log, path: y}}
    calendars: {bank: {}}
    defaults:
      calendar: bank
      retries: {count: 2, delay: 5s}
      env: {A: "1", B: "2"}
      pools: {a: 1, b: 1}
      limits: {nofile: 10, core: 0}
      tags: [x, y]
      alerts: {on: [retrying], notify: [n]}
      timeout: 1h
    jobs:
      plain: {command: x, schedule: manual}
      own:
        command: x
        schedule: manual
        calendar: none
        retries: {delay: 9s}
        env: {B: "3", C: "4"}
        pools: {b: 2}
        limits: {core: 1}
        tags: [z]
        alerts: {notify: [m]}
"""


def test_defaults_reach_every_job_that_says_nothing(load: Load) -> None:
    plain = load(DEFAULTS).jobs["plain"]
    assert (plain.calendar, plain.timeout_s, plain.tags) == ("bank", 3600.0, ("x", "y"))
    assert (plain.retries.count, plain.retries.delay_s, plain.env) == (2, 5.0, {"A": "1", "B": "2"})


def test_maps_merge_one_level_and_everything_else_is_replaced_whole(load: Load) -> None:
    """`calendar: none` takes a default calendar away."""
    own = load(DEFAULTS).jobs["own"]
    assert own.calendar is None
    assert (own.retries.count, own.retries.delay_s) == (2, 9.0)
    assert own.env == {"A": "1", "B": "3", "C": "4"}
    assert own.pools == {"a": 1, "b": 2}
    assert own.limits == {"nofile": 10, "core": 1}
    assert own.tags == ("z",)
    assert (own.alerts.on, own.alerts.notify) == (("retrying",), ("m",))
    assert own.timeout_s == 3600.0


def test_a_fault_of_the_defaults_is_said_once_however_many_jobs_there_are(problems: Build) -> None:
    found = problems(
        "defaults: {timeout: x}\njobs: {a: {command: x, schedule: manual}, b: {command: x, schedule: manual}}\n"
    )
    assert [line.split(": ")[1] for line in found] == ["defaults.timeout"]


@pytest.mark.parametrize("key", ["type: command", "watch: /x", "jobs: {}"])
def test_type_and_watch_cannot_be_defaults(problems: Build, key: str) -> None:
    (found,) = problems(f"defaults: {{{key}}}\n")
    assert f'defaults: unknown key "{key.split(":")[0]}"' in found


def test_what_defaults_and_job_say_together_must_fit_and_is_said_where_it_stands(problems: Build) -> None:
    text = "defaults:\n  timeout: 1h\n  max_runtime: 2h\njobs:\n  j: {command: x, schedule: manual}\n"
    assert "error c.yaml:3:3: job j: max_runtime: 2h is longer than timeout 1h" in problems(text)


def test_dependencies_may_be_names_or_mappings(load: Load) -> None:
    edges = "[a, {job: a, on: done, run_date: -2}]"
    text = f"jobs:\n  a: {{command: x, schedule: '0 1 * * *'}}\n  b: {{command: x, depends_on: {edges}}}\n"
    assert load(text).jobs["b"].depends_on == (Dependency("a"), Dependency("a", DependsOn.DONE, -2))


def test_a_list_command_is_kept_as_a_list(load: Load) -> None:
    job = load("jobs: {j: {command: [/bin/sh, -c, 'echo {job}'], schedule: manual}}").jobs["j"]
    assert job.command == ("/bin/sh", "-c", "echo {job}")


def test_what_jobs_have_in_common_is_kept_once(load: Load) -> None:
    """Ten thousand jobs that retry alike hold one policy."""
    keys = "{command: x, schedule: '0 6 * * *', retries: {count: 3}, tags: [a], timeout: 1h}"
    jobs = load(f"jobs: {{a: {keys}, b: {keys}}}\n").jobs
    for name in ("retries", "schedules", "tags", "timeout_s"):
        assert getattr(jobs["a"], name) is getattr(jobs["b"], name)


# --------------------------------------------------------------------------- watchers

WATCHER = "jobs:\n  w: {type: file_watcher, watch: '/in/*.csv', schedule: '@daily'%s}\n"


def test_a_watcher_has_its_own_keys(load: Load) -> None:
    job = load(WATCHER % ", min_age: 0, poll: 5s, give_up_after: 2h", allow_inactive=True).jobs["w"]
    assert (job.kind, job.watch, job.command) == (JobKind.FILE_WATCHER, "/in/*.csv", "")
    assert (job.min_age_s, job.poll_s, job.give_up_after_s) == (0.0, 5.0, 7200.0)


@pytest.mark.parametrize(
    "key", ["command: x", "cwd: x", "env: {}", "timeout: 1h", "pools: {}", "stdout: x", "stderr: x", "nice: 1"]
)
def test_a_watcher_refuses_what_belongs_to_commands(problems: Build, key: str) -> None:
    found = problems(WATCHER % f", {key}", allow_inactive=True)
    what = f"job w: {key.split(':')[0]}: belongs to a command job, and this is a file watcher; remove it"
    assert found[-1] == f"error c.yaml:2:67: {what}"


@pytest.mark.parametrize("key", ["watch: /x", "min_age: 1s", "poll: 1s", "give_up_after: 1s"])
def test_a_command_job_refuses_what_belongs_to_watchers(problems: Build, key: str) -> None:
    (found,) = problems(f"jobs: {{j: {{command: x, schedule: manual, {key}}}}}\n")
    assert found.startswith(f"error c.yaml:1:42: job j: {key.split(':')[0]}: belongs to a file watcher; add type:")


def test_defaults_of_the_other_kind_are_passed_over(load: Load) -> None:
    """Keys a watcher forbids are ignored when they come from defaults, and the other way round (spec 1.9)."""
    text = "defaults: {command: x, timeout: 1h, poll: 7s}\n" + WATCHER % "" + "  j: {schedule: manual}\n"
    jobs = load(text, allow_inactive=True).jobs
    assert (jobs["w"].command, jobs["w"].timeout_s, jobs["w"].poll_s) == ("", None, 7.0)
    assert (jobs["j"].command, jobs["j"].timeout_s, jobs["j"].poll_s) == ("x", 3600.0, 10.0)


def test_what_only_people_read_holds_no_value_of_the_environment(load: Load) -> None:
    """FC-082: description, owner and tags go to every page; a value too short to be a secret stays readable."""
    text = """
        jobs:
          j: {command: x, schedule: manual, description: "signs in as ${WHO} with ${PASS}, in ${AT}", owner: "${WHO}",
              tags: ["${PASS}", plain]}
        """
    job = load(text, env={"WHO": "ann-of-finance", "PASS": "s3cret", "AT": "DE"}).jobs["j"]
    assert (job.description, job.owner) == ("signs in as ${WHO} with ${PASS}, in DE", "${WHO}")
    assert set(job.tags) == {"${PASS}", "plain"}
