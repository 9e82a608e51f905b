"""Numbers in a row, each as near to its wish as a least distance to the one before it allows. Pure.

With the distances taken off, the row must only not descend: the nearest such row, in the sum of squares, is found by
pooling neighbours that stand in each other's way and giving each pool the mean of its wishes ("pool adjacent
violators", Ayer and others, 1955).
"""

from __future__ import annotations

from collections.abc import Sequence


def spaced(wanted: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Return a row with `row[i] - row[i - 1] >= gaps[i]`, nearest to `wanted`; `gaps[0]` shifts nothing."""
    offsets, total = [], 0.0
    for index, gap in enumerate(gaps):
        total += gap if index else 0.0
        offsets.append(total)
    pools: list[tuple[float, int]] = []
    for wish, offset in zip(wanted, offsets, strict=True):
        total, count = wish - offset, 1
        while pools and pools[-1][0] * count > total * pools[-1][1]:
            before, members = pools.pop()
            total, count = total + before, count + members
        pools.append((total, count))
    level = [total / count for total, count in pools for _ in range(count)]
    return [each + offset for each, offset in zip(level, offsets, strict=True)]
