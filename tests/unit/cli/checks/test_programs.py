"""What it all stands on."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyscheduler.cli.checks.finding import Level
from pyscheduler.cli.checks.programs import conflicts, foreign, programs, sqlite_finding

SAFE = (3, 51, 3)


def nothing(_name: str) -> None:
    """Nothing is installed."""


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
    (finding,) = conflicts({"pypepper": "1.2", "pynet": "0.3"}.get, nothing)
    assert finding.level is Level.WARN
    assert "pypepper 1.2 and pynet 0.3" in finding.what
    (finding,) = conflicts(nothing, nothing)
    assert finding.level is Level.OK


def test_versions_are_named() -> None:
    """Python, SQLite, zone data, the event loop."""
    found = {finding.about: finding for finding in programs(nothing, nothing)}
    assert set(found) == {"python", "sqlite", "zone data", "event loop", "packages"}
    assert found["event loop"].what.startswith("asyncio's own")
    assert found["zone data"].what.startswith("tzdata 20")


def test_a_foreign_distribution_of_our_own_name_is_told() -> None:
    """`pip install pyscheduler` brings somebody else's."""
    (finding,) = conflicts(nothing, {"pyscheduler": "0.1.0"}.get)
    assert finding.level is Level.WARN
    assert "pyscheduler 0.1.0 from elsewhere" in finding.what


@pytest.mark.parametrize(
    ("scripts", "expected"), [("pysched = pyscheduler.cli.main:main", None), ("other = x:y", "0.1.0")]
)
def test_ours_is_known_by_the_command_it_brings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scripts: str, expected: str | None
) -> None:
    """Whatever its version; where nothing of the name is installed there is nothing foreign."""
    folder = tmp_path / "pyscheduler-0.1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: pyscheduler\nVersion: 0.1.0\n")
    (folder / "entry_points.txt").write_text(f"[console_scripts]\n{scripts}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert foreign("pyscheduler") == expected
    assert foreign("no-such-distribution-anywhere") is None
