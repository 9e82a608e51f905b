"""Loading a whole configuration."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from pyscheduler.config import ConfigError, build_config, load_config
from tests.unit.config.conftest import TODAY, Build, Load

ORDINARY = """
    scheduler: {timezone: Europe/Berlin, max_running: 8}
    calendars:
      bank: {holidays: [2027-05-17]}
    pools: {database: 2}
    jobs:
      extract:
        command: ./extract.sh {run_date:%Y%m%d}
        schedule: "15 3 * * *"
        calendar: bank
        run_date: previous_business_day
      load:
        command: [/bin/sh, load.sh]
        depends_on: [extract]
        pools: {database: 1}
"""


def test_an_ordinary_file_loads_without_a_word(load: Load) -> None:
    """Command jobs, pools, calendars and dependencies: what is said arrives, everything else has its default."""
    config = load(ORDINARY)
    assert list(config.jobs) == ["extract", "load"]
    assert config.warnings == ()
    assert config.pools == {"database": 2}
    assert config.settings.max_running == 8
    assert config.jobs["extract"].timezone == "Europe/Berlin"
    assert config.jobs["load"].command == ("/bin/sh", "load.sh")
    assert config.jobs["load"].calendar == "bank", "a dependency-only job inherits its upstreams' calendar"
    assert config.dependents("extract") == ("load",)
    assert not config.calendar_for("load").is_business_day(date(2027, 5, 17))


Write = Callable[..., Path]


def test_all_complaints_of_all_files_come_at_once_and_in_order(problems: Build) -> None:
    """Files in load order, then lines, then columns; warnings among the errors."""
    over = "{once: '2020-01-01 00:00'}"
    found = problems(
        "include: [b.yaml]\njobs:\n  z: {command: x, schedule: manual, timeout: x, overlap: y}\n  a: {kommand: x}\n",
        {"b.yaml": f"jobs:\n  m: {{command: x, schedule: {over}}}\n  n: {{command: x}}\nscheduler: {{}}\n"},
    )
    assert [" ".join(line.split(" ")[:2]) for line in found] == [
        "error c.yaml:3:46:",
        "error c.yaml:3:58:",
        "error c.yaml:4:7:",
        "warning b.yaml:2:29:",
        "error b.yaml:3:3:",
        "error b.yaml:4:1:",
    ]


def test_an_error_raises_with_every_problem_warnings_included(write: Write) -> None:
    path = write("jobs:\n  a: {command: x, schedule: [manual, '@daily']}\n  b: {command: x}\n")
    with pytest.raises(ConfigError) as refused:
        load_config(path, env={}, today=TODAY)
    assert [problem.severity for problem in refused.value.problems] == ["warning", "error"]
    assert "c.yaml:3:3: job b: nothing ever starts it" in str(refused.value)


def test_warnings_alone_do_not_refuse_a_configuration(load: Load) -> None:
    config = load("jobs: {a: {command: x, schedule: [manual, '@daily']}}\n")
    assert len(config.warnings) == 1


def test_build_config_never_raises_for_problems_of_the_text(write: Write) -> None:
    path = write("jobs: [")
    config, problems = build_config(path, env={}, today=TODAY)
    assert (len(config.jobs), len(problems)) == (0, 1)
    path.unlink()
    config, problems = build_config(path, env={}, today=TODAY)
    assert [str(problem) for problem in problems] == ["c.yaml: cannot be read: No such file or directory"]


def test_the_environment_is_the_process_s_own_unless_given(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN_VARIABLE", "own value")
    path = write("scheduler: {name: '${OWN_VARIABLE}'}\n")
    assert load_config(path).settings.name == "own value"


def test_without_a_day_horizons_count_from_today_in_utc(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyscheduler.config.process.time.gmtime", lambda: (2031, 2, 3, 23, 59, 59, 0, 34, 0))
    assert load_config(write(""), env={}).loaded_on == date(2031, 2, 3)


def test_the_garbage_collector_works_again_afterwards(write: Write) -> None:
    assert gc.isenabled()
    build_config(write("jobs: ["), env={})
    assert gc.isenabled()


# --------------------------------------------------------------------------- the digest


def test_the_digest_is_over_path_and_text_of_every_file_in_load_order(load: Load, tmp_path: Path) -> None:
    """SHA-256, every part ended by a NUL (spec 1.1)."""
    config = load("include: [b.yaml]\n", {"b.yaml": "# é\n"})
    sha = hashlib.sha256()
    for name, text in (("c.yaml", "include: [b.yaml]\n"), ("b.yaml", "# é\n")):
        sha.update(str(tmp_path / name).encode() + b"\0" + text.encode() + b"\0")
    assert config.digest == sha.hexdigest()


def test_the_digest_knows_texts_and_not_the_environment(load: Load) -> None:
    text = "jobs: {a: {command: x, schedule: manual, owner: '${A}'}}\n"
    first = load(text, env={"A": "one"})
    assert load(text, env={"A": "two"}).digest == first.digest
    assert load(text + "# a comment\n", env={"A": "one"}).digest != first.digest


def test_the_texts_are_kept_as_typed(load: Load) -> None:
    """Line endings and `${NAME}` included; what was kept can be shown later without a secret."""
    config = load(b"jobs: {a: {command: '${S}', schedule: manual}}\r\n", env={"S": "s3cret"})
    assert [source.text for source in config.sources] == ["jobs: {a: {command: '${S}', schedule: manual}}\r\n"]


def test_a_secret_shows_in_no_complaint(problems: Build) -> None:
    """Whatever is wrong with it, and brace-doubled too (spec 1.4, FC-082)."""
    secret = "s3cr{e}t-value"
    keys = [
        "timeout: '${S}'", "schedule: '${S}'", "calendar: '${S}'", "depends_on: ['${S}']", "timezone: '${S}'",
        "retries: {on: ['${S}']}", "user: '${S}'", "alerts: {notify: ['${S}']}", "overlap: '${S}'", "umask: '${S}'",
        "command: ['/bin/${S}']", "limits: {as: '${S}'}", "tags: ['${S}'], enabled: '${S}'",
    ]  # fmt: skip
    text = "scheduler: {listen: '${S}', store: '${S}'}\npools: {p: '${S}'}\njobs:\n"
    for number, key in enumerate(keys):
        base = "" if key.startswith("command") else "command: x, "
        text += f"  j{number}: {{{base}{'' if key.startswith('schedule') else 'schedule: manual, '}{key}}}\n"
    found = problems(text, env={"S": secret})
    assert len(found) >= len(keys)
    assert not any("s3cr" in line for line in found)
