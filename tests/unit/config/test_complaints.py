"""Complaints: in order, in place, free of secrets."""

from __future__ import annotations

import pytest

from pyscheduler.config.complaints import MAX_COMPARED, MAX_PROBLEMS, Complaints, Spot, shown
from pyscheduler.config.compose import Budget, compose
from pyscheduler.config.tree import Block
from pyscheduler.model.problem import Problem, Severity


def same(text: str) -> str:
    return text


def spot(text: bytes, complaints: Complaints, **more: object) -> Spot:
    root = compose(text, Budget()).root
    assert isinstance(root, Block)
    return Spot(complaints, 0, "c.yaml", root, (1, 1), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("abc", '"abc"'),
        ("a\nb\0\x1b[31m", '"a\\nb\\x00\\x1b[31m"'),
        ("x" * 61, '"' + "x" * 59 + '…"'),
        ("\ud800", '"\\ud800"'),
    ],
)
def test_a_typed_text_is_shown_on_one_line_and_cut(text: str, seen: str) -> None:
    """A terminal must not be driven by what somebody wrote into a file."""
    assert shown(text) == seen


def test_complaints_come_in_the_order_of_files_lines_and_columns() -> None:
    complaints = Complaints()
    for order, line, column in [(1, 1, 1), (0, 9, 2), (0, 9, 1), (0, 2, 5)]:
        complaints.add(order, Problem(f"f{order}", line, column, "x"))
    assert [(p.file, p.line, p.column) for p in complaints.sorted(same)] == [
        ("f0", 2, 5), ("f0", 9, 1), ("f0", 9, 2), ("f1", 1, 1),
    ]  # fmt: skip


def test_every_text_of_a_complaint_is_redacted() -> None:
    complaints = Complaints()
    complaints.add(0, Problem("f", 1, 1, "no secret", "write secret"))
    (problem,) = complaints.sorted(lambda text: text.replace("secret", "${S}"))
    assert (problem.message, problem.mend) == ("no ${S}", "write ${S}")


def test_a_flood_of_errors_says_that_it_was_cut() -> None:
    """Nobody reads a thousand errors, and a hostile text must not be answered at length."""
    complaints = Complaints()
    for line in range(3 * MAX_PROBLEMS):
        assert complaints.full == (line >= MAX_PROBLEMS)
        complaints.add(0, Problem("f", line, 1, "x"))
    found = complaints.sorted(same)
    assert len(found) == 2 * MAX_PROBLEMS + 1
    assert "the rest was not looked at" in found[-1].message


def test_giving_up_looks_at_nothing_more_and_adds_no_words() -> None:
    """The error that says why is there already."""
    complaints = Complaints()
    complaints.add(0, Problem("f", 1, 1, "too large"))
    complaints.give_up()
    assert complaints.full
    assert [problem.message for problem in complaints.sorted(same)] == ["too large"]


def test_warnings_do_not_count_as_errors() -> None:
    complaints = Complaints()
    complaints.add(0, Problem("f", 1, 1, "x", severity=Severity.WARNING))
    assert complaints.errors == 0


def test_a_complaint_points_to_the_value_or_to_its_key() -> None:
    complaints = Complaints()
    here = spot(b"a:\n  b: [x, y]\n", complaints, path=("scheduler",), job="j")
    here.error(("a", "b", 1), "wrong")
    here.error(("a", "b"), "wrong", at_key=True)
    here.warning(("a",), "odd", "mend it")
    here.key_error(("a", "b"), 'unknown key "b"')
    assert [str(problem) for problem in complaints.sorted(same)] == [
        "c.yaml:2:3: job j: scheduler.a.b: wrong",
        "c.yaml:2:3: job j: scheduler.a: odd; mend it",
        'c.yaml:2:3: job j: scheduler.a: unknown key "b"',
        "c.yaml:2:10: job j: scheduler.a.b: wrong",
    ]


def test_parts_of_a_path_that_the_text_does_not_have_are_stepped_over() -> None:
    """One text may stand where a list is meant, and pydantic's paths have tags in them."""
    complaints = Complaints()
    here = spot(b"a: {b: x}\n", complaints)
    here.error(("a", 0, "<mapping>", "b"), "wrong")
    here.error(("z",), "missing")
    assert [str(problem) for problem in complaints.sorted(same)] == ["c.yaml:1:1: z: missing", "c.yaml:1:8: a.b: wrong"]


def test_what_comes_from_the_defaults_is_complained_about_there() -> None:
    complaints = Complaints()
    defaults = spot(b"\n\ntimeout: 1h\n", complaints)
    here = spot(b"command: x\n", complaints, fallback=defaults)
    here.error(("timeout",), "wrong")
    here.error(("command",), "wrong")
    here.error(("retries",), "wrong")
    assert [problem.line for problem in complaints.sorted(same)] == [1, 1, 3]


def test_a_near_word_is_guessed_whatever_its_letter_case() -> None:
    complaints = Complaints()
    assert complaints.did_you_mean("kommand", ["command", "cwd"]) == 'did you mean "command"?'
    assert complaints.did_you_mean("NIGHTLY", ["nightly"]) == 'did you mean "nightly"?'
    assert complaints.did_you_mean("zzz", ["command"]) == ""


def test_guessing_among_thousands_is_bounded() -> None:
    complaints = Complaints()
    many = [f"job-{number}" for number in range(MAX_COMPARED // 3)]
    guesses = [complaints.did_you_mean("job-7x", many) for _ in range(5)]
    assert [bool(guess) for guess in guesses] == [True, True, True, True, False]
