"""Every state has a word, a shape of its own and a place on the board."""

from __future__ import annotations

from pyscheduler.cli.states import LOOKS, OPEN, rank, state_cell
from pyscheduler.cli.terminal import Terminal
from pyscheduler.cli.text import columns_of
from pyscheduler.model.run import OPEN_STATES, RunState


def test_every_state_has_a_look() -> None:
    """A state that is added to the model is added here."""
    assert set(LOOKS) == set(RunState)


def test_open_states_are_the_models() -> None:
    """Written out twice, and held together here."""
    assert set(OPEN) == OPEN_STATES


def test_shapes_tell_states_apart_without_colours() -> None:
    """For who sees no colours, or has none: all shapes differ, in Unicode and in ASCII, and take one column."""
    for shapes in ([look.shape for look in LOOKS.values()], [look.plain for look in LOOKS.values()]):
        assert len(set(shapes)) == len(shapes)
        assert all(columns_of(shape) == 1 for shape in shapes)
    assert all(look.plain.isascii() for look in LOOKS.values())


def test_the_worst_comes_first() -> None:
    """A failed run before a waiting one, a succeeded one last; what nobody knows before all."""
    order = sorted(["succeeded", "waiting", "failed", "novel", "running", "blocked"], key=rank)
    assert order == ["novel", "failed", "blocked", "running", "waiting", "succeeded"]


def test_a_state_is_a_shape_and_its_word() -> None:
    """The word is always there."""
    assert state_cell("failed", Terminal()).text == "✗ failed"
    assert state_cell("failed", Terminal(unicode=False)).text == "! failed"
    assert state_cell("novel", Terminal()).text == "? novel"
