"""Circles, and the order of upstreams first."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pyscheduler.config.graph import MAX_CYCLES, cycles, upstream_first


@pytest.mark.parametrize(
    ("edges", "found"),
    [
        ({}, []),
        ({"a": ["b"], "b": []}, []),
        ({"a": ["a"]}, [("a",)]),
        ({"b": ["a"], "a": ["b"]}, [("a", "b")]),
        ({"c": ["a"], "a": ["b"], "b": ["c"]}, [("a", "b", "c")]),
        ({"a": ["b", "c"], "b": ["a"], "c": ["a"]}, [("a", "b"), ("a", "c")]),
        ({"a": ["b"], "b": ["c"], "c": ["b"], "d": ["a", "b"]}, [("b", "c")]),
        ({"a": ["b", "b"], "b": ["a"]}, [("a", "b")]),
        ({"a": ["gone"]}, []),
    ],
)
def test_every_circle_is_found_once_from_its_smallest_name(
    edges: dict[str, list[str]], found: list[tuple[str, ...]]
) -> None:
    assert cycles(edges) == found


def test_a_chain_of_ten_thousand_is_no_recursion() -> None:
    names = [f"j{number:05d}" for number in range(10_000)]
    chain = {name: [other] for name, other in pairwise(names)} | {names[-1]: []}
    assert cycles(chain) == []
    assert upstream_first(chain) == names[::-1]
    assert len(cycles(chain | {names[-1]: [names[0]]})[0]) == 10_000


def test_the_number_of_circles_told_is_bounded() -> None:
    pairs = {f"{letter}{number}": [f"{other}{number}"] for number in range(100) for letter, other in ("ab", "ba")}
    assert len(cycles(pairs)) == MAX_CYCLES


def test_upstreams_come_before_what_waits_for_them() -> None:
    order = upstream_first({"report": ["load"], "load": ["extract", "gone"], "extract": [], "other": ["report"]})
    assert order == ["extract", "load", "report", "other"]


def test_a_circle_is_ordered_as_far_as_it_can_be() -> None:
    assert sorted(upstream_first({"a": ["b"], "b": ["a"]})) == ["a", "b"]
