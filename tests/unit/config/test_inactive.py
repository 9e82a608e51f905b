"""Parts that this release does not do yet."""

from __future__ import annotations

import pytest

from tests.unit.config.conftest import Build, Load

WATCHER = "jobs:\n  w: {type: file_watcher, watch: /in/x, schedule: '@daily'}\n  d: {command: x, depends_on: [w]}\n"


def test_a_watcher_is_an_error_so_that_nobody_waits_for_it_in_good_faith(problems: Build) -> None:
    mend = "--allow-inactive loads it all the same and blocks what needs it"
    assert problems(WATCHER) == [f"error c.yaml:2:7: job w: type: file watchers are not active yet; {mend}"]


def test_allowed_it_is_a_warning_and_the_job_says_why_it_cannot_run(load: Load) -> None:
    """`blocked: JOB is a watcher, not active yet`."""
    config = load(WATCHER, allow_inactive=True)
    assert [str(problem) for problem in config.warnings] == [
        "c.yaml:2:7: job w: type: file watchers are not active yet"
    ]
    assert config.jobs["w"].inactive == "is a watcher, not active yet"
    assert config.jobs["d"].inactive is None


@pytest.mark.parametrize("key", ["agent: a", "agent_tags: [a]"])
def test_a_job_on_an_agent_is_treated_alike(problems: Build, load: Load, key: str) -> None:
    text = f"agents: {{}}\njobs: {{j: {{command: x, schedule: manual, {key}}}}}\n"
    assert any(line.startswith("error") and "agents are not active yet" in line for line in problems(text))
    assert load(text, allow_inactive=True).jobs["j"].inactive == "needs an agent, not active yet"


@pytest.mark.parametrize(
    "key",
    [
        "heartbeat_url: 'https://example.org/x'",
        "store: 'postgresql+psycopg://u@h/d'",
        "listen: '127.0.0.1:0'",
        "api_tokens_file: t.yaml",
        "users_file: u.yaml",
        "secure_cookies: true",
    ],
)
def test_every_setting_has_an_effect(problems: Build, key: str) -> None:
    """Nothing is said of a setting that works."""
    assert problems(f"scheduler: {{{key}}}\n") == []


def test_alerts_are_active(problems: Build) -> None:
    """Nothing is said of their keys any more."""
    job = "{command: x, schedule: manual, must_start_by: 1h, max_runtime: 2h, alerts: {on: [recovered]}}"
    text = "scheduler: {heartbeat_url: 'https://example.org/x'}\nnotifiers: {n: {type: log, path: x}}\n"
    assert problems(f"{text}routes: [{{match: 'alert.#', notify: [n]}}]\njobs: {{j: {job}}}\n") == []
