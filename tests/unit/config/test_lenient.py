"""Two unquoted spellings that spec 1.2 promises."""

from __future__ import annotations

from typing import Any

import pytest

from pyscheduler.config import lenient
from pyscheduler.config.alerting import plain
from pyscheduler.config.compose import Budget
from pyscheduler.config.lenient import compose_leniently
from pyscheduler.config.tree import TreeError


def read(text: str) -> Any:
    composed = compose_leniently(text.encode(), Budget())
    return plain(composed.root or "")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("command: echo a: b\n", {"command": "echo a: b"}),
        ("command: echo a: b  # why\nx: y\n", {"command": "echo a: b", "x": "y"}),
        ("command: it's a: b\n", {"command": "it's a: b"}),
        ("- k: a: b: c\n- d\n", [{"k": "a: b: c"}, "d"]),
        ("a:\n  - - k: é: ü\n", {"a": [[{"k": "é: ü"}]]}),
        ("k: a: b\r\nl: m\r\n", {"k": "a: b", "l": "m"}),
        ("k: echo a:\n", {"k": "echo a:"}),
        ("schedule: @daily\n", {"schedule": "@daily"}),
        ("schedule: @daily # c\n", {"schedule": "@daily"}),
        ("schedule: @every 1h30m\n", {"schedule": "@every 1h30m"}),
        ("schedule: [@daily, @weekly]\n", {"schedule": ["@daily", "@weekly"]}),
        ("j: {schedule: @daily, command: x}\n", {"j": {"schedule": "@daily", "command": "x"}}),
        ("- @daily\n- x\n", ["@daily", "x"]),
        ("a: @daily\nb: echo c: d\nc: @weekly\n", {"a": "@daily", "b": "echo c: d", "c": "@weekly"}),
    ],
)
def test_the_two_spellings_are_read_as_one_value(text: str, tree: object) -> None:
    """`command: echo a: b` and `schedule: @daily` need no quotes (spec 1.2)."""
    assert read(text) == tree


def test_nothing_inside_another_value_is_touched() -> None:
    """A block value that holds the same spelling keeps every character."""
    text = "script: |\n  schedule: @daily\n  echo a: b: c\nschedule: @daily\n"
    assert read(text) == {"script": "schedule: @daily\necho a: b: c\n", "schedule": "@daily"}


@pytest.mark.parametrize(
    "text",
    [
        "a: 'x' y: z\n",
        "a: [b: c: d]\n",
        "a: x\n b: y\n",
        "a: @ daily\n",
        "a: @daily x\n",
        "a: `x`\n",
        "a: & b: c\n",
        "a: b:\tc\n",
        "a: x\n - b: c\n",
        "a: {b: c: d}\n",
    ],
)
def test_anything_else_stays_refused(text: str) -> None:
    with pytest.raises(TreeError):
        read(text)


def test_a_fault_without_a_place_is_left_as_it_is() -> None:
    with pytest.raises(TreeError, match="without the end of a value"):
        read("a: " + "x " * (2 << 20))


def test_the_place_of_the_value_stays_the_same() -> None:
    composed = compose_leniently(b"x: y\ncommand: echo a: b\n", Budget())
    assert composed.root.value_place("command") == (2, 10)  # type: ignore[union-attr]


def test_reading_again_and_again_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand such lines are told to quote their values, rather than read ten thousand times."""
    monkeypatch.setattr(lenient, "MAX_READ_AGAIN", 10_000)
    with pytest.raises(TreeError, match="quote") as refused:
        read("".join(f"k{number}: a: b\n" for number in range(100)))
    assert 2 < refused.value.line < 100
    assert "quote the whole value" in refused.value.mend


def test_nodes_are_counted_once_however_often_the_text_was_read() -> None:
    budget = Budget(nodes=100)
    compose_leniently(b"a: @daily\nb: @daily\n", budget)
    assert budget.nodes == 95
