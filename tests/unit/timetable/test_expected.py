from __future__ import annotations

import pytest

from pyscheduler.model.firing import Firing
from pyscheduler.model.job import Overlap
from pyscheduler.timetable.expected import ExpectedRun, Ready, first_ready, undisturbed
from tests.unit.timetable.support import at


def hour(text: str) -> str:
    return f"2027-05-13T{text}"


def made(created: str, ended: str) -> ExpectedRun:
    return ExpectedRun(at(hour(created)), at(hour(ended)))


def firings(*times: str) -> list[Firing]:
    return [Firing(at(hour(text)), at(hour(text)).date(), 0.0) for text in times]


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        (Overlap.ALLOW, [("01:00", "03:30"), ("02:00", "04:30"), ("03:00", "05:30"), ("09:00", "11:30")]),
        (Overlap.SKIP, [("01:00", "03:30"), ("09:00", "11:30")]),
        (Overlap.QUEUE, [("01:00", "03:30"), ("03:00", "06:00"), ("09:00", "11:30")]),
    ],
)
def test_firings_that_meet_each_other(overlap: Overlap, expected: list[tuple[str, str]]) -> None:
    """Beside each other, called off, or one behind the other with the newest waiter alone."""
    found = undisturbed(firings("01:00", "02:00", "03:00", "09:00"), 2.5 * 3600, overlap)
    assert list(found) == [made(*each) for each in expected]


def test_the_latest_run_so_far_speaks() -> None:
    """Ready from the end of one run until the next is created; the upstream that is ready last is named."""
    six_hourly = [made("00:00", "01:00"), made("06:00", "07:00")]
    slow = [made("02:00", "06:30")]
    assert first_ready([six_hourly], at(hour("00:00"))) == Ready(at(hour("01:00")), 0)
    assert first_ready([slow, six_hourly], at(hour("00:00"))) == Ready(at(hour("07:00")), 1)
    assert first_ready([six_hourly, [made("02:00", "05:30")]], at(hour("00:00"))) == Ready(at(hour("05:30")), 1)


def test_an_end_at_the_next_ones_creation_opens_nothing() -> None:
    """From then on the newer run speaks."""
    assert first_ready([[made("01:00", "02:00"), made("02:00", "03:00")]], at(hour("01:00"))) == Ready(
        at(hour("03:00")), 0
    )


def test_an_upstream_without_runs_keeps_it_waiting() -> None:
    """For good."""
    assert first_ready([[made("01:00", "02:00")], []], at(hour("01:00"))) is None
