"""Bodies nested too deep are refused before anybody reads them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.api.bodies import DEEPEST, check_depth
from pyscheduler.errors import BadRequest

VALUES = st.recursive(
    st.one_of(st.none(), st.text(st.sampled_from('[]{}"\\a'), max_size=8), st.integers()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text('[{"\\', max_size=3), inner, max_size=3)
    ),
    max_leaves=60,
)


@pytest.mark.parametrize("kind", ["[", '{"a":'])
@pytest.mark.parametrize(("deep", "fits"), [(DEEPEST, True), (DEEPEST + 1, False), (100_000, False)])
def test_so_deep_and_no_deeper(kind: str, deep: int, fits: bool) -> None:
    """Whether or not the brackets are ever closed."""
    body = (kind * deep).encode()
    if fits:
        check_depth(body)
    else:
        with pytest.raises(BadRequest, match="nested more than 100 deep"):
            check_depth(body)


@given(VALUES)
def test_brackets_in_strings_do_not_count(value: Any) -> None:
    """Wide is not deep, and text is text."""
    check_depth(json.dumps([value] * 150).encode())
    check_depth(json.dumps(["[" * 500, {'"[{' * 200: "\\"}]).encode())


@given(st.binary(max_size=400))
def test_whatever_comes_is_looked_through(noise: bytes) -> None:
    """Bytes that are no JSON are left to the reader, or refused; never an error of ours."""
    try:
        check_depth(b"[" * 120 + noise)
    except BadRequest:
        return
    raise AssertionError("120 open brackets")
