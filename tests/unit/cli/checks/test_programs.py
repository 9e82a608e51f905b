"""What it all stands on."""

from __future__ import annotations

import pytest

from pyscheduler.cli.checks.finding import Level
from pyscheduler.cli.checks.programs import conflicts, programs, sqlite_finding

SAFE = (3, 51, 3)


@pytest.mark.parametrize(
    ("number", "level"),
    [
        ((3, 6, 23), Level.OK),
        ((3, 7, 0), Level.WARN),
        ((3, 40, 1), Level.WARN),
        ((3, 51, 2), Level.WARN),
        ((3, 51, 3), Level.OK),
        ((3, 60, 0), Level.OK),
    ],
)
def test_the_affected_versions_of_sqlite_are_told(number: tuple[int, int, int], level: Level) -> None:
    """DESIGN 9: 3.7 to 3.51.2 can lose pages; the range is said."""
    finding = sqlite_finding(number, "sqlite3", SAFE)
    assert finding.level is level
    if level is Level.WARN:
        assert "3.7.0 to 3.51.3 (excluded)" in finding.what
        assert "pysqlite3" in finding.mend


def test_foreign_distributions_of_our_names_are_told() -> None:
    """DESIGN 0: pypepper and pynet are also other people's."""
    (finding,) = conflicts({"pypepper": "1.2", "pynet": "0.3"}.get)
    assert finding.level is Level.WARN
    assert "pypepper 1.2 and pynet 0.3" in finding.what
    (finding,) = conflicts(lambda _name: None)
    assert finding.level is Level.OK


def test_versions_are_named() -> None:
    """Python, SQLite, zone data, the event loop."""
    found = {finding.about: finding for finding in programs(lambda _name: None)}
    assert set(found) == {"python", "sqlite", "zone data", "event loop", "packages"}
    assert found["event loop"].what.startswith("asyncio's own")
    assert found["zone data"].what.startswith("tzdata 20")
