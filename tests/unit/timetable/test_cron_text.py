from __future__ import annotations

import pytest

from pyscheduler.timetable import ScheduleError
from pyscheduler.timetable.cron_text import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, read_cron


def fields(text: str) -> tuple[str, ...]:
    read = read_cron(text)
    return (read.seconds, read.minutes, read.hours, read.days, read.months, read.weekdays)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 9 * * *", ("0", "0", "9", "*", "*", "*")),
        ("30 0 9 * * *", ("30", "0", "9", "*", "*", "*")),
        ("  0\t9  *  * * ", ("0", "0", "9", "*", "*", "*")),
        ("*/15 08 1,15 * *", ("0", "*/15", "8", "1,15", "*", "*")),
        ("0-30/10 5/6 * jan-MAR Mon,WED", ("0", "0-30/10", "5/6", "*", "1-3", "1,3")),
        ("0 0 * * fri-sun", ("0", "0", "0", "*", "*", "5-7")),
        ("0 0 * * 6-0", ("0", "0", "0", "*", "*", "6-7")),
        ("0 0 * * sun-wed", ("0", "0", "0", "*", "*", "0-3")),
        ("0 0 * * 7", ("0", "0", "0", "*", "*", "7")),
        ("0 0 * * 0-7", ("0", "0", "0", "*", "*", "0-7")),
        ("0 0 * * 0-0", ("0", "0", "0", "*", "*", "0")),
        ("0 0 * * fri#2,3#5", ("0", "0", "0", "*", "*", "5#2,3#5")),
        ("0 0 * * friL,0L", ("0", "0", "0", "*", "*", "5L,0L")),
        ("0 0 1,L,lw * *", ("0", "0", "0", "1,L,LW", "*", "*")),
        ("5-5/2 0 * * *", ("0", "5", "0", "*", "*", "*")),
        ("*/90 0 * * *", ("0", "*/90", "0", "*", "*", "*")),
        ("*,5 0 * * *", ("0", "*,5", "0", "*", "*", "*")),
    ],
)
def test_what_is_right_is_written_in_numbers(text: str, expected: tuple[str, ...]) -> None:
    """Names in any letter case, Sunday as 0 or 7, steps and lists: spec 2.1 row by row."""
    assert fields(text) == expected


def test_the_words_that_the_library_lacks_are_kept_apart() -> None:
    """`nW` and `L-n` stand beside what the day field says in plain words, or alone."""
    read = read_cron("0 0 1,15W,L-3,31w * *")
    assert (read.days, read.nearest_weekdays, read.days_from_end) == ("1", frozenset({15, 31}), frozenset({3}))
    assert read_cron("0 0 15W * *").days == ""


def test_the_day_fields_are_kept_as_typed() -> None:
    """Whether a field is a star hangs on its text, which the sets no longer show (FC-002)."""
    assert read_cron("0 0 */2 * 1-5").day_fields == ("*/2", "1-5")


@pytest.mark.parametrize(
    ("macro", "expected"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        (" @daily ", "0 0 * * *"),
    ],
)
def test_a_macro_stands_for_an_expression(macro: str, expected: str) -> None:
    """Spec 2.1 and DESIGN 8 row 14."""
    assert read_cron(macro) == read_cron(expected)


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        ("0 24 * * *", "hour", "the hour field is 24, and hours run from 0 to 23; write 0 for midnight"),
        ("60 0 * * *", "minute", "the minute field is 60, and minutes run from 0 to 59; write 0 for it"),
        ("60 0 0 * * *", "second", "the second field is 60, and seconds run from 0 to 59; write 0 for it"),
        ("0 0 0 * *", "day-of-month", "the day-of-month field is 0, and days of a month run from 1 to 31"),
        ("0 0 * 13 *", "month", "the month field is 13, and months run from 1 to 12"),
        ("0 0 * * 8", "day-of-week", "the day-of-week field is 8, and days of the week run from 0 to 7"),
        ("0 0 32W * *", "day-of-month", "the day-of-month field is 32, and days of a month run from 1 to 31"),
        (
            "0 0 * foo *",
            "month",
            f"the month field does not know foo; its names are {', '.join(MONTH.names)}",
        ),
        (
            "0 0 * * friday",
            "day-of-week",
            "the day-of-week field does not know friday; its names are sun, mon, tue, wed, thu, fri, sat",
        ),
        (
            "0 0 * * xL",
            "day-of-week",
            "the day-of-week field does not know xl; its names are sun, mon, tue, wed, thu, fri, sat",
        ),
        ("mon 0 * * *", "minute", "the minute field does not know mon, and it takes numbers"),
        ("*/0 0 * * *", "minute", "the minute field has */0, and a step is 1 or more"),
        ("0 0 * * 5#6", "day-of-week", "the day-of-week field has 5#6, and #n runs from 1 to 5"),
        ("0 0 * * 5#0", "day-of-week", "the day-of-week field has 5#0, and #n runs from 1 to 5"),
        ("0 0 * * L", "day-of-week", "L alone says no weekday; write friL, or L in the day-of-month field"),
        ("0 0 ? * *", "day-of-month", "the day-of-month field is ?, which is not in use here; write *"),
        ("0 0 * * ?", "day-of-week", "the day-of-week field is ?, which is not in use here; write *"),
        ("0 0 L-31 * *", "day-of-month", "the day-of-month field has L-31, and L-n runs from 1 to 30"),
        ("0 0 L-0 * *", "day-of-month", "the day-of-month field has L-0, and L-n runs from 1 to 30"),
        ("0 0 5#2 * *", "day-of-month", "the day-of-month field has 5#2; # belongs in the day-of-week field"),
        ("0 0 1,,2 * *", "day-of-month", "the day-of-month field 1,,2 has an empty entry; write a,b without gaps"),
        ("@Daily", "macro", "macros are written in lower case, and this one is @Daily; write @daily"),
    ],
)
def test_what_is_wrong_is_said_with_field_value_and_a_way_out(text: str, field: str, message: str) -> None:
    """A tired person mends it without looking anything up."""
    with pytest.raises(ScheduleError) as caught:
        read_cron(text)
    assert (caught.value.field, str(caught.value)) == (field, message)


