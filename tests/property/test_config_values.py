"""Values come back as they were written; no text, however odd, breaks a reader."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import date, time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.config import values
from pyscheduler.config.graph import cycles, upstream_first
from pyscheduler.config.templates import TemplateError, check_template, double_braces, placeholders_in, redact, render
from pyscheduler.config.values import BadValue

READERS: list[Callable[[str], Any]] = [
    values.parse_duration,
    values.parse_duration_or_zero,
    values.parse_time,
    values.parse_date,
    values.parse_moment,
    values.parse_between,
    values.parse_window,
    values.parse_size,
    values.parse_int,
    values.parse_float,
    values.parse_bool,
    values.parse_umask,
    values.parse_host_port,
    values.check_name,
]
ODD = st.one_of(
    st.text(max_size=30),
    st.text("0123456789dhms:-. TKMG", max_size=30),
    st.from_regex(r"\d{1,6}[dhms]?(\d{1,6}[dhms])*"),
    st.integers().map(str),
)


@given(seconds=st.integers(1, values.MAX_DURATION_S))
def test_a_duration_comes_back(seconds: int) -> None:
    """Format and parse are inverse, and the format is the only shortest spelling."""
    text = values.format_duration(seconds)
    assert values.parse_duration(text) == seconds
    assert values.format_duration(values.parse_duration(text)) == text


@pytest.mark.parametrize("reader", READERS)
@given(text=ODD)
def test_any_text_is_read_or_refused(reader: Callable[[str], Any], text: str) -> None:
    """Never another exception, and never a refusal without a word."""
    with suppress(BadValue):
        reader(text)
        return
    with pytest.raises(BadValue, match=r"\w"):
        reader(text)


@given(clock=st.times().map(lambda at: at.replace(second=0, microsecond=0)), day=st.dates())
def test_clock_times_and_dates_come_back(clock: time, day: date) -> None:
    assert values.parse_time(clock.isoformat("minutes")) == clock
    assert values.parse_date(day.isoformat()) == day
    moment = values.parse_moment(f"{day.isoformat()} {clock.isoformat('minutes')}")
    assert (moment.date(), moment.time()) == (day, clock)


# --------------------------------------------------------------------------- templates

VALUES: dict[str, object] = {
    "job": "j",
    "run_date": date(2027, 5, 20),
    "run_id": "j.1",
    "attempt": 1,
    "log_dir": "/l",
    "files": "",
}
PIECES = st.sampled_from(
    [
        "{",
        "}",
        "{{",
        "}}",
        "{job}",
        "{run_date:%Y}",
        "{attempt:03d}",
        "{nope}",
        "$",
        "$$",
        "${A}",
        "${",
        "x",
        "é",
        ":",
        "!r",
    ]
)


@given(text=st.lists(PIECES, max_size=12).map("".join), value=st.text(max_size=10))
def test_what_passes_the_check_renders(text: str, value: str) -> None:
    """Whatever the environment holds: its braces can neither break a template nor become a placeholder."""
    try:
        names = check_template(text, {"A": value})
    except TemplateError:
        return
    assert names == placeholders_in(text) or "${A}" in text
    rendered = render(text, {**VALUES, "scheduled_at": "t"}, {"A": value})
    if text.count("${A}") == 1 and "$${A}" not in text and "{run_date:${A}" not in text:
        assert value in rendered


@given(text=st.text(max_size=30))
def test_doubled_braces_render_to_the_text_itself(text: str) -> None:
    assert render(double_braces(text).replace("$", "$$"), {}, {}) == text


@given(
    text=st.text("abcd{}$N ", max_size=40),
    secrets=st.dictionaries(st.sampled_from(["N", "ab", "S"]), st.text("abcd{}", max_size=8)),
)
def test_no_long_value_survives_redaction(text: str, secrets: dict[str, str]) -> None:
    """Nothing of four characters or more is left outside a `${NAME}` just put back; short values are left alone."""
    redacted = redact(text, secrets)
    outside = redacted
    for name in secrets:
        outside = outside.replace(f"${{{name}}}", "\0")
    for value in secrets.values():
        if len(value) >= 4 and value not in {f"${{{name}}}" for name in secrets}:
            assert value not in outside
    if not any(len(value) >= 4 for value in secrets.values()):
        assert redacted == text


# --------------------------------------------------------------------------- graphs

NAMES = st.sampled_from("abcdef")
GRAPHS = st.dictionaries(NAMES, st.lists(NAMES, max_size=4), max_size=6)


@given(edges=GRAPHS)
def test_circles_are_real_and_none_is_missed(edges: dict[str, list[str]]) -> None:
    """Each circle follows edges and begins at its smallest name; without a circle, upstreams truly come first."""
    found = cycles(edges)
    for cycle in found:
        assert cycle[0] == min(cycle)
        for here, there in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            assert there in edges[here]
    order = upstream_first(edges)
    assert sorted(order) == sorted(edges)
    sound = all(order.index(up) < order.index(name) for name in edges for up in edges[name] if up in edges)
    assert sound == (not found)
