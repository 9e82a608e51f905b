"""Who is told of an alert: topics matched against the configuration's routes. Spec: jobs.md 15.2.

A topic is words with dots between them; in a pattern `*` stands for exactly one word and `#` for any number, none
included. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

ONE, ANY = "*", "#"


@dataclass(frozen=True, slots=True)
class Route:
    """A pattern and the notifiers told of what it matches."""

    words: tuple[str, ...]
    notify: tuple[str, ...]

    @classmethod
    def of(cls, pattern: str, notify: Iterable[str]) -> Route:
        """Return the route of a pattern as typed."""
        return cls(tuple(pattern.split(".")), tuple(notify))


def matches(pattern: Sequence[str], topic: Sequence[str]) -> bool:
    """Return whether the pattern's words match the topic's.

    `reached` holds how many words of the topic the pattern's beginning may have used up; no backtracking, so a pattern
    of many `#` costs no more than its length times the topic's.
    """
    reached = {0}
    for word in pattern:
        if word == ANY:
            reached = set(range(min(reached), len(topic) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(topic) and word in (ONE, topic[at])}
        if not reached:
            return False
    return len(topic) in reached


def destinations(routes: Iterable[Route], topic: str, own: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the notifiers of all routes that match, and the job's own, each once and in order."""
    words = topic.split(".")
    found = {name for route in routes if matches(route.words, words) for name in route.notify}
    return tuple(sorted(found.union(own)))
