"""Notifiers, routes, agents. Spec: jobs.md 15.2, 15.3, 15.7."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from pyscheduler.config.alerting import can_match
from tests.unit.config.conftest import Build, Load

SILENT = "not active yet"


def errors(problems: Build, text: str, **more: object) -> list[str]:
    found = problems(text, **more)
    return [line.removeprefix("error c.yaml:") for line in found if SILENT not in line]


@pytest.mark.parametrize(
    "options",
    [
        "type: log, path: alerts.jsonl",
        "type: command, command: ./tell.sh",
        "type: command, command: [./tell.sh, x], timeout: 5s, retries: {count: 0, delay: 1s, max_delay: 1m}",
        "type: webhook, url: 'https://example.org/hook', headers: {X-Token: '${TOKEN}'}",
        "type: slack, webhook_url: '${SLACK}'",
        "type: telegram, bot_token: '${TOKEN}', chat_id: 42",
        "type: email, host: mail, from: a@example.org, to: b@example.org",
        "type: email, host: mail, from: a, to: b, port: 2465, smtps: true",
        "type: email, host: mail, from: a, to: [b, c], port: 25, username: u, password: '${TOKEN}', starttls: false",
    ],
)
def test_every_type_of_notifier_is_kept_as_typed(load: Load, options: str) -> None:
    """No value of the environment is in it."""
    env = {"TOKEN": "s3cret-token", "SLACK": "https://hooks.example.org/s3cret-path"}
    config = load(f"notifiers: {{n: {{{options}}}}}\n", env=env)
    assert "s3cret" not in str(config.notifiers)
    assert config.notifiers["n"]["type"] == options.split(",")[0].removeprefix("type: ")
    assert config.warnings == ()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("path: x", "1:16: notifiers.n.type: type is missing; it is one of log, command, webhook"),
        ("type: [log]", "1:23: notifiers.n.type: type is missing"),
        ("type: slak, webhook_url: x", '1:23: notifiers.n.type: unknown type "slak"; did you mean "slack"?'),
        ("type: pigeon", '1:23: notifiers.n.type: unknown type "pigeon"; it is one of log, command'),
        ("type: log", "1:16: notifiers.n.path: is missing"),
        ("type: log, path: x, pathh: y", '1:37: notifiers.n: unknown key "pathh"; did you mean "path"?'),
        ("type: log, path: x, timeout: soon", '1:46: notifiers.n.timeout: "soon" is no duration'),
        ("type: log, path: x, retries: {count: -1}", '1:54: notifiers.n.retries.count: "-1" is less than 0'),
        ("type: webhook, url: 'ftp://x/y'", '1:37: notifiers.n.url: "ftp://x/y" is no http or https address'),
        ("type: webhook, url: 'https://x y'", '1:37: notifiers.n.url: "https://x y" is no http or https address'),
        ("type: webhook, url: '${NOPE}'", '1:37: notifiers.n.url: "${NOPE}" reads ${NOPE}, which is not set'),
        ("type: email, host: m, from: a, to: []", "1:52: notifiers.n.to: is an empty list"),
        (
            "type: email, host: m, from: a, to: b, username: u",
            "1:16: notifiers.n: username and password stand together",
        ),
        ("type: email, host: m, from: a, to: b, port: 0", '1:61: notifiers.n.port: "0" is less than 1'),
        ("type: command, command: []", "1:41: notifiers.n.command: is an empty list"),
    ],
)
def test_what_is_wrong_with_a_notifier_is_said_at_its_option(problems: Build, options: str, complaint: str) -> None:
    (found,) = errors(problems, f"notifiers: {{n: {{{options}}}}}\n")
    assert found.startswith(complaint)


def test_a_notifier_must_be_a_mapping(problems: Build) -> None:
    assert errors(problems, "notifiers: {n: log}\n") == [
        "1:16: notifiers.n: must be a mapping; write type: and its options, indented below it"
    ]


def test_a_plug_in_brings_its_own_type_and_its_own_options(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    points = EntryPoints([EntryPoint("pigeon", "pigeons:make", "pyscheduler.notifiers")])
    monkeypatch.setattr("pyscheduler.config.alerting.entry_points", lambda group: points.select(group=group))
    config = load("notifiers: {n: {type: pigeon, speed: [1, {a: b}], timeout: 5s}}\n")
    assert config.notifiers["n"] == {"type": "pigeon", "speed": ["1", {"a": "b"}], "timeout": "5s"}


# --------------------------------------------------------------------------- routes

HEAD = "notifiers: {ops: {type: log, path: x}}\njobs: {nightly: {command: x, schedule: manual}}\n"


def test_routes_are_kept_as_typed(load: Load) -> None:
    config = load(HEAD + "routes: [{match: alert.failed.#, notify: [ops]}]\n")
    assert config.routes == ({"match": "alert.failed.#", "notify": ["ops"]},)


@pytest.mark.parametrize(
    ("route", "complaint"),
    [
        ("{notify: [ops]}", "3:10: routes.match: is missing"),
        ("{match: '#'}", "3:10: routes.notify: is missing"),
        ("{match: '#', notify: ops}", "3:31: routes.notify: must be a list"),
        ("{match: '#', notify: [oops]}", '3:32: routes.notify: unknown notifier "oops"; did you mean "ops"?'),
        ("{match: 'a..b', notify: [ops]}", '3:18: routes.match: "a..b" is no pattern'),
        ("{match: 'alert.f*', notify: [ops]}", '3:18: routes.match: "alert.f*" is no pattern'),
        ("x", "3:10: routes: must be a mapping"),
    ],
)
def test_what_is_wrong_with_a_route_is_said_at_its_key(problems: Build, route: str, complaint: str) -> None:
    (found,) = errors(problems, HEAD + f"routes: [{route}]\n")
    assert found.startswith(complaint)


def test_routes_must_be_a_list(problems: Build) -> None:
    assert errors(problems, "routes: {match: x}\n")[0].startswith("1:9: routes: must be a list")


@pytest.mark.parametrize(
    "pattern",
    [
        "#",
        "alert.#",
        "alert.*.*.*",
        "alert.failed.high.nightly",
        "#.nightly",
        "*.*.*.*",
        "alert.#.nightly",
        "#.#",
        "alert.reload_failed.#",
    ],
)
def test_a_pattern_that_can_match_is_accepted(pattern: str) -> None:
    assert can_match(pattern.split("."), {"nightly"})


@pytest.mark.parametrize(
    "pattern",
    [
        "alert",
        "alert.*",
        "alert.*.*.*.*",
        "alert.faiiled.#",
        "alert.failed.urgent.#",
        "#.nope",
        "failed.#",
        "alert.#.nope",
    ],
)
def test_a_pattern_that_can_match_no_alert_is_warned_of(problems: Build, pattern: str) -> None:
    assert not can_match(pattern.split("."), {"nightly"})
    found = problems(HEAD + f"routes: [{{match: '{pattern}', notify: [ops]}}]\n")
    assert any(line.startswith("warning c.yaml:3:18: routes.match") and "can match no alert" in line for line in found)


def test_a_job_may_only_notify_who_exists(problems: Build) -> None:
    (found,) = errors(problems, HEAD.replace("manual", "manual, alerts: {notify: [ops, oops]}"))
    assert found == '2:71: job nightly: alerts.notify: unknown notifier "oops"; did you mean "ops"?'


# --------------------------------------------------------------------------- agents


def test_the_agents_section_is_kept_as_typed(load: Load, tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.yaml"
    secrets.write_text("x")
    secrets.chmod(0o600)
    config = load("agents: {listen: '0.0.0.0:8471', secrets_file: secrets.yaml, lost_after: 5m}\n")
    assert config.agents == {"listen": "0.0.0.0:8471", "secrets_file": "secrets.yaml", "lost_after": "5m"}
    assert len(config.warnings) == 1


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ("listen: 'a:1', broker: 'b:2', secrets_file: c.yaml", "1:25: agents.broker: listen embeds a broker"),
        ("listen: 'a:1'", "1:9: agents: secrets_file is missing"),
        ("listen: x, secrets_file: c.yaml", '1:18: agents.listen: "x" is no host and port'),
        ("listen: 'a:1', secrets_file: no.yaml", '1:39: agents.secrets_file: "no.yaml" cannot be read: No such file'),
        ("lissen: 'a:1'", '1:10: agents: unknown key "lissen"; did you mean "listen"?'),
    ],
)
def test_what_is_wrong_with_the_agents_is_said_at_its_key(problems: Build, keys: str, complaint: str) -> None:
    found = [line for line in errors(problems, f"agents: {{{keys}}}\n") if "readable by others" not in line]
    assert len(found) == 1
    assert found[0].startswith(complaint)


def test_secrets_that_others_can_read_are_warned_of(problems: Build, tmp_path: Path) -> None:
    secrets = tmp_path / "s.yaml"
    secrets.write_text("x")
    secrets.chmod(0o640)
    found = problems("agents: {listen: 'a:1', secrets_file: s.yaml}\n")
    assert 'warning c.yaml:1:39: agents.secrets_file: "s.yaml" is readable by others; chmod 600 s.yaml' in found


def test_a_job_on_an_agent_needs_an_agents_section(problems: Build) -> None:
    found = problems("jobs: {j: {command: x, schedule: manual, agent: a}}\n", allow_inactive=True)
    assert "error c.yaml:1:42: job j: agent: needs an agents: section, and there is none" in found
