"""Dates and instants in one exact spelling, names that can be names: everything else is refused with an example."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.api.asking import read_date, read_instant, read_name
from pyscheduler.api.views import instant


@given(st.dates())
def test_every_date_is_read_as_written(day: date) -> None:
    """ISO, four digits of year, nothing else."""
    assert read_date(day.isoformat()) == day


@pytest.mark.parametrize(
    "text", ["", "2027-5-1", "2027-02-30", "20270501", "2027-W01-1", "2027-05-01T00:00:00Z", "today"]
)
def test_what_is_no_date(text: str) -> None:
    """Python itself would take some of these."""
    with pytest.raises(ValueError, match="write it like 2027-05-20"):
        read_date(text)


@given(st.datetimes(timezones=st.just(UTC)))
def test_every_instant_is_read_as_we_write_it(when: datetime) -> None:
    """What an answer says can be asked with."""
    assert read_instant(instant(when)) == when


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2027-05-20T06:05:00+02:00", "2027-05-20T04:05:00Z"),
        ("2027-05-20t06:05+0200", "2027-05-20T04:05:00Z"),
        ("2027-05-20 04:05:00.5z", "2027-05-20T04:05:00.500000Z"),
    ],
)
def test_any_zone_will_do(text: str, same: str) -> None:
    """The same instant, in UTC."""
    assert instant(read_instant(text)) == same


@pytest.mark.parametrize(
    "text", ["2027-05-20T04:05:00", "2027-05-20", "04:05Z", "2027-05-20T25:00Z", "0001-01-01T00:00+10:00"]
)
def test_what_is_no_instant(text: str) -> None:
    """No zone is ever guessed, and none takes an instant out of the calendar."""
    with pytest.raises(ValueError, match="no instant with a zone"):
        read_instant(text)


@pytest.mark.parametrize("name", ["a/b", "..", "naïve", "x" * 65, "a b", "a\nb", ""])
def test_what_can_be_no_job(name: str) -> None:
    """FC-068: names that would be read differently elsewhere are refused here too."""
    with pytest.raises(ValueError, match="can be no job"):
        read_name(name)
