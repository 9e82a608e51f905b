"""A notifier's definition: filled in for one send, and silent about what it knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyscheduler.alerts.definition import Definition, definition_of
from pyscheduler.config import Config, load_config

TEXT = """
notifiers:
  ops:
    type: webhook
    url: "https://example.org/${PATH_KEY}"
    headers: {X-Token: "${TOKEN}", X-Name: plain-header}
    timeout: 3s
    retries: {count: 2, delay: 5s, max_delay: 1m}
  file: {type: log, path: "a$$b.log"}
"""
ENV = {"TOKEN": "s3cr€t&<x>/+=", "PATH_KEY": "hook-path-1"}


@pytest.fixture
def config(tmp_path: Path) -> Config:
    (tmp_path / "c.yaml").write_text(TEXT)
    return load_config(tmp_path / "c.yaml", env=ENV)


def test_values_are_put_in_for_sending_and_taken_out_for_showing(config: Config) -> None:
    definition = definition_of(config, "ops")
    assert definition is not None
    assert definition.options["url"] == "https://example.org/hook-path-1"
    assert definition.options["headers"]["X-Token"] == ENV["TOKEN"]
    assert (definition.timeout_s, definition.retry_count, definition.delay_s, definition.max_delay_s) == (3, 2, 5, 60)
    shown = definition.hide(f"https://example.org/hook-path-1 said {ENV['TOKEN']} and plain-header, hook-path-1")
    assert shown == "*** said *** and ***, ${PATH_KEY}"
    assert ENV["TOKEN"] not in repr(definition)
    assert "hook-path" not in repr(definition)


def test_defaults_and_what_is_no_notifier(config: Config) -> None:
    definition = definition_of(config, "file")
    assert definition is not None
    assert (definition.timeout_s, definition.retry_count, definition.delay_s, definition.max_delay_s) == (
        10,
        5,
        10,
        600,
    )
    assert definition.options == {"path": "a$b.log"}
    assert definition_of(config, "nobody") is None


@pytest.mark.parametrize(
    ("delay_s", "max_delay_s", "waits"),
    [(10.0, 600.0, [10, 20, 40, 80, 160, 320, 600, 600]), (60.0, 30.0, [60, 60, 60]), (1.0, 1.0, [1, 1])],
)
def test_waits_double_up_to_the_longest(delay_s: float, max_delay_s: float, waits: list[float]) -> None:
    """`min(delay * 2^(n-1), max(max_delay, delay))` (spec 15.3)."""
    definition = Definition(name="n", kind="log", folder=Path("/"), delay_s=delay_s, max_delay_s=max_delay_s)
    assert [definition.wait_after(tries) for tries in range(1, len(waits) + 1)] == waits
    assert definition.wait_after(10_000) == waits[-1]
