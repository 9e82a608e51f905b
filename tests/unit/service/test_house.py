"""What a standby makes of a trouble that it had."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyscheduler.errors import StoreUnavailable
from pyscheduler.service.house import House

GONE = StoreUnavailable("the server cannot be reached", where="db.example")


@pytest.mark.parametrize(
    ("row", "leader", "told"),
    [("b's", "b", ["works", ("b", None)]), ("free", "", [("", None)]), (None, "", [("", GONE)])],
)
def test_a_trouble_is_over_once_another_leads(row: str | None, leader: str, told: list[object]) -> None:
    """Not when we lead ourselves, perhaps hours later: there was no outage in between. While nobody leads it lasts."""
    heard = list[object]()
    house = SimpleNamespace(
        _membership=SimpleNamespace(other_that_leads=lambda _row: leader, cut_off=GONE),
        alerts=SimpleNamespace(scheduler_works=lambda: heard.append("works")),
        _supervisor=SimpleNamespace(stand_by=lambda *given: heard.append(given)),
    )
    House._stand_by(cast("House", house), cast("Any", row))
    assert heard == told
