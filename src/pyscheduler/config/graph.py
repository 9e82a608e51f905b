"""Circles in a graph of names. Spec: jobs.md 4.9: one complaint a back edge, shown from the smallest name.

A walk with its own stack: ten thousand jobs in one chain are no recursion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

MAX_CYCLES: Final = 50


def cycles(edges: Mapping[str, Iterable[str]]) -> list[tuple[str, ...]]:
    """Return the circles that a walk in the order of names meets, each once, from its smallest name; at most 50."""
    found: dict[tuple[str, ...], None] = {}
    done: set[str] = set()
    for start in sorted(edges):
        if start not in done:
            for cycle in _back_edges(start, edges, done):
                found.setdefault(_from_smallest(cycle))
                if len(found) >= MAX_CYCLES:
                    return list(found)
    return list(found)


def _back_edges(start: str, edges: Mapping[str, Iterable[str]], done: set[str]) -> Iterator[list[str]]:
    """Walk from `start`, depth first, and yield the path between the ends of every back edge."""
    path, at = [start], {start: 0}
    ahead = [iter(edges.get(start, ()))]
    while path:
        step = next(ahead[-1], None)
        if step is None:
            ahead.pop()
            left = path.pop()
            del at[left]
            done.add(left)
        elif step in at:
            yield path[at[step] :]
        elif step not in done:
            at[step] = len(path)
            path.append(step)
            ahead.append(iter(edges.get(step, ())))


def _from_smallest(cycle: list[str]) -> tuple[str, ...]:
    first = cycle.index(min(cycle))
    return (*cycle[first:], *cycle[:first])


def upstream_first(edges: Mapping[str, Iterable[str]]) -> list[str]:
    """Return all names so that each comes after those it points to, except where a circle makes that impossible."""
    order: dict[str, None] = {}
    entered: set[str] = set()
    for start in edges:
        stack = [(start, iter(edges[start]))] if start not in entered else []
        entered.add(start)
        while stack:
            name, ahead = stack[-1]
            step = next((each for each in ahead if each in edges and each not in entered), None)
            if step is None:
                order[name] = None
                stack.pop()
            else:
                entered.add(step)
                stack.append((step, iter(edges[step])))
    return list(order)
