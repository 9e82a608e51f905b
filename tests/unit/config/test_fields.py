"""The kinds of value a key can have, seen through the keys that use them."""

from __future__ import annotations

from datetime import time

import pytest

from tests.unit.config.conftest import Build, Load


def complaints(problems: Build, keys: str, env: dict[str, str] | None = None) -> list[str]:
    return [
        line.split(": ", 1)[1] for line in problems(f"jobs:\n  j: {{command: x, schedule: manual, {keys}}}\n", env=env)
    ]


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ("timeout: [1h]", "job j: timeout: must be one value, not a list"),
        ("timeout: {a: b}", "job j: timeout: must be one value, not a mapping"),
        ("timeout: 0s", 'job j: timeout: "0s" is no time at all, and this must be longer than zero'),
        ("timeout: ~", 'job j: timeout: "~" is no duration; write days, hours, minutes'),
        ("enabled: yes", 'job j: enabled: "yes" is neither true nor false; write true'),
        ("retries: {count: -1}", 'job j: retries.count: "-1" is less than 0, the least allowed'),
        ("retries: {backoff: 0.5}", 'job j: retries.backoff: "0.5" is less than 1, the least allowed'),
        ("retries: {jitter: 1.5}", 'job j: retries.jitter: "1.5" is more than 1, the most allowed'),
        ("retries: {count: 1.0}", 'job j: retries.count: "1.0" is no whole number'),
        ("retries: 3", "job j: retries: must be a mapping; write KEY: VALUE lines, indented below it"),
        ("success_codes: [256]", 'job j: success_codes: "256" is more than 255, the most allowed'),
        ("success_codes: []", "job j: success_codes: is an empty list; name at least one"),
        ("success_codes: 3", "job j: success_codes: must be a list; write [A, B], or lines that begin with -"),
        ("nice: 20", 'job j: nice: "20" is more than 19, the most allowed'),
        ("overlap: forbid", 'job j: overlap: "forbid" is none of queue, skip, allow'),
        ("overlap: Queue", 'job j: overlap: "Queue" is none of queue, skip, allow; did you mean "queue"?'),
        ("criticality: hihg", 'job j: criticality: "hihg" is none of low, normal, high, critical; did you'),
        ("timezone: Europe/Berln", 'job j: timezone: "Europe/Berln" is no time zone of the IANA database; did you'),
        ("timezone: ''", 'job j: timezone: "" is no time zone of the IANA database; write its'),
        ("env: {'': x}", 'job j: env.: "" is no name of an environment variable; use letters, digits and _'),
        ("env: {'a=b': x}", 'job j: env: "a=b" is no name of an environment variable; use letters, digits and _'),
        ("env: [a]", "job j: env: must be a mapping; write KEY: VALUE lines, indented below it"),
        ("env: {a: [b]}", "job j: env.a: must be one value, not a list"),
        ("pools: {'p q': 1}", 'job j: pools: "p q" is no name; use 1 to 64 letters (a to z), digits, _ and -'),
        ('cwd: "a\\0b"', "job j: cwd: holds a NUL character, which no program can be given"),
        ("cwd: '{nope}'", "job j: cwd: unknown placeholder {nope}"),
        ("stdout: ''", 'job j: stdout: "" is empty'),
        ("must_start_by: 25:00", 'job j: must_start_by: "25:00" is no clock time; write HH:MM from 00:00 to 23:59'),
        ("must_start_by: soon", 'job j: must_start_by: "soon" is neither a clock time nor a duration'),
        ("max_log: 0", 'job j: max_log: "0" is less than 1, the least allowed'),
        ("limits: {nofile: -1}", 'job j: limits.nofile: "-1" is no limit: write a number from 0 up, or unlimited'),
        ("limits: {as: 1Z}", 'job j: limits.as: "1Z" is no size'),
        ("limits: {cpu: 1:30}", 'job j: limits.cpu: "1:30" is no duration'),
        ("limits: {files: 1}", 'job j: limits: unknown key "files"'),
        ("inherit_env: {a: b}", "job j: inherit_env: must be text or a list"),
        ("inherit_env: ['a=b']", 'job j: inherit_env: "a=b" is no name of an environment variable'),
        ("user: 'a b'", 'job j: user: "a b" is no name'),
        ("depends_on: [{on: done}]", "job j: depends_on.job: is missing"),
        ("depends_on: [{job: j, run_date: 1}]", 'job j: depends_on.run_date: "1" is more than 0, the most allowed'),
        ("depends_on: [{job: j, run_date: -261}]", 'job j: depends_on.run_date: "-261" is less than -260'),
        ("depends_on: [[j]]", "job j: depends_on: must be text or a mapping"),
        ("depends_on: j", "job j: depends_on: must be a list"),
        ("alerts: {on: [reload_failed]}", 'job j: alerts.on: "reload_failed" is none of failed, retrying'),
        ("retries: {on: [256]}", 'job j: retries.on: "256" is no exit code: they run from 0 to 255'),
        ("retries: {on: [crashed]}", 'job j: retries.on: "crashed" is neither an exit code nor one of failed, signal'),
    ],
)  # fmt: skip
def test_a_value_of_the_wrong_kind_is_refused_with_its_key_and_its_mend(
    problems: Build, keys: str, complaint: str
) -> None:
    (found,) = complaints(problems, keys)
    assert found.startswith(complaint.replace("env.:", "env:"))


