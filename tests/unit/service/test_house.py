"""What a standby makes of a trouble that it had."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyscheduler.api.host import Phase, Standing
from pyscheduler.errors import StoreUnavailable
from pyscheduler.service.house import House
from tests.builders import NOON

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


def test_a_start_that_cannot_join_says_why() -> None:
    """With the server's name; what an opening has met itself counts for more."""
    starting = Standing(Phase.STARTING, NOON)
    house = SimpleNamespace(_membership=SimpleNamespace(cut_off=GONE), _supervisor=SimpleNamespace(standing=starting))
    standing: Any = vars(House)["standing"].fget
    assert "db.example" in standing(cast("House", house)).trouble
    house._supervisor.standing = Standing(Phase.STARTING, NOON, "no room")
    assert standing(cast("House", house)).trouble == "no room"
    house._membership.cut_off, house._supervisor.standing = None, starting
    assert standing(cast("House", house)) is starting
