"""Contexts and their chains. Spec: pipeline.md 1.2."""

from __future__ import annotations

from pypepper.common import context
from pypepper.common.context import Context


def test_a_fresh_context_has_an_id_of_its_own() -> None:
    """UUID text, unlike any other's, unless one is given."""
    one, other = Context(), context.new()
    assert len(one.context_id) == 36
    assert one.context_id != other.context_id
    assert context.new("mine").context_id == Context("mine").context_id == "mine"
    assert one.context == {}


def test_with_value_returns_itself() -> None:
    """So that calls can be chained."""
    one = Context()
    assert one.with_value("k", 1).with_value("l", 2) is one
    assert one.context == {"k": 1, "l": 2}


def test_a_child_starts_with_its_parents_values() -> None:
    """And goes its own way from there."""
    parent = Context().with_value("k", 1)
    child = context.born(parent, "child")
    assert (child.parent, child.context_id, child.context) == (parent, "child", {"k": 1})
    child.with_value("k", 2)
    parent.with_value("l", 3)
    assert (parent.context, child.context) == ({"k": 1, "l": 3}, {"k": 2})
