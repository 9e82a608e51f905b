"""Who is told: topics against patterns."""

from __future__ import annotations

import pytest

from pyscheduler.rules.routing import Route, destinations, matches

TOPIC = "alert.failed.high.nightly"


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("alert.failed.high.nightly", True),
        ("alert.*.*.*", True),
        ("#", True),
        ("alert.#", True),
        ("#.nightly", True),
        ("alert.#.nightly", True),
        ("alert.failed.high.nightly.#", True),
        ("#.#.#", True),
        ("*.#.*", True),
        ("alert.*", False),
        ("alert.*.*.*.*", False),
        ("alert.lost.#", False),
        ("alert.failed.high.Nightly", False),
        ("*", False),
        ("", False),
    ],
)
def test_a_star_is_one_word_and_a_hash_any_number(pattern: str, wanted: bool) -> None:
    assert matches(pattern.split("."), TOPIC.split(".")) is wanted


def test_destinations_are_those_of_all_routes_and_the_jobs_own_each_once() -> None:
    routes = [Route.of("alert.failed.#", ["ops", "log"]), Route.of("alert.#", ["log"]), Route.of("alert.lost.#", ["x"])]
    assert destinations(routes, TOPIC, ["team", "ops"]) == ("log", "ops", "team")
    assert destinations([], TOPIC) == ()


def test_many_hashes_cost_no_more_than_their_number() -> None:
    """A pattern that would take a backtracking matcher for ever is answered at once."""
    assert not matches(["#", "x"] * 200, TOPIC.split("."))
