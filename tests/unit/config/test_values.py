"""How one value is spelt. Spec: jobs.md 1.3."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time

import pytest

from pyscheduler.config import values
from pyscheduler.config.values import BadValue
from pyscheduler.model.job import Window


def refusal(parse: Callable[[str], object], text: str) -> str:
    with pytest.raises(BadValue) as refused:
        parse(text)
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1), ("90s", 90), ("5m", 300), ("2h", 7200), ("1d", 86400), ("1h30m", 5400),
        ("1d2h3m4s", 93784), ("0h1s", 1), ("007s", 7), ("36500d", 36500 * 86400), ("0000000000000000000001m", 60),
    ],
)  # fmt: skip
def test_a_duration_counts_days_hours_minutes_and_seconds(text: str, seconds: int) -> None:
    """Units stand once each, from large to small; a leading zero changes nothing."""
    assert values.parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "write days"),
        ("90", "add the unit"),
        ("1:30", "1h30m or 1m30s"),
        ("1:30:00", "1h30m or 1m30s"),
        ("1.5h", "whole numbers"),
        ("30m1h", "each unit stands once"),
        ("1h1h", "each unit stands once"),
        ("1w", "write days"),
        ("1 h", "write days"),
        ("-5m", "write days"),
        ("5M", "write days"),
        ("٥m", "write days"),
        ("0s", "no time at all"),
        ("0d0h", "no time at all"),
        ("36501d", "hundred years"),
        ("9" * 5000 + "d", "hundred years"),
    ],
)
def test_what_is_no_duration_is_refused_with_its_mend(text: str, why: str) -> None:
    """`1:30` could be two things (FC-086), and thousands of digits cost nothing."""
    assert why in refusal(values.parse_duration, text)


@pytest.mark.parametrize("text", ["0", "0s", "0m", "0h", "0d", "00"])
def test_zero_is_a_duration_only_where_zero_is_allowed(text: str) -> None:
    """`min_age` and `jitter` take zero in five spellings; elsewhere zero is refused."""
    assert values.parse_duration_or_zero(text) == 0
    refusal(values.parse_duration, text)


def test_a_duration_that_may_be_zero_reads_others_too() -> None:
    assert values.parse_duration_or_zero("30s") == 30


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (90, "1m30s"), (86400, "1d"), (93784, "1d2h3m4s"), (59.9, "59s")]
)
def test_a_duration_is_written_in_its_shortest_form(seconds: float, text: str) -> None:
    assert values.format_duration(seconds) == text


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("512", 512),
        ("64K", 65536),
        ("512M", 512 << 20),
        ("512MiB", 512 << 20),
        ("2G", 2 << 30),
        ("1T", 1 << 40),
    ],
)
def test_sizes_are_powers_of_1024(text: str, size: int) -> None:
    assert values.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "M", "5MB", "5m", "1.5G", "-1", "1E3", "9" * 20])
def test_what_is_no_size_is_refused(text: str) -> None:
    assert "no size" in refusal(values.parse_size, text)


def test_a_size_beyond_every_disk_is_refused() -> None:
    assert "larger" in refusal(values.parse_size, "9999999999999T")
    assert values.parse_size("9223372036854775807") == 2**63 - 1
    assert "larger" in refusal(values.parse_size, "9223372036854775808")


@pytest.mark.parametrize(("text", "clock"), [("00:00", time(0, 0)), ("07:15", time(7, 15)), ("23:59", time(23, 59))])
def test_a_clock_time_has_two_digits_twice(text: str, clock: time) -> None:
    assert values.parse_time(text) == clock


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("9:30", "write 09:30"),
        ("24:00", "00:00"),
        ("23:59:59", "six fields"),
        ("12:60", "HH:MM"),
        ("25:00", "HH:MM"),
        ("0730", "HH:MM"),
        ("750", "HH:MM"),
        ("", "HH:MM"),
        ("07:15 ", "HH:MM"),
        ("٠٧:١٥", "HH:MM"),
    ],
)
def test_what_is_no_clock_time_is_refused_with_its_mend(text: str, why: str) -> None:
    """No seconds, no 24:00, no single digit (spec 1.3)."""
    assert why in refusal(values.parse_time, text)


def test_a_date_is_written_one_way() -> None:
    assert values.parse_date("2028-02-29") == date(2028, 2, 29)


@pytest.mark.parametrize(
    "text", ["2027-2-9", "20270209", "2027-02-30", "2027-W05-1", "", "2027-02-09T00:00", "0000-01-01"]
)
def test_what_is_no_date_is_refused(text: str) -> None:
    assert "YYYY-MM-DD" in refusal(values.parse_date, text)


@pytest.mark.parametrize("text", ["2027-01-04 06:00", "2027-01-04T06:00", "2027-01-04 06:00:00"])
def test_a_moment_is_a_date_and_a_clock_time(text: str) -> None:
    assert values.parse_moment(text) == datetime(2027, 1, 4, 6, 0)


@pytest.mark.parametrize("text", ["2027-01-04", "2027-01-04 24:00", "2027-01-32 06:00", "06:00", "2027-01-04 06:00Z"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    """An offset is refused too: the moment is local in the job's zone."""
    refusal(values.parse_moment, text)


