"""What changed in a file is shown with what stands around it, and at what cost is bounded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.web.text_diff import LONGEST, SHOWN, compare

TEXTS = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12)


def kinds(old: list[str], new: list[str]) -> list[tuple[str, str]]:
    return [(line.kind, line.text) for line in compare("f", "\n".join(old), "\n".join(new)).lines]


def test_a_changed_line_is_out_and_in_with_its_neighbours() -> None:
    """Three lines on each side, and how many were left out."""
    old = [f"line {n}" for n in range(20)]
    new = [*old[:10], "other", *old[11:]]
    found = kinds(old, new)
    assert found[0] == ("gap", "7 unchanged lines")
    assert found[1:4] == [("same", "line 7"), ("same", "line 8"), ("same", "line 9")]
    assert found[4:6] == [("out", "line 10"), ("in", "other")]
    assert found[-1] == ("gap", "6 unchanged lines")


def test_equal_texts_have_nothing_to_show() -> None:
    """Not even a gap."""
    assert kinds(["a"] * 10, ["a"] * 10) == []
    assert kinds([], []) == []


def test_numbers_are_those_of_each_text() -> None:
    """The reader finds the line in the file."""
    found = compare("f", "a\nb\nc", "x\na\nc")
    assert [(line.kind, line.old, line.new) for line in found.lines] == [
        ("in", None, 1),
        ("same", 1, 2),
        ("out", 2, None),
        ("same", 3, 3),
    ]
    assert (found.added, found.removed) == (1, 1)


def test_a_whole_new_file_is_cut() -> None:
    """It says that there is more."""
    found = compare("f", "", "\n".join(map(str, range(SHOWN + 5))))
    assert (len(found.lines), found.is_cut, found.added) == (SHOWN, True, SHOWN + 5)


def test_texts_with_nothing_in_common_are_not_searched() -> None:
    """Beyond the bound it is one block out and one in."""
    old = [f"a{n}" for n in range(LONGEST)]
    new = [f"b{n}" if n % 2 else f"a{n}" for n in range(LONGEST)]
    found = compare("f", "\n".join(old), "\n".join(new))
    assert found.removed == LONGEST - 1


@given(TEXTS, TEXTS)
def test_the_changes_make_the_one_text_of_the_other(old: list[str], new: list[str]) -> None:
    """Whatever was changed: what is out stood in the old text at its number, what is in stands in the new one."""
    before, after = "\n".join(old).splitlines(), "\n".join(new).splitlines()
    found = compare("f", "\n".join(old), "\n".join(new))
    for line in found.lines:
        assert line.old is None or before[line.old - 1] == line.text
        assert line.new is None or after[line.new - 1] == line.text
    gone = {line.old for line in found.lines if line.kind == "out"}
    come = {line.new for line in found.lines if line.kind == "in"}
    kept_before = [text for number, text in enumerate(before, 1) if number not in gone]
    kept_after = [text for number, text in enumerate(after, 1) if number not in come]
    assert kept_before == kept_after
