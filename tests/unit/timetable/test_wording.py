from __future__ import annotations

from datetime import date, datetime, time

import pytest

from pyscheduler.model.job import (
    AtSpec,
    BusinessDaySpec,
    CronSpec,
    EverySpec,
    OnceSpec,
    RebootSpec,
    ScheduleSpec,
    Window,
)
from pyscheduler.timetable.wording import duration_s, duration_text, schedule_text


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (CronSpec(text="0 9 * * *"), "cron 0 9 * * *"),
        (CronSpec(text=" @daily "), "cron @daily"),
        (AtSpec(times=(time(7, 15),)), "at 07:15"),
        (AtSpec(times=(time(7, 15), time(19, 0, 30))), "at 07:15, 19:00:30"),
        (EverySpec(every_s=1200, opens=time(7), closes=time(19)), "every 20m between 07:00-19:00"),
        (EverySpec(every_s=5400), "every 1h30m"),
        (BusinessDaySpec(nth=-1, times=(time(18),)), "business day -1 at 18:00"),
        (OnceSpec(at=datetime(2027, 1, 4, 6)), "once 2027-01-04 06:00"),
        (OnceSpec(at=datetime(2027, 1, 4, 6, 0, 30)), "once 2027-01-04 06:00:30"),
        (RebootSpec(), "reboot"),
        (AtSpec(times=(time(7),), days=(0, 6), months=(1, 12)), "at 07:00 on mon,sun in months 1,12"),
        (
            CronSpec(
                text="0 9 * * *",
                start=date(2027, 1, 1),
                end=date(2027, 12, 31),
                exclude=(
                    Window(start_time=time(12), end_time=time(13)),
                    Window(start=datetime(2027, 12, 24), end=datetime(2027, 12, 26, 23, 59)),
                    Window(start=datetime(2027, 12, 30)),
                    Window(end=datetime(2027, 1, 2)),
                ),
                jitter_s=300,
            ),
            (
                "cron 0 9 * * * from 2027-01-01 until 2027-12-31 except 12:00-13:00 except 2027-12-24 00:00 to "
                "2027-12-26 23:59 except from 2027-12-30 00:00 except until 2027-01-02 00:00 jitter 5m"
            ),
        ),
    ],
)
def test_a_schedule_reads_as_it_is_written(spec: ScheduleSpec, text: str) -> None:
    """Spec 13.5, and all that ours may say beside."""
    assert schedule_text(spec) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1d", 86400), ("1h30m", 5400), ("90m", 5400), ("2d3h4m5s", 183845), ("1s", 1), ("10m", 600)],
)
def test_durations_are_read(text: str, seconds: int) -> None:
    """Spec 1.3."""
    assert duration_s(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "0s", "0d0h", "10", "m", "1m1h", "1h1h", "1.5h", "-1m", "1h 30m", "1H", "1w", "９m"]
)
def test_what_is_no_duration_is_none(text: str) -> None:
    """Units descend, each once, whole numbers, more than nothing."""
    assert duration_s(text) is None


@pytest.mark.parametrize(
    ("seconds", "text"), [(5400, "1h30m"), (86400, "1d"), (59, "59s"), (90061, "1d1h1m1s"), (0, "0s")]
)
def test_durations_are_written_shortest(seconds: int, text: str) -> None:
    """The way people write them."""
    assert duration_text(seconds) == text
