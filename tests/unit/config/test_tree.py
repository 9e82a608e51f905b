"""The tree and the places of its nodes."""

from __future__ import annotations

from pyscheduler.config.compose import Budget, compose
from pyscheduler.config.tree import Block, Items, Null


def root(text: bytes) -> Block:
    composed = compose(text, Budget())
    assert isinstance(composed.root, Block)
    assert composed.flaws == []
    return composed.root


def test_every_key_value_and_item_knows_its_place() -> None:
    """Lines and columns from 1, columns in characters."""
    top = root("é: x\nlist:\n  - a\n  - {k: v}\n".encode())
    assert top.key_place("é") == (1, 1)
    assert top.value_place("é") == (1, 4)
    items = top["list"]
    assert isinstance(items, Items)
    assert items.item_place(0) == (3, 5)
    block = items[1]
    assert isinstance(block, Block)
    assert (block.line, block.column) == (4, 5)
    assert block.value_place("k") == (4, 9)


def test_a_place_is_found_among_many_keys_and_after_more_came() -> None:
    top = root(b"".join(b"k%d: v\n" % number for number in range(500)))
    assert top.key_place("k499") == (500, 1)
    top["late"] = "x"
    top.places.extend((900, 1, 900, 7))
    assert top.value_place("late") == (900, 7)


def test_a_null_is_text_like_any_other() -> None:
    assert Null("~") == "~"
    assert isinstance(Null(""), str)
