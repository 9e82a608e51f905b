"""Where each job stands in the drawing of who waits for whom: layers, order within a layer, coordinates. Pure.

The stream runs from left to right: an edge of the same date always leads to a later column, so names, which are wide
and low, pack well. Jobs that hang together are laid out together; such groups are put side by side, largest first, and
jobs without any edge fill a grid at the end. Edges between dates pull no job into a column, since two jobs may wait for
each other's yesterday; they are drawn apart, and keep their jobs in one group.

What always holds: the same jobs and edges give the same drawing, in whatever order they came; no two boxes touch; no
same-date edge leads back. Long edges get an empty place in each column they pass, as long as those are not too many.
Source: the four steps of Sugiyama, Tagawa and Toda (1981), the order by barycentres.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise
from math import sqrt
from typing import Final

from pyscheduler.web.isotonic import spaced

BOX_WIDTH: Final = 184
BOX_HEIGHT: Final = 40
COLUMN_GAP: Final = 72
ROW_GAP: Final = 16
LANE_HEIGHT: Final = 14
"""The room a passing edge takes in a column."""
GROUP_GAP: Final = 48
SWEEPS: Final = 4
PLACES_A_JOB: Final = 3
"""Empty places for passing edges at most, for each job; a drawing with more is drawn without."""
SQUARE: Final = 1.6
"""How much wider than high the whole is meant to be."""

COLUMN: Final = BOX_WIDTH + COLUMN_GAP
ROW: Final = BOX_HEIGHT + ROW_GAP

Names = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Link:
    """`downstream` waits for `upstream`; `apart` where it waits for another date's run."""

    upstream: str
    downstream: str
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Box:
    """Where a job stands: its upper left corner, in units of the drawing, and its column."""

    x: int
    y: int
    column: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """All boxes by name, the points that long edges pass (by upstream and downstream), and the size of the whole."""

    boxes: Mapping[str, Box]
    passing: Mapping[tuple[str, str], tuple[tuple[int, int], ...]]
    width: int
    height: int


def lay_out(names: Iterable[str], links: Iterable[Link]) -> Drawing:
    """Return the drawing of these jobs; links that name others are left out. Raises CycleError (same-date cycles)."""
    known = sorted(set(names))
    among = frozenset(known)
    kept = sorted(
        {link for link in links if link.upstream in among and link.downstream in among},
        key=lambda link: (link.upstream, link.downstream, link.apart),
    )
    groups = _groups(known, kept)
    alone = [group[0] for group in groups if len(group) == 1]
    parts = [_Group(group, kept_there) for group, kept_there in _with_links(groups, kept)]
    return _put_together(parts, alone)


# --------------------------------------------------------------------------- groups


def _groups(names: list[str], links: list[Link]) -> list[list[str]]:
    """Return the jobs that hang together, the largest group first."""
    beside: dict[str, list[str]] = defaultdict(list)
    for link in links:
        beside[link.upstream].append(link.downstream)
        beside[link.downstream].append(link.upstream)
    seen: set[str] = set()
    groups = [_reached(name, beside, seen) for name in names if name not in seen]
    return sorted(groups, key=lambda group: (-len(group), group[0]))


def _reached(start: str, beside: Mapping[str, list[str]], seen: set[str]) -> list[str]:
    group, to_see = [], [start]
    seen.add(start)
    while to_see:
        name = to_see.pop()
        group.append(name)
        for other in beside.get(name, ()):
            if other not in seen:
                seen.add(other)
                to_see.append(other)
    return sorted(group)


def _with_links(groups: list[list[str]], links: list[Link]) -> list[tuple[list[str], list[Link]]]:
    """Return each group of several jobs with the same-date links within it."""
    number = {name: index for index, group in enumerate(groups) for name in group}
    within: list[list[Link]] = [[] for _ in groups]
    for link in links:
        if not link.apart:
            within[number[link.upstream]].append(link)
    return [(group, within[index]) for index, group in enumerate(groups) if len(group) > 1]


