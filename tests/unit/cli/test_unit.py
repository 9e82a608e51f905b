"""The unit file: the lines that make a restart free, and nothing that systemd would expand by mistake."""

from __future__ import annotations

import configparser
from pathlib import Path
from typing import Any

from pyscheduler.cli.unit import Unit


def a_unit(**fields: Any) -> Unit:
    given: dict[str, Any] = {
        "name": "night",
        "config": Path("/etc/pysched/pysched.yaml"),
        "program": ("/opt/pysched/bin/pysched",),
        "user": "batch",
    }
    return Unit(**(given | fields))


def read(unit: Unit) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(unit.text())
    return parser


def test_the_lines_that_promise_4_rests_on() -> None:
    """DESIGN 1 (P4) and the issue's list."""
    found = read(a_unit())
    service = found["Service"]
    assert found["Unit"]["StartLimitIntervalSec"] == "0"
    for name, value in {
        "Type": "notify",
        "KillMode": "process",
        "OOMPolicy": "continue",
        "Restart": "always",
        "TasksMax": "infinity",
        "User": "batch",
        "WorkingDirectory": "/etc/pysched",
        "EnvironmentFile": "-/etc/pysched/pysched.env",
        "ExecStart": "/opt/pysched/bin/pysched serve /etc/pysched/pysched.yaml",
        "ExecReload": "/opt/pysched/bin/pysched reload -c /etc/pysched/pysched.yaml",
    }.items():
        assert service[name] == value
    assert int(service["WatchdogSec"]) > 0
    assert found["Install"]["WantedBy"] == "multi-user.target"


def test_nothing_in_a_path_is_expanded() -> None:
    """Blanks are quoted, percent and dollar signs doubled."""
    service = read(a_unit(config=Path("/srv/100% my $jobs/py.yaml")))["Service"]
    assert service["ExecStart"].endswith('serve "/srv/100%% my $$jobs/py.yaml"')
    assert service["WorkingDirectory"] == "/srv/100%% my $jobs"


def test_a_name_stays_on_its_line() -> None:
    """A name cannot smuggle a setting in."""
    text = a_unit(name="night\nExecStartPre=/bin/evil %h").text()
    assert "Description=PyScheduler: night ExecStartPre=/bin/evil %%h\n" in text
    assert "\nExecStartPre" not in text


def test_the_guide_shows_the_unit_that_is_written() -> None:
    """Line by line: who reads it must find it on their disk."""
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "systemd.md").read_text()
    config, program = Path("/etc/pysched/pysched.yaml"), ("/opt/pysched/bin/pysched",)
    written = Unit(name="night", config=config, program=program, user="pysched").text()
    assert f"```ini\n{written}```\n" in guide
