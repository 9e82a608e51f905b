"""When an attempt ends for want of its node's word: the rule, and the block that the word stands in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.minder import lease

INSTANTS = st.integers(min_value=0, max_value=30).map(float)


@given(st.floats(min_value=0, max_value=1e9))
def test_a_block_says_what_was_written(until: float) -> None:
    """To the millisecond, and always of one length: it is written over in place."""
    block = lease.block(until)
    assert len(block) == lease.BLOCK_BYTES
    assert lease.parse(block) == pytest.approx(until, abs=0.001)


@given(INSTANTS, INSTANTS, st.integers(min_value=0, max_value=lease.BLOCK_BYTES))
def test_half_of_one_and_half_of_another_is_no_word(old: float, new: float, at: int) -> None:
    """A block that is read while it is written vouches for what one of the two says, or for nothing."""
    found = lease.parse(lease.block(new)[:at] + lease.block(old)[at:])
    assert found in (old, new, None)


@pytest.mark.parametrize("block", [b"", b"1.0", b"1.0 2.0\n", b"soon soon\n", b"1 1 1\n", b"nan nan\n", b"\xff\xff"])
def test_what_is_no_block_vouches_for_nothing(block: bytes) -> None:
    """In doubt it does not."""
    assert lease.parse(block) is None


@given(st.lists(st.tuples(INSTANTS, st.none() | INSTANTS), min_size=1, max_size=30))
def test_a_term_is_over_when_nobody_vouches_and_not_before(history: list[tuple[float, float | None]]) -> None:
    """Whatever is said and however time goes: it ends at the first look at which what is known has run out and
    nothing newer holds; until then it looks only when it must; afterwards nothing brings it back.
    """
    said: list[float | None] = [None]
    looks: list[float] = []

    def look_up() -> float | None:
        looks.append(now)
        return said[0]

    term, known, over = lease.Term(look_up), None, False
    for now, word in sorted(history, key=lambda step: step[0]):
        said[0] = word
        before = len(looks)
        must = not over and (known is None or now >= known)
        answer = term.look(now)
        assert (len(looks) > before) == must
        if must:
            known, over = word, word is None or word <= now
        assert answer == term.is_over == over


@given(INSTANTS, st.lists(INSTANTS, min_size=1, max_size=20))
def test_a_word_that_stands_still_is_believed_up_to_its_end(until: float, looks: list[float]) -> None:
    """A frozen node: no look before the deadline ends the attempt, the first at or after it does."""
    term = lease.Term(lambda: until)
    for now in sorted(looks):
        assert term.look(now) == (now >= until)
