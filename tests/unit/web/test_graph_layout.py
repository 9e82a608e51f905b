"""Who waits for whom can be read off the drawing."""

from __future__ import annotations

from graphlib import CycleError

import pytest

from pyscheduler.web.graph_layout import BOX_HEIGHT, COLUMN, PLACES_A_JOB, Link, lay_out


def test_the_stream_runs_to_the_right() -> None:
    """A chain is a row of boxes, one a column, at one height."""
    drawing = lay_out("abc", [Link("a", "b"), Link("b", "c")])
    assert [drawing.boxes[name].x for name in "abc"] == [0, COLUMN, 2 * COLUMN]
    assert len({drawing.boxes[name].y for name in "abc"}) == 1


def test_a_job_stands_between_those_it_waits_for() -> None:
    """The middle of the upstreams is the place with the shortest edges."""
    drawing = lay_out("abz", [Link("a", "z"), Link("b", "z")])
    assert drawing.boxes["z"].y == (drawing.boxes["a"].y + drawing.boxes["b"].y) / 2


def test_edges_do_not_cross_where_they_need_not() -> None:
    """Names say nothing about the order; the edges do."""
    drawing = lay_out("abcd", [Link("a", "d"), Link("b", "c")])
    boxes = drawing.boxes
    assert (boxes["a"].y < boxes["b"].y) == (boxes["d"].y < boxes["c"].y)


def test_a_long_edge_passes_beside_the_boxes_between() -> None:
    """It has its own place in each column it passes, clear of what stands there."""
    drawing = lay_out("abc", [Link("a", "b"), Link("b", "c"), Link("a", "c")])
    (entry, leave) = drawing.passing["a", "c"]
    assert entry[0] == drawing.boxes["b"].x < leave[0]
    assert not drawing.boxes["b"].y <= entry[1] <= drawing.boxes["b"].y + BOX_HEIGHT


def test_too_many_long_edges_go_straight() -> None:
    """Places for them would outnumber the jobs; the drawing is bounded instead."""
    chain = [f"j{number:02}" for number in range(40)]
    links = [Link(one, other) for index, one in enumerate(chain) for other in chain[index + 1 :]]
    assert sum(range(38)) > PLACES_A_JOB * len(chain)
    assert lay_out(chain, links).passing == {}


def test_a_wait_for_yesterday_moves_nothing() -> None:
    """Two jobs may wait for each other's day before: that is no cycle, and no reason for a column."""
    apart = [Link("a", "b"), Link("b", "a", apart=True), Link("a", "a", apart=True)]
    assert lay_out("ab", apart).boxes == lay_out("ab", apart[:1]).boxes


def test_a_first_job_stands_close_to_what_follows() -> None:
    """One that only a late job waits for is drawn beside that job's other upstreams."""
    drawing = lay_out("abcx", [Link("a", "b"), Link("b", "c"), Link("x", "c")])
    assert drawing.boxes["x"].column == drawing.boxes["b"].column == 1


def test_jobs_alone_fill_a_grid() -> None:
    """A thousand unrelated jobs are no tower of a thousand boxes."""
    drawing = lay_out([f"j{number}" for number in range(1000)], [])
    assert drawing.width / drawing.height < 4
    assert drawing.height / drawing.width < 4


def test_what_is_not_drawn_has_no_edges() -> None:
    """A filter leaves jobs out; edges to them go too."""
    assert lay_out("a", [Link("a", "b"), Link("c", "a")]).boxes.keys() == {"a"}


def test_nothing_is_a_drawing() -> None:
    """An empty configuration has an empty page."""
    assert lay_out([], []).width == 0


def test_a_same_date_cycle_is_refused() -> None:
    """The configuration refuses it first; here it would never end."""
    with pytest.raises(CycleError):
        lay_out("ab", [Link("a", "b"), Link("b", "a")])
