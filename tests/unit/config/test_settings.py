"""The `scheduler:` section. Spec: jobs.md 1.6; DESIGN 3, 8."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyscheduler.model.job import Leftovers, Settings
from tests.unit.config.conftest import Build, Load


def test_everything_has_a_default(load: Load, tmp_path: Path) -> None:
    """State and logs lie beside the main file."""
    assert load("").settings == Settings(state_dir=tmp_path / "state", log_dir=tmp_path / "logs")


def test_every_key_arrives(load: Load, tmp_path: Path) -> None:
    config = load(
        """
        scheduler:
          name: night shift
          timezone: Europe/Berlin
          state_dir: ../s
          log_dir: /var/log/x
          store: sqlite
          max_running: 8
          listen: "[::1]:0"
          api_tokens_file: t.yaml
          users_file: /etc/u.yaml
          kill_grace: 1m
          leftovers: kill
          retention: 30d
          log_retention: 60d
          audit_retention: 730d
          memory_days: 3
          memory_runs: 500
          watch_limit: 2
          pool_patience: 5m
          cron_star: leading
          heartbeat_url: https://example.org/beat
          secure_cookies: false
        """
    )
    assert config.settings == Settings(
        name="night shift",
        timezone="Europe/Berlin",
        state_dir=tmp_path.parent / "s",
        log_dir=Path("/var/log/x"),
        max_running=8,
        listen="[::1]:0",
        listen_is_given=True,
        api_tokens_file=tmp_path / "t.yaml",
        users_file=Path("/etc/u.yaml"),
        kill_grace_s=60.0,
        leftovers=Leftovers.KILL,
        retention_s=30 * 86400.0,
        log_retention_s=60 * 86400.0,
        audit_retention_s=730 * 86400.0,
        memory_days=3,
        memory_runs=500,
        watch_limit=2,
        pool_patience_s=300.0,
        cron_star="leading",
        heartbeat_url="https://example.org/beat",
        secure_cookies=False,
    )


@pytest.mark.parametrize("word", ["off", "none"])
def test_tcp_may_be_switched_off(load: Load, word: str) -> None:
    """Then the Unix socket is the only way in. An address nobody wrote is the default, and known to be."""
    assert load(f"scheduler: {{listen: {word}}}\n").settings.listen is None
    default = load("scheduler: {name: x}\n").settings
    assert (default.listen, default.listen_is_given) == ("127.0.0.1:8470", False)


def test_logs_are_kept_for_ever_by_default_and_by_the_word_keep(load: Load) -> None:
    assert load("scheduler: {log_retention: keep}\n").settings.log_retention_s is None


@pytest.mark.parametrize(
    ("key", "complaint"),
    [
        ("timezone: Berlin", '1:23: scheduler.timezone: "Berlin" is no time zone of the IANA database'),
        ("timezone: GMT+3", '1:23: scheduler.timezone: "GMT+3" is no time zone'),
        ("max_running: 0", '1:26: scheduler.max_running: "0" is less than 1, the least allowed'),
        ("listen: 8470", '1:21: scheduler.listen: "8470" is no host and port'),
        ("listen: '::1:80'", '1:21: scheduler.listen: "::1:80" is no host and port; write an IPv6 address in brackets'),
        ("kill_grace: 0s", '1:25: scheduler.kill_grace: "0s" is no time at all'),
        ("retention: keep", '1:24: scheduler.retention: "keep" is no duration'),
        ("memory_days: 0", '1:26: scheduler.memory_days: "0" is less than 1'),
        ("watch_limit: 0", '1:26: scheduler.watch_limit: "0" is less than 1'),
        ("state_dir: ''", '1:24: scheduler.state_dir: "" is empty'),
        ("store: mysql://x", "1:20: scheduler.store: is no store; write sqlite, or postgresql+psycopg://"),
        ("cron_star: all", '1:24: scheduler.cron_star: "all" is none of lone, leading'),
        ("secure_cookies: yes", '1:29: scheduler.secure_cookies: "yes" is neither true nor false'),
        ("heartbeat_url: beat", '1:28: scheduler.heartbeat_url: "beat" is no http or https address'),
        ("timezon: UTC", '1:13: scheduler: unknown key "timezon"; did you mean "timezone"?'),
    ],
)
def test_what_is_wrong_with_a_setting_is_said_at_its_key(problems: Build, key: str, complaint: str) -> None:
    (found,) = problems(f"scheduler: {{{key}}}\n")
    assert found.startswith(f"error c.yaml:{complaint}")


def test_the_secret_of_an_address_is_shown_nowhere(load: Load) -> None:
    """Not in a repr, whoever prints it; it is known to the settings alone."""
    text = "scheduler: {heartbeat_url: 'https://example.org/${TOKEN}'}\n"
    config = load(text, env={"TOKEN": "s3cret-token"})
    assert config.settings.heartbeat_url == "https://example.org/s3cret-token"
    assert config.variables_in_clear == {"TOKEN"}
    assert "s3cret" not in repr(config.settings)
