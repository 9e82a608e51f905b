"""Mistakes in the claims' SQL on SQLite, one each, that the machine of claims.md C13 is able to find.

They are put in place for as long as a test lasts. The whole list of C12's is hunted by the model
(`test_claims_model.py`) and under real processes (`tests/faults/cluster/test_mutants.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest

from pyscheduler.model.lease import Identity
from pyscheduler.store.claims import Applied, Seen, ending, granting, revoking
from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.statements import Statement


def edited(statement: Statement, *edits: tuple[str, str]) -> Statement:
    """Return a statement whose text on SQLite says something else; it must have said what is replaced."""
    sql = statement.sql
    for old, new in edits:
        assert old in sql, sql
        sql = sql.replace(old, new)
    return Statement(sql, statement.names, statement.fixed)


def outcome_by_state_only(patch: pytest.MonkeyPatch) -> None:
    """An end is applied if the run is running, whoever runs it."""
    guards = [(f"runs.{name} = ?", f"(runs.{name} = ? OR true)") for name in ("token", "owner_inc")]
    patch.setattr(ending, "END_RUN", edited(ending.END_RUN, *guards))

    def verdict(_: Any, run: Sequence[Any], grant: Sequence[Any]) -> Applied:
        if not grant:
            return Applied.UNKNOWN
        if grant[0][1] is not None:
            return Applied.AGAIN
        return Applied.YES if run and run[0][2] == "running" else Applied.SUPERSEDED

    patch.setattr(ending, "_verdict", verdict)


def started_runs_are_handed_out(patch: pytest.MonkeyPatch) -> None:
    """S7a takes everything from who is silent, and not only what was never started."""

    def hand_out(on: Transaction, me: Identity, inc_id: str, why: Seen) -> list[str]:
        found = on.rows(revoking._LOCK_LEASE, who=inc_id)
        if not found or found[0][2] is not None or not revoking._may_hand_out(on, inc_id, why):
            return []
        owned = list(revoking._owned(on, inc_id))
        revoking._revoke(on, inc_id, owned, "its claim was handed out again")
        return [row.run_id for row in owned]

    patch.setattr(revoking, "hand_out_unstarted", hand_out)


def a_token_comes_back(patch: pytest.MonkeyPatch) -> None:
    """Who hands back leaves the token that was there before the claim."""
    back = edited(granting.HAND_BACK, ("token=(runs.token + ?)", "token=(runs.token - ?)"))
    patch.setattr(granting, "HAND_BACK", back)


MUTANTS: Final[tuple[Callable[[pytest.MonkeyPatch], None], ...]] = (
    outcome_by_state_only,
    started_runs_are_handed_out,
    a_token_comes_back,
)