@pytest.mark.parametrize(
    ("text", "field", "mend"),
    [
        ("0 0 * * fri-mon", "day-of-week", "write fri-sun,mon"),
        ("0 0 * * 5-1", "day-of-week", "write 5-7,1"),
        ("0 0 * * sat-tue", "day-of-week", "write sat-sun,mon-tue"),
        ("0 0 * * 7-2", "day-of-week", "write 0-2"),
        ("0 19 * NOV-MAR 0", "month", "write nov-dec,jan-mar"),
        ("0 0 20-10 * *", "day-of-month", "write 20-31,1-10"),
        ("50-10 * * * *", "minute", "write 50-59,0-10"),
        ("0 23-1 * * *", "hour", "write 23,0-1"),
        ("0 23-22/2 * * *", "hour", "write 23,0-22"),
    ],
)
def test_a_range_past_the_end_is_refused_with_the_two_ranges_that_were_meant(text: str, field: str, mend: str) -> None:
    """Never accepted and silently empty, and never one way for names and another for numbers (FC-004)."""
    with pytest.raises(ScheduleError, match="runs backwards") as caught:
        read_cron(text)
    assert (caught.value.field, caught.value.mend) == (field, mend)
    read_cron(
        text.replace(text.split()[{"minute": 0, "hour": 1, "day-of-month": 2, "month": 3}.get(field, 4)], mend[6:], 1)
    )


@pytest.mark.parametrize("text", ["", "   ", "* * * *", "* * * * * * *", "@", "@every", "@reboot", "@fortnightly"])
def test_other_counts_of_fields_and_unknown_macros_are_refused(text: str) -> None:
    """Five fields, or six; `@every` and `@reboot` are no cron (`spec_from_text` reads them)."""
    with pytest.raises(ScheduleError) as caught:
        read_cron(text)
    assert caught.value.field == ("macro" if text.startswith("@") else "fields")


@pytest.mark.parametrize(
    "term",
    [
        "1-",
        "-1",
        "1--2",
        "1-2-3",
        "*-5",
        "1/",
        "/2",
        "1/-2",
        "5L3",
        "1 .5",
        "1.5",
        "²",
        "１",
        "9999999999",
        "a/b",
        "L/2",
        "15W/2",
        "1-5L",
        "L-3W",
        "W",
        "#",
        "#1",
        "fri#",
        "fri#1#2",
        "\x00",
        "H",
    ],
)
def test_no_term_slips_through_half_understood(term: str) -> None:
    """Whatever is not exactly a term is refused, in every field."""
    for position in range(5):
        parts = ["0", "0", "*", "*", "*"]
        parts[position] = term
        with pytest.raises(ScheduleError):
            read_cron(" ".join(parts))


@pytest.mark.parametrize(
    ("text", "real"),
    [
        ("* 2 * * *", True),
        ("*/5 2 * * *", True),
        ("0 * * * *", True),
        ("0 */2 * * *", True),
        ("0 0-23 * * *", False),
        ("30 2 * * *", False),
        ("* 30 2 * * *", False),
        ("0 0 * * * *", True),
        ("@hourly", True),
        ("@daily", False),
    ],
)
def test_a_wildcard_minute_or_hour_keeps_real_time(text: str, real: bool) -> None:
    """Debian's rule looks at how the minute and the hour begin, and at nothing else."""
    assert read_cron(text).keeps_real_time is real


def test_fields_know_their_numbers_by_name() -> None:
    """An error speaks the way the author wrote."""
    assert (WEEKDAY.word(7, "fri"), WEEKDAY.word(7, "5"), MONTH.word(12, "nov"), MINUTE.word(59, "50")) == (
        "sun",
        "7",
        "dec",
        "59",
    )
    assert [it.name for it in (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)] == [
        "second",
        "minute",
        "hour",
        "day-of-month",
        "month",
        "day-of-week",
    ]
