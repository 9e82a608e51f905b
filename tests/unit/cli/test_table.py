"""Tables as people see them: gaps, widths, cuts, colours."""

from __future__ import annotations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.cli.table import Cell, Row, pairs, table
from pyscheduler.cli.terminal import Terminal
from pyscheduler.cli.text import columns_of

PIPE = Terminal()
HEADERS = ("RUN", "STATE", "TOOK", "REASON")
ROWS: list[Row] = [
    ["extract.2027-05-20.1", Cell("✓ succeeded", "green"), "3m05s", ""],
    ["load.2027-05-20.1", Cell("✗ failed", "red"), "0.4s", "exit 3"],
]


def test_columns_have_two_blanks_between_them_and_a_dash_for_nothing() -> None:
    """Spec: jobs.md 14.1."""
    assert list(table(HEADERS, ROWS, PIPE, right=("TOOK",))) == [
        "RUN                   STATE         TOOK  REASON",
        "extract.2027-05-20.1  ✓ succeeded  3m05s  -",
        "load.2027-05-20.1     ✗ failed      0.4s  exit 3",
    ]


def test_a_wide_character_takes_two_columns() -> None:
    """What stands behind it is still under its heading."""
    rows = [["日本", "x"], ["abcd", "y"], ["e\u0301", "z"]]
    assert list(table(("A", "B"), rows, PIPE)) == ["A     B", "日本  x", "abcd  y", "e\u0301     z"]


def test_the_last_column_is_cut_and_never_wrapped() -> None:
    """At 60 columns a long reason ends in an ellipsis, exactly at the edge."""
    rows: list[Row] = [["load.2027-05-20.1", "waiting", "", "waiting for extract-everything (2027-05-20): no run yet"]]
    lines = list(table(HEADERS, rows, Terminal(width=60)))
    assert lines[1] == "load.2027-05-20.1  waiting  -     waiting for extract-every…"
    assert columns_of(lines[1]) == 60


def test_without_symbols_the_cut_is_three_dots() -> None:
    """LANG=C: nothing but ASCII."""
    lines = list(table(("A", "B"), [["abc", "a long reason indeed"]], Terminal(width=20, unicode=False)))
    assert lines[1] == "abc  a long reaso..."


def test_a_terminal_too_narrow_for_the_columns_cuts_the_line() -> None:
    """Better a short line than one that wraps and tears the table apart."""
    for line in table(HEADERS, ROWS, Terminal(width=24)):
        assert columns_of(line) <= 24


def test_a_pipe_is_never_cut() -> None:
    """What another program reads is whole."""
    (_, line) = table(("A", "B"), [["a", "b" * 500]], PIPE)
    assert line == "a  " + "b" * 500


def test_colours_are_only_put_on_a_terminal_that_has_them() -> None:
    """And they take no columns: with the colours taken off the lines are the same."""
    plain = list(table(HEADERS, ROWS, Terminal(width=80)))
    coloured = list(table(HEADERS, ROWS, Terminal(width=80, colour=True)))
    assert "\x1b" not in "".join(plain)
    assert "\x1b[32m✓ succeeded\x1b[0m" in coloured[1]
    assert [click.unstyle(line) for line in coloured] == plain


def test_a_reason_cannot_break_out_of_its_cell() -> None:
    """Control characters are shown as what they are."""
    (_, line) = table(("A", "B"), [["a", "\x1b[2J\nroot: ok"]], PIPE)
    assert line == "a  \\x1b[2J\\nroot: ok"


def test_a_table_without_rows_is_its_heading() -> None:
    """An empty list still says what it would list."""
    assert list(table(("A", "B"), [], PIPE)) == ["A  B"]


@given(
    st.lists(st.lists(st.text(max_size=30), min_size=3, max_size=3), max_size=5),
    st.integers(min_value=20, max_value=120),
)
def test_no_line_is_wider_than_the_terminal(rows: list[list[str]], width: int) -> None:
    """Whatever is in the cells."""
    for line in table(("ONE", "TWO", "THREE"), rows, Terminal(width=width), right=("TWO",)):
        assert columns_of(line) <= width
        assert "\n" not in line


def test_pairs_stand_in_two_columns_without_a_heading() -> None:
    """`show` and `version`."""
    found = list(pairs([("run", "load.2027-05-20.1"), ("reason", "")], PIPE))
    assert found == ["run     load.2027-05-20.1", "reason  -"]


@pytest.mark.parametrize("width", [20, 30])
def test_pairs_are_cut_too(width: int) -> None:
    """A long value ends at the edge."""
    (line,) = pairs([("reason", "x" * 100)], Terminal(width=width))
    assert columns_of(line) == width
