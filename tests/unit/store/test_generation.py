"""Which store is older than its folder: two numbers and a mark, compared."""

from __future__ import annotations

import pytest

from pyscheduler.store.generation import KEY, OLDER, PLACE, compare


@pytest.mark.parametrize(
    ("in_store", "in_file", "older", "following"),
    [
        ({}, (False, None), False, 1),  # the very first start
        ({}, (True, 0), False, 1),  # the first start of an engine
        ({KEY: "4"}, (True, 4), False, 5),
        ({KEY: "5"}, (True, 4), False, 6),  # a crash between the store and the file
        ({KEY: "4"}, (True, 5), True, 6),  # an older store
        ({KEY: "4"}, (False, None), False, 5),  # the file was removed: nothing is proved
        ({}, (True, 3), True, 4),  # a store from before its first engine
        ({KEY: "4"}, (True, None), True, 5),  # a file that cannot be read
        ({KEY: "9", OLDER: "1"}, (True, 9), True, 10),  # nobody has decided yet
    ],
)
def test_the_numbers_say_which_is_older(
    in_store: dict[str, str], in_file: tuple[bool, int | None], older: bool, following: int
) -> None:
    """The next number is above both, and an older store is told so until somebody decides."""
    state = compare(in_store, in_file)
    assert (state.older, state.next) == (older, following)
    assert state.engine_values() == {KEY: str(following)} | ({OLDER: "1"} if older else {})


@pytest.mark.parametrize(
    ("in_store", "place", "older"),
    [
        ({KEY: "4"}, "here", False),  # a store from before places were noted
        ({KEY: "4", PLACE: "here"}, "here", False),
        ({KEY: "4", PLACE: "there"}, "here", True),  # made anew from a dump
        ({KEY: "4", PLACE: "there"}, "", False),  # in a file: its own number tells
    ],
)
def test_a_database_in_another_place_is_a_copy(in_store: dict[str, str], place: str, older: bool) -> None:
    """Of many state directories each may be new: the database itself says that it is not the one that was."""
    state = compare(in_store, (False, None), place=place)
    assert state.older == older
    assert state.engine_values().get(PLACE) == (place or None)