def test_every_fault_of_a_job_is_said_at_once(problems: Build) -> None:
    found = complaints(problems, "timeout: 1, retries: {cuont: 1, delay: x}, overlap: never, env: {a: [b]}")
    assert len(found) == 5


def test_values_arrive_as_what_they_mean(load: Load) -> None:
    """Quoted or not, `08` is 8 and any letter case of a criticality is good."""
    job = load(
        """
        jobs:
          j:
            command: x
            schedule: manual
            enabled: "true"
            criticality: HIGH
            retries: {count: 08, delay: 90s, backoff: 1.5, max_delay: 1h, on: [75, failed, 75], jitter: 0.25}
            success_codes: [0, 3]
            timeout: 1h30m
            must_start_by: "02:00"
            max_log: 100M
            umask: 027
            nice: -5
            limits: {nofile: 256, as: 512M, cpu: 5s, core: 0, fsize: 1M, nproc: unlimited, stack: unlimited, rss: 1G}
            inherit_env: [http_proxy]
            leftovers: kill
            user: alice
            kill_grace: 30s
            max_wait: 6h
        """
    ).jobs["j"]
    assert job.enabled
    assert job.criticality.word == "high"
    assert job.retries.count == 8
    assert (job.retries.delay_s, job.retries.backoff, job.retries.max_delay_s) == (90.0, 1.5, 3600.0)
    assert (job.retries.on, job.retries.jitter) == ((75, "failed"), 0.25)
    assert job.success_codes == {0, 3}
    assert job.timeout_s == 5400.0
    assert job.must_start_by == time(2)
    assert (job.max_log_bytes, job.umask, job.nice) == (100 << 20, 0o027, -5)
    assert job.limits == {
        "nofile": 256, "as": 512 << 20, "cpu": 5, "core": 0, "fsize": 1 << 20, "nproc": -1, "stack": -1, "rss": 1 << 30,
    }  # fmt: skip
    assert (job.inherit_env, job.leftovers, job.user) == (("http_proxy",), "kill", "alice")
    assert (job.kill_grace_s, job.max_wait_s) == (30.0, 21600.0)


def test_a_deadline_may_be_a_duration(load: Load) -> None:
    config = load("jobs: {j: {command: x, schedule: manual, must_start_by: 45m}}")
    assert config.jobs["j"].must_start_by == 2700.0


def test_processor_time_may_be_plain_seconds(load: Load) -> None:
    config = load("jobs: {j: {command: x, schedule: manual, limits: {cpu: 30}, inherit_env: false}}")
    assert config.jobs["j"].limits == {"cpu": 30}
    assert config.jobs["j"].inherit_env is False


@pytest.mark.parametrize("value", ["null", "~", "", "Null", "NULL"])
def test_a_plain_null_in_the_environment_is_empty_text(load: Load, value: str) -> None:
    """FC-084: never the text None. In quotes it is text like any other."""
    config = load(f"jobs: {{j: {{command: x, schedule: manual, env: {{A: {value}, B: '{value}'}}}}}}")
    assert config.jobs["j"].env == {"A": "", "B": value}


def test_a_value_from_the_environment_is_read_like_a_typed_one(load: Load, problems: Build) -> None:
    """And a complaint about it shows its name only."""
    text = "jobs: {j: {command: x, schedule: manual, timeout: '${T}', owner: 'a$$b ${T}'}}"
    job = load(text, env={"T": "90m"}).jobs["j"]
    assert (job.timeout_s, job.owner) == (5400.0, "a$b 90m")
    (found,) = problems(text, env={"T": "secret"})
    assert 'timeout: "${T}" is no duration' in found
    assert "secret" not in found


def test_a_template_keeps_its_variables_as_typed(load: Load) -> None:
    config = load(
        "jobs: {j: {command: 'x ${S}', schedule: manual, env: {A: '${S}'}, cwd: '/${S}', stdout: '/${S}/o'}}",
        env={"S": "s3cret{x}", "UNUSED": "y"},
    )
    job = config.jobs["j"]
    assert (job.command, job.env, job.cwd, job.stdout) == ("x ${S}", {"A": "${S}"}, "/${S}", "/${S}/o")
    assert config.variables == {"S": "s3cret{x}"}
    assert config.withheld == {"S"}
    assert config.variables_in_clear == set()
    assert "s3cret" not in repr(config)


def test_a_format_that_comes_from_the_environment_is_checked_too(problems: Build) -> None:
    (found,) = problems("jobs: {j: {command: '{attempt:${F}}', schedule: manual}}", env={"F": "%Y-bad"})
    assert "does not fit {attempt}" in found
    assert "%Y-bad" not in found, "the format is a value of the environment"
