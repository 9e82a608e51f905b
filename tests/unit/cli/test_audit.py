"""The audit log as operators read it, and what its proof says."""

from __future__ import annotations

from typing import Any

import pytest

from pyscheduler.cli.terminal import Terminal
from tests.unit.cli.prompt import Prompt, a_scheduler

HASH = "5e" * 32


def a_row(number: int = 7, **fields: Any) -> dict[str, Any]:
    return {
        "id": number,
        "at": "2027-05-20T10:00:00Z",
        "actor": "ann",
        "role": "operator",
        "via": "token",
        "address": "192.0.2.7",
        "action": "kill",
        "subject": "load.1",
        "reason": "hangs",
        "result": "done",
        "detail": {},
        "hash": HASH,
        **fields,
    }


def verification(**fields: Any) -> dict[str, Any]:
    nothing = {"id": 0, "hash": "0" * 64}
    return {"ok": True, "rows": 3, "anchor": nothing, "head": {"id": 3, "hash": HASH}, "broken": None, **fields}


@pytest.fixture
def night(pysched: Prompt) -> Prompt:
    rows = [a_row(), a_row(6, via="socket", address="", result="refused 409 it has ended", reason="")]
    pysched.scheduler.replies = {
        "GET /api/scheduler": a_scheduler(),
        "GET /api/audit": {"audit": rows, "next_cursor": None},
        "GET /api/audit/verify": verification(),
    }
    return pysched


def test_rows_are_a_table(night: Prompt) -> None:
    """Who, how known and from where, what, to what, how it went, why."""
    assert night("audit", "list").out.splitlines() == [
        "ID  AT                         WHO  FROM             WHAT  ABOUT   RESULT                    REASON",
        "7   2027-05-20 12:00:00+02:00  ann  token 192.0.2.7  kill  load.1  done                      hangs",
        "6   2027-05-20 12:00:00+02:00  ann  socket           kill  load.1  refused 409 it has ended  -",
    ]
    assert night("audit").out == night("audit", "list").out
    narrow = night("audit", terminal=Terminal(width=80)).out.splitlines()
    assert narrow[0].startswith("AT     ")
    assert "FROM" not in narrow[0]
    assert night("audit", "--json").json["audit"][0]["hash"] == HASH


def test_every_filter_goes_to_the_scheduler(night: Prompt) -> None:
    """Dates in its zone."""
    night("audit", "--by", "ann", "--action", "kill", "--about", "x", "--since", "2027-05-20", "--text", "y")
    query = dict(night.scheduler.asked[-1][1])
    assert query == {
        "limit": 51,
        "actor": "ann",
        "action": "kill",
        "subject": "x",
        "since": "2027-05-19T22:00:00Z",
        "q": "y",
    }


def test_more_rows_and_none_are_said(night: Prompt) -> None:
    """On stderr, where it is no part of the list."""
    assert "more than 1: --limit" in night("audit", "--limit", "1").err
    night.scheduler.replies["GET /api/audit"] = {"audit": [], "next_cursor": None}
    assert night("audit").out == "no rows match\n"


def test_a_log_that_holds_is_ok(night: Prompt) -> None:
    """With its head, to be noted; and how many rows are gone for their age."""
    said = night("audit", "verify")
    assert (said.code, said.out) == (0, f"ok: 3 rows, each follows from the one before\nhead: 3:{HASH}\n")
    night.scheduler.replies["GET /api/audit/verify"] = verification(anchor={"id": 2, "hash": HASH}, rows=1)
    assert night("audit", "verify").out.startswith("ok: 1 row after 2 rows that were pruned, each follows")
    night("audit", "verify", "--head", f"3:{HASH}")
    assert night.scheduler.asked[-1] == ("GET /api/audit/verify", {"head": f"3:{HASH}"})


def test_a_log_that_does_not_hold_is_a_failure(night: Prompt) -> None:
    """Exit code 1, with the first row at fault and what is wrong with it."""
    broken = {"id": 4, "what": "was changed after it had been written"}
    night.scheduler.replies["GET /api/audit/verify"] = verification(ok=False, broken=broken)
    said = night("audit", "verify")
    assert said.code == 1
    assert said.out == "broken: row 4 was changed after it had been written\nthe 3 rows before it hold\n"
    assert night("audit", "verify", "--json").code == 1


@pytest.mark.parametrize(
    "typed", ["verify --by ann", "verify --limit 3", f"list --head 3:{HASH}", "verify --head x", "verify --text y"]
)
def test_what_makes_no_sense_together_is_refused(night: Prompt, typed: str) -> None:
    """Before anything is asked."""
    said = night("audit", *typed.split())
    assert said.code == 2
    assert not [route for route, _ in night.scheduler.asked if "audit" in route]
