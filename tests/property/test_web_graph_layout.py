"""Whatever the jobs and their dependencies, the drawing can be read."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.web.graph_layout import BOX_HEIGHT, BOX_WIDTH, Box, Link, lay_out
from pyscheduler.web.isotonic import spaced

COUNTS = st.integers(0, 40)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[str], list[Link]]:
    """Jobs with names in no order, same-date edges that never lead back, others as they come."""
    count = draw(COUNTS)
    names = draw(st.permutations([f"j{number}" for number in range(count)]))
    if count < 2:
        return list(names), []
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1), st.booleans())
    links = [
        Link(names[min(one, other)], names[max(one, other)])
        if not apart
        else Link(names[one], names[other], apart=True)
        for one, other, apart in draw(st.lists(ends, max_size=3 * count))
        if one != other or apart
    ]
    return list(names), links


def touch(one: Box, other: Box) -> bool:
    return abs(one.x - other.x) < BOX_WIDTH and abs(one.y - other.y) < BOX_HEIGHT


@given(graphs())
def test_every_job_has_one_box_and_no_two_touch(graph: tuple[list[str], list[Link]]) -> None:
    """Nothing is hidden behind anything."""
    drawing = lay_out(*graph)
    assert set(drawing.boxes) == set(graph[0])
    boxes = list(drawing.boxes.values())
    assert not any(touch(one, other) for index, one in enumerate(boxes) for other in boxes[:index])
    for box in boxes:
        assert 0 <= box.x <= drawing.width - BOX_WIDTH
        assert 0 <= box.y <= drawing.height - BOX_HEIGHT


@given(graphs())
def test_every_edge_of_a_date_leads_on(graph: tuple[list[str], list[Link]]) -> None:
    """Who reads from left to right reads what waits for what; a passing edge goes from column to column, too."""
    drawing = lay_out(*graph)
    for link in graph[1]:
        if not link.apart:
            one, other = drawing.boxes[link.upstream], drawing.boxes[link.downstream]
            xs = [
                one.x + BOX_WIDTH,
                *(x for x, _y in drawing.passing.get((link.upstream, link.downstream), ())),
                other.x,
            ]
            assert all(before < behind for before, behind in pairwise(xs))


@given(graphs(), st.randoms(use_true_random=False))
def test_the_same_jobs_give_the_same_drawing(graph: tuple[list[str], list[Link]], chance: object) -> None:
    """A reload that changes nothing moves nothing, whatever order the files are read in."""
    names, links = graph
    assert lay_out(names, links) == lay_out(reversed(names), [*reversed(links), *links])


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(0, 100)), max_size=30))
def test_a_row_keeps_its_distances_and_its_mean(wishes: list[tuple[float, int]]) -> None:
    """Nobody comes too near, and on the whole nothing is shifted."""
    wanted, gaps = [wish for wish, _gap in wishes], [gap for _wish, gap in wishes]
    row = spaced(wanted, gaps)
    assert all(other - one >= gap - 1e-6 for (one, other), gap in zip(pairwise(row), gaps[1:], strict=False))
    assert abs(sum(row) - sum(wanted)) < 1e-3
