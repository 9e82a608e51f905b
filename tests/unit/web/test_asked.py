"""Addresses of pages: an empty field is one left out, and a list has its pages."""

from __future__ import annotations

from datetime import date

import pytest
from pydantic import ValidationError

from pyscheduler.web.asked import ROWS, GraphPage, JobsPage, LogbookPage, Paged, TimelinePage, link


def test_an_empty_field_of_a_form_is_left_out() -> None:
    """A browser sends every field it has."""
    asked = GraphPage.model_validate({"run_date": "", "tag": "", "focus": " "})
    assert (asked.run_date, asked.tag, asked.focus) == (None, None, None)
    assert TimelinePage.model_validate({"date": "", "at": ""}).date is None
    assert LogbookPage.model_validate({"actor": "", "cursor": "", "since": "2027-05-20"}).since == date(2027, 5, 20)


@pytest.mark.parametrize("given", [{"colour": "red"}, {"page": "0"}, {"show": "rotten"}, {"q": "x" * 101}])
def test_what_nobody_knows_is_refused(given: dict[str, str]) -> None:
    """A misspelt filter does not mean everything."""
    with pytest.raises(ValidationError):
        JobsPage.model_validate(given)


def test_pages_hold_every_row_once() -> None:
    """The last page is there for whoever asks for one behind it."""
    rows = list(range(2 * ROWS + 1))
    pages = [Paged(rows, number) for number in (1, 2, 3)]
    assert [row for page in pages for row in page.rows] == rows
    assert [(page.first, page.last) for page in pages] == [(1, ROWS), (ROWS + 1, 2 * ROWS), (2 * ROWS + 1,) * 2]
    assert Paged(rows, 99).number == 3
    assert (Paged([], 1).pages, Paged([], 1).first, Paged([], 1).last) == (1, 0, 0)


def test_an_address_holds_what_was_said_and_no_more() -> None:
    """Escaped; what is empty is left out."""
    assert link("/graph") == "/graph"
    assert link("/jobs", q="a&b=ü", tag=None, show="", page=2) == "/jobs?q=a%26b%3D%C3%BC&page=2"
    assert link("/timeline", date=date(2027, 5, 20)) == "/timeline?date=2027-05-20"
