"""Columns are counted as a terminal counts them, and nothing printed moves its cursor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.cli.text import columns_of, cut, on_one_line, wrapped


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", 0),
        ("abc", 3),
        ("日本語", 6),
        ("한글", 4),
        ("e\u0301", 1),  # a combining accent
        ("Ｆｕｌｌ", 8),
        ("🚀", 2),
        ("ä€…✓", 4),
        ("a\u200db", 2),  # a joiner
    ],
)
def test_wide_characters_count_two_and_combining_ones_none(text: str, columns: int) -> None:
    """Spec: jobs.md 14.1, "wide characters counted as two"."""
    assert columns_of(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("waiting", 7, "waiting"),
        ("waiting", 6, "waiti…"),
        ("waiting", 1, "…"),
        ("waiting", 0, ""),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),  # half of a wide character does not fit
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
    ],
)
def test_a_text_is_cut_where_it_no_longer_fits(text: str, columns: int, shown: str) -> None:
    """A cut text says that it was cut."""
    assert cut(text, columns) == shown


def test_the_mark_of_a_cut_may_be_ascii() -> None:
    """Where there are no symbols three dots do it."""
    assert cut("waiting", 6, "...") == "wai..."
    assert cut("waiting", 2, "...") == ".."


@given(st.text(), st.integers(min_value=0, max_value=60))
def test_nothing_is_ever_wider_than_allowed(text: str, columns: int) -> None:
    """The promise a table is built on."""
    assert columns_of(cut(on_one_line(text), columns)) <= columns


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("two\nlines", "two\\nlines"),
        ("tab\tbed", "tab\\tbed"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("\x9b31m", "\\x9b31m"),
        ("evil\u202etxt", "evil\\u202etxt"),
        ("x\udce9", "x\\udce9"),
        ("naïve ✓ 日本", "naïve ✓ 日本"),
        ("plain", "plain"),
    ],
)
def test_control_characters_are_shown_not_obeyed(text: str, shown: str) -> None:
    """A reason from outside cannot erase a line, nor turn it around."""
    assert on_one_line(text) == shown


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    """Whatever it held, it prints as one line that can be encoded."""
    shown = on_one_line(text)
    assert len(shown.splitlines()) <= 1
    shown.encode()


def test_prose_is_broken_between_words() -> None:
    """What follows is set in as far and two more; a word that is too long stays whole."""
    assert wrapped("  mend: stop it first or wait", 16) == "  mend: stop it\n    first or\n    wait"
    assert wrapped("an/endless/path is missing", 8) == "an/endless/path\n  is\n  missing"
    assert wrapped("as it is", None) == wrapped("as it is", 8) == "as it is"


@given(st.text("ab \N{HANGUL SYLLABLE GA}", max_size=60), st.integers(4, 30))
def test_broken_prose_loses_no_word(text: str, columns: int) -> None:
    """And a line is too wide only for one word alone."""
    lines = wrapped(text, columns).split("\n")
    assert " ".join(lines).split() == text.split()
    assert all(columns_of(line.rstrip()) <= columns or len(line.split()) == 1 for line in lines)
