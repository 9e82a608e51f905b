"""What a bug report should name."""

from __future__ import annotations

from pyscheduler import __version__
from pyscheduler.timetable import TZDATA_VERSION
from tests.unit.cli.prompt import Prompt


def test_the_release_and_what_it_stands_on(pysched: Prompt) -> None:
    """Needs no configuration."""
    pysched.config.unlink()
    found = pysched("version", "--json").json
    assert found["pysched"] == __version__
    assert found["tzdata"] == TZDATA_VERSION
    assert set(found) == {"pysched", "python", "sqlite", "sqlite_driver", "tzdata", "platform"}
    assert f"pysched        {__version__}" in pysched("version").out
