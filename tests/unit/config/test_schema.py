"""The JSON Schema that editors use, and the keys it speaks of."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from pyscheduler.config import json_schema
from pyscheduler.config.alerting import plain
from pyscheduler.config.compose import Budget, compose
from pyscheduler.config.schema import CalendarKeys, ConfigKeys, SchedulerKeys
from pyscheduler.config.schema_job import JobDefaults, JobKeys, LimitKeys, RetryKeys, ScheduleKeys
from tests.unit.config.conftest import Load

MANUAL = Path(__file__).parents[3] / "docs" / "reference" / "configuration.md"
SCHEMA = json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)


def read(text: str) -> Any:
    return plain(compose(text.encode(), Budget()).root or "")


def examples() -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", MANUAL.read_text(), re.DOTALL)


def complete() -> str:
    """Return the example of the manual that shows a whole configuration."""
    return next(text for text in examples() if text.startswith("# A whole configuration"))


def test_it_is_a_sound_schema_that_speaks_to_people() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"].endswith("2020-12/schema")
    job = SCHEMA["$defs"]["JobKeys"]["properties"]
    assert set(job) == set(JobKeys.model_fields)
    for name, key in job.items():
        assert key.get("description"), f"{name} says nothing"
    assert job["timeout"]["examples"] == ["2h"]
    assert job["overlap"]["default"] == "queue"
    assert job["max_wait"]["title"] == "max_wait"
    assert {SCHEMA["$defs"][name]["title"] for name in ("JobKeys", "EmailNotifier")} == {"Job", "Email notifier"}


def test_no_key_may_be_null_and_no_default_is(tmp_path: Path) -> None:
    """A key that is not wanted is left out."""

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            assert node.get("type") != "null"
            assert "default" not in node or node["default"] is not None
            for each in node.values():
                walk(each)
        elif isinstance(node, list):
            for each in node:
                walk(each)

    for name, key in SCHEMA["$defs"]["JobKeys"]["properties"].items():
        if name != "env":  # its values may be: that is the empty text
            walk(key)


def test_it_accepts_the_manual_s_whole_example() -> None:
    """So does the loader: see below."""
    VALIDATOR.validate(read(complete()))


@pytest.mark.parametrize(
    "wrong",
    [
        "job: {}",
        "jobs: {a: {kommand: x}}",
        "jobs: {'a.b': {command: x}}",
        "jobs: {a: {command: x, timeout: 90}}",
        "jobs: {a: {command: x, timeout: ''}}",
        "jobs: {a: {command: x, overlap: forbid}}",
        "jobs: {a: {command: []}}",
        "jobs: {a: {command: x, schedule: {at: '9:30'}}}",
        "jobs: {a: {command: x, schedule: {days: [monday], at: '09:30'}}}",
        "jobs: {a: {command: x, depends_on: b}}",
        "jobs: {a: {command: x, depends_on: [{on: done}]}}",
        "jobs: {a: {command: x, retries: 3}}",
        "jobs: {a: {command: x, env: {A: [b]}}}",
        "jobs: {a: {command: x, umask: '8'}}",
        "jobs: {a: {command: x, limits: {files: 1}}}",
        "defaults: {type: command}",
        "defaults: {watch: /x}",
        "pools: {'p q': 1}",
        "scheduler: {timezon: UTC}",
        "calendars: {c: {weekdays: [Mon]}}",
        "notifiers: {n: {type: slack}}",
        "routes: [{match: '#'}]",
    ],
)
def test_it_refuses_what_the_loader_refuses(wrong: str) -> None:
    assert not VALIDATOR.is_valid(read(wrong)), wrong


@pytest.mark.parametrize(
    "typed",
    [
        {"jobs": {"a": {"command": "x", "enabled": True, "retries": {"count": 3, "backoff": 1.5}, "nice": -5}}},
        {"jobs": {"a": {"command": "x", "env": {"A": None, "B": 1.0, "C": False}, "success_codes": [0, 3]}}},
        {"jobs": {"a": {"command": ["x", 1], "min_age": 0, "limits": {"core": 0, "as": "1G", "cpu": 30}}}},
        {"jobs": {"a": {"command": "x", "umask": 27, "timeout": "${T}", "overlap": "${O}", "pools": {"p": "${N}"}}}},
        {"pools": {"p": 2}, "scheduler": {"max_running": 8, "listen": "${HOST}:80", "secure_cookies": False}},
        {"include": "jobs/*.yaml"},
        {"jobs": {"on": {"command": "x", "depends_on": ["no", True]}}},
    ],
)
def test_it_takes_yaml_s_own_types_and_variables(typed: object) -> None:
    """An editor sees numbers and booleans where the loader sees text."""
    VALIDATOR.validate(typed)


def test_a_default_is_any_job_key_but_type_and_watch() -> None:
    assert set(JobKeys.model_fields) - set(JobDefaults.model_fields) == {"type", "watch"}


def test_every_key_stands_in_the_manual() -> None:
    """Type, default, rules and an example for each: docs/reference/configuration.md."""
    text = MANUAL.read_text()
    models: list[type[BaseModel]] = [
        ConfigKeys,
        SchedulerKeys,
        CalendarKeys,
        JobKeys,
        ScheduleKeys,
        RetryKeys,
        LimitKeys,
    ]
    for model in models:
        for name, info in model.model_fields.items():
            word = info.alias or name
            assert f"`{word}`" in text or f"`{word}:`" in text, f"{model.__name__}: {name} is missing in the manual"


@pytest.mark.parametrize("text", examples(), ids=lambda text: text.strip().splitlines()[0][:40])
def test_every_example_of_the_manual_loads(load: Load, text: str) -> None:
    """With the files and variables that the manual speaks of."""
    from tests.unit.config.test_calendars import ICS

    job = "jobs: {extract: {command: x, schedule: '@daily'}}\n"
    files = {"jobs/a.yaml": "", "uk.ics": ICS.replace("{more}", ""), "secrets.yaml": "x"}
    if "jobs:" not in text:
        text += job
    config = load(
        text, files, {"PGPASSWORD": "x", "OPS_HOOK": "https://example.org/hook", "HOME": "/h"}, allow_inactive=True
    )
    assert config.jobs