def _put_together(parts: list[_Group], alone: list[str]) -> Drawing:
    """Return the groups on shelves from left to right and downwards, then the jobs that are alone."""
    area = sum((part.width + GROUP_GAP) * (part.height + GROUP_GAP) for part in parts) + len(alone) * COLUMN * ROW
    shelf_width = max([int(sqrt(area * SQUARE)), *(part.width for part in parts)], default=0)
    boxes: dict[str, Box] = {}
    passing: dict[tuple[str, str], tuple[tuple[int, int], ...]] = {}
    x = y = shelf = width = 0
    for part in parts:
        if x and x + part.width > shelf_width:
            x, y, shelf = 0, y + shelf + GROUP_GAP, 0
        boxes |= {name: Box(box.x + x, box.y + y, box.column) for name, box in part.boxes.items()}
        passing |= {ends: tuple((px + x, py + y) for px, py in way) for ends, way in part.passing.items()}
        width = max(width, x + part.width)
        x, shelf = x + part.width + GROUP_GAP, max(shelf, part.height)
    y += shelf + GROUP_GAP if parts else 0
    across = max(1, (shelf_width + COLUMN_GAP) // COLUMN)
    for index, name in enumerate(alone):
        row, column = divmod(index, across)
        boxes[name] = Box(column * COLUMN, y + row * ROW, 0)
        width = max(width, column * COLUMN + BOX_WIDTH)
    height = max((box.y + BOX_HEIGHT for box in boxes.values()), default=0)
    return Drawing(boxes, passing, width, height)


# --------------------------------------------------------------------------- one group


class _Group:
    """Jobs that hang together, laid out from (0, 0)."""

    def __init__(self, names: list[str], links: list[Link]) -> None:
        self._column = _columns(names, links)
        self._before: Names = defaultdict(list)
        self._after: Names = defaultdict(list)
        self._empty: set[str] = set()
        sparse = _is_sparse(self._column, links)
        self._ways = {(link.upstream, link.downstream): self._way(link, sparse) for link in links}
        self._layers: list[list[str]] = [[] for _ in range(max(self._column.values()) + 1)]
        for name in self._column:
            self._layers[self._column[name]].append(name)
        self._sort()
        self._y = self._heights()
        self._finish()

    def _way(self, link: Link, sparse: bool) -> list[str]:
        """Join the two ends, over an empty place in each column between where there is room; return those places."""
        first, last = self._column[link.upstream], self._column[link.downstream]
        places = [f"{link.upstream}\0{link.downstream}\0{at}" for at in range(first + 1, last)] if sparse else []
        for at, place in enumerate(places, first + 1):
            self._column[place] = at
        self._empty.update(places)
        for one, other in zip((link.upstream, *places), (*places, link.downstream), strict=True):
            self._after[one].append(other)
            self._before[other].append(one)
        return places

    def _sort(self) -> None:
        """Order each layer by the mean place of what it hangs on, to and fro: fewer edges cross."""
        place: dict[str, float] = {}
        for layer in self._layers:
            place.update(_spread(layer))
        for sweep in range(SWEEPS):
            forth = sweep % 2 == 0
            beside = self._before if forth else self._after
            for layer in self._layers if forth else reversed(self._layers):
                mean = {name: _mean(beside.get(name, ()), place, place[name]) for name in layer}
                layer.sort(key=mean.__getitem__)
                place.update(_spread(layer))

    def _heights(self) -> dict[str, float]:
        """Return the middle of each box: as near to what it hangs on as the boxes above and below allow."""
        y: dict[str, float] = {}
        for layer in self._layers:
            at = 0.0
            for name in layer:
                y[name] = at
                at += ROW
        for sweep in range(SWEEPS):
            forth = sweep % 2 == 0
            beside = self._before if forth else self._after
            for layer in self._layers if forth else reversed(self._layers):
                wanted = [_mean(beside.get(name, ()), y, y[name]) for name in layer]
                y.update(zip(layer, spaced(wanted, self._gaps(layer)), strict=True))
        return y

    def _gaps(self, layer: list[str]) -> list[int]:
        """Return how far each middle must be below the one before it."""
        halves = [(LANE_HEIGHT if name in self._empty else ROW) / 2 for name in layer]
        return [0, *(round(above + below) for above, below in pairwise(halves))]

    def _finish(self) -> None:
        top = min(self._y[name] for name in self._column if name not in self._empty)
        top = min(top, min(self._y.values()) + BOX_HEIGHT / 2)
        at = {name: (column * COLUMN, round(self._y[name] - top)) for name, column in self._column.items()}
        self.boxes = {name: Box(*at[name], self._column[name]) for name in self._column if name not in self._empty}
        half = BOX_HEIGHT // 2
        self.passing = {
            ends: tuple((x + edge, y + half) for x, y in (at[place] for place in places) for edge in (0, BOX_WIDTH))
            for ends, places in self._ways.items()
            if places
        }
        self.width = len(self._layers) * COLUMN - COLUMN_GAP
        self.height = max(y for _x, y in at.values()) + BOX_HEIGHT


def _columns(names: list[str], links: list[Link]) -> dict[str, int]:
    """Return the column of each job: as far left as what it waits for allows; the first ones close to what follows."""
    before: dict[str, list[str]] = {name: [] for name in names}
    after: Names = defaultdict(list)
    for link in links:
        before[link.downstream].append(link.upstream)
        after[link.upstream].append(link.downstream)
    columns: dict[str, int] = {}
    for name in TopologicalSorter(before).static_order():
        columns[name] = max((columns[upstream] + 1 for upstream in before[name]), default=0)
    for name in names:
        if not before[name] and after[name]:
            columns[name] = min(columns[downstream] for downstream in after[name]) - 1
    return {name: columns[name] for name in names}


def _is_sparse(columns: Mapping[str, int], links: Collection[Link]) -> bool:
    """Whether all long edges may have their places."""
    passed = sum(columns[link.downstream] - columns[link.upstream] - 1 for link in links)
    return passed <= PLACES_A_JOB * len(columns)


def _spread(layer: list[str]) -> dict[str, float]:
    """Return places from 0 to 1: layers of all lengths count alike."""
    return {name: (index + 0.5) / len(layer) for index, name in enumerate(layer)}


def _mean(others: Collection[str], place: Mapping[str, float], default: float) -> float:
    return sum(place[other] for other in others) / len(others) if others else default
