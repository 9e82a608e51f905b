"""Files that pages need: named by their content, and only those there are."""

from __future__ import annotations

import pytest

from pyscheduler.web import assets


def test_an_address_names_the_edition() -> None:
    """A changed file has another address, so that any may be kept for a year."""
    found = assets.edition()
    assert assets.address("css/base.css") == f"/static/{found.digest}/css/base.css"


def test_a_template_cannot_name_a_file_that_is_not_there() -> None:
    with pytest.raises(KeyError, match=r"nothing\.css"):
        assets.address("nothing.css")


def test_every_file_is_of_a_kind_that_is_served() -> None:
    """Nothing lies under static/ that nobody gets, licences included."""
    assert {"js/app.js", "vendor/htmx.min.js", "vendor/licences/htmx.txt", "icon.svg"} <= set(assets.edition().files)
