"""Loading a whole configuration."""

from __future__ import annotations

from datetime import date

from tests.unit.config.conftest import Load

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