@pytest.mark.parametrize("text", ["07:00-19:00", "07:00 - 19:00", " 07:00-19:00"])
def test_a_stretch_allows_blanks_around_its_dash(text: str) -> None:
    assert values.parse_between(text) == (time(7), time(19))


@pytest.mark.parametrize("text", ["07:00", "07:00-", "-19:00", "7-19", "07:00-19:00-20:00"])
def test_what_is_no_stretch_is_refused(text: str) -> None:
    refusal(values.parse_between, text)


def test_a_stretch_without_a_dash_is_told_what_it_lacks() -> None:
    assert "write HH:MM-HH:MM" in refusal(values.parse_between, "07:00")
    assert "write 22:00-02:00" in refusal(values.parse_window, "christmas")


def test_an_exclusion_is_daily_or_dated() -> None:
    """A date alone means the whole day, at either end."""
    assert values.parse_window("22:00-02:00") == Window(start_time=time(22), end_time=time(2))
    day = Window(start=datetime(2027, 12, 24), end=datetime.combine(date(2027, 12, 24), time.max))
    assert values.parse_window("2027-12-24") == day
    days = Window(start=datetime(2027, 12, 24), end=datetime.combine(date(2027, 12, 26), time.max))
    assert values.parse_window("2027-12-24..2027-12-26") == days
    moment = Window(start=datetime(2027, 12, 24, 6), end=datetime(2027, 12, 24, 6))
    assert values.parse_window("2027-12-24 06:00..2027-12-24 06:00") == moment
    exact = Window(start=datetime(2027, 12, 24, 18, 0), end=datetime(2027, 12, 26, 6, 0))
    assert values.parse_window("2027-12-24 18:00 .. 2027-12-26 06:00") == exact


@pytest.mark.parametrize("text", ["christmas", "2027-12-26..2027-12-24", "2027-12-24..", "..", "22:00", "2027-02-30"])
def test_what_is_no_exclusion_is_refused(text: str) -> None:
    refusal(values.parse_window, text)


def test_true_and_false_are_the_only_booleans() -> None:
    assert values.parse_bool("true") is True
    assert values.parse_bool("false") is False


@pytest.mark.parametrize(
    ("text", "mend"),
    [("yes", "true"), ("True", "true"), ("on", "true"), ("No", "false"), ("FALSE", "false"), ("off", "false")],
)
def test_other_words_for_yes_and_no_are_refused_with_the_right_one(text: str, mend: str) -> None:
    assert refusal(values.parse_bool, text) == f"is neither true nor false; write {mend}"


def test_a_word_that_means_neither_gets_no_advice() -> None:
    assert refusal(values.parse_bool, "maybe") == "is neither true nor false"


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("08", 8), ("-5", -5), ("+7", 7), ("0" * 19 + "1", 1)])
def test_a_whole_number_has_at_most_twenty_characters(text: str, number: int) -> None:
    assert values.parse_int(text) == number


@pytest.mark.parametrize("text", ["", "1.0", "1e3", "0x10", "1_000", "1" * 21, "-", "٣"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    refusal(values.parse_int, text)


@pytest.mark.parametrize(("text", "number"), [("2", 2.0), ("1.5", 1.5), ("-0.25", -0.25)])
def test_a_number_may_have_a_fraction(text: str, number: float) -> None:
    assert values.parse_float(text) == number


@pytest.mark.parametrize("text", ["1e3", "inf", "nan", ".5", "5.", "1,5", "1" * 21])
def test_a_number_has_no_exponent_and_is_finite(text: str) -> None:
    refusal(values.parse_float, text)


@pytest.mark.parametrize(("text", "umask"), [("027", 0o027), ("0027", 0o027), ("000", 0), ("777", 0o777)])
def test_a_umask_is_octal_text(text: str, umask: int) -> None:
    assert values.parse_umask(text) == umask


@pytest.mark.parametrize(
    ("text", "mend"), [("27", "write 027"), ("8", "three octal digits"), ("1777", "three octal digits")]
)
def test_a_umask_that_could_mean_two_things_is_refused(text: str, mend: str) -> None:
    assert mend in refusal(values.parse_umask, text)


def test_host_and_port_split_at_the_last_colon() -> None:
    assert values.parse_host_port("127.0.0.1:0") == ("127.0.0.1", 0)
    assert values.parse_host_port("::1:8470") == ("::1", 8470)


@pytest.mark.parametrize("text", ["localhost", ":8470", "host:", "host:65536", "host:http", "a b:1"])
def test_what_is_no_host_and_port_is_refused(text: str) -> None:
    refusal(values.parse_host_port, text)


@pytest.mark.parametrize("text", ["a", "A-1_b", "x" * 64, "-rf", "--help", "con", "no", "007"])
def test_a_name_is_letters_digits_underscore_and_dash(text: str) -> None:
    assert values.check_name(text) == text


@pytest.mark.parametrize("text", ["", "x" * 65, "a.b", "a/b", "a b", "é", "a\n", "..", "日本"])
def test_what_is_no_name_is_refused(text: str) -> None:
    refusal(values.check_name, text)


def test_no_refusal_shows_the_text_itself() -> None:
    """The text may be a secret that `${NAME}` put there."""
    for parse in (
        values.parse_duration,
        values.parse_size,
        values.parse_int,
        values.parse_host_port,
        values.check_name,
    ):
        assert "s3cr€t" not in refusal(parse, "s3cr€t")
