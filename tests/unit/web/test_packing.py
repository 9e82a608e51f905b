"""What goes over the wire compressed is the page, and nobody gets it so who did not ask."""

from __future__ import annotations

import gzip

import pytest

from pyscheduler.web.packing import packed, takes_gzip


@pytest.mark.parametrize("accepted", ["gzip", "br, gzip", "deflate,GZIP;q=0.5", "gzip; q=1.0", "identity;q=0, gzip"])
def test_who_names_gzip_gets_it(accepted: str) -> None:
    assert takes_gzip([accepted])


@pytest.mark.parametrize("accepted", ["", "br", "*", "identity", "gzip;q=0", "gzip; Q=0.000", "x-gzip", "notgzip"])
def test_who_does_not_name_it_or_refuses_it_gets_the_page_as_it_is(accepted: str) -> None:
    assert not takes_gzip([accepted])


def test_headers_hold_together() -> None:
    """A browser may send several; none is no wish."""
    assert takes_gzip(["br", "gzip"])
    assert not takes_gzip([])


def test_the_same_page_is_the_same_bytes_and_comes_out_whole() -> None:
    page = "<tr>…</tr>".encode() * 500
    assert gzip.decompress(packed(page)) == page
    assert packed(page) == packed(page)
    assert len(packed(page)) < len(page) / 20
