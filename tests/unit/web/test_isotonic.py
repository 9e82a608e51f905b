"""Boxes in a column stand as near to their neighbours as they may."""

from __future__ import annotations

import pytest

from pyscheduler.web.isotonic import spaced


def test_wishes_that_agree_are_granted() -> None:
    """Nobody moves who need not."""
    assert spaced([0.0, 10.0, 30.0], [0, 10, 10]) == [0.0, 10.0, 30.0]


def test_those_in_each_others_way_share_the_loss() -> None:
    """Two that want one place stand on both sides of it."""
    assert spaced([5.0, 5.0], [0, 10]) == [0.0, 10.0]


def test_wishes_in_the_wrong_order_keep_the_given_order() -> None:
    """The order was chosen for few crossings; the wish does not change it."""
    assert spaced([20.0, 0.0], [0, 10]) == [5.0, 15.0]


def test_an_empty_column_is_one() -> None:
    """No box, no place."""
    assert spaced([], []) == []


def test_as_many_gaps_as_wishes() -> None:
    """A mistake of ours is told."""
    with pytest.raises(ValueError, match="shorter"):
        spaced([1.0, 2.0], [0])
