"""The protocol with one mistake in it: each of claims.md C12's, in the SQL or in the loop, as it would be made by hand.

A scheduler makes the mistake that `FAULTS_MUTANT` names. The harness is worth something if it finds every one of them.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from pyscheduler.cluster.grants import Grants
from pyscheduler.cluster.succession import Successor
from pyscheduler.errors import StoreError
from pyscheduler.store.claims import Applied, Claims, Start, authority, ending, granting
from pyscheduler.store.statements import Statement

MUTANT: Final = "FAULTS_MUTANT"
DIALECT: Final = "postgresql"
SLOW_S: Final = 2.0


def edit(statement: Statement, **replaced: str) -> None:
    """Let a statement's text on PostgreSQL say something else; `old` and `new`, and it must have said `old`."""
    was = statement.on(DIALECT)
    assert replaced["old"] in was.sql, was.sql
    sql = was.sql.replace(replaced["old"], replaced["new"])
    statement.others[DIALECT] = Statement(sql, was.names, was.fixed)


def start_without_token() -> None:
    """A start asks only whether the run waits to be started, and not whose grant it is.

    It comes a little late, so that after a stop the lease has been renewed first: else that guard would do.
    """
    start = Claims.start

    def late(self: Claims, starts: Sequence[Start]) -> set[str]:
        time.sleep(0.5)
        return start(self, starts)

    vars_of(Claims)["start"] = late
    for name in ("runs.token = %s::BIGINT", "runs.owner_inc = %s::VARCHAR"):
        edit(granting.START, old=f"AND {name}", new=f"AND ({name} OR true)")


def start_unguarded() -> None:
    """Whatever the store answers, the task is started."""
    start = Claims.start

    def regardless(self: Claims, starts: Sequence[Start]) -> set[str]:
        start(self, starts)
        return {one.run_id for one in starts}

    vars_of(Claims)["start"] = regardless


def outcome_by_state_only() -> None:
    """An end is applied if the run is running, whoever runs it."""
    for name in ("runs.token = %s::BIGINT", "runs.owner_inc = %s::VARCHAR"):
        edit(ending.END_RUN, old=f"AND {name}", new=f"AND ({name} OR true)")

    def verdict(_: Any, run: Sequence[Any], grant: Sequence[Any]) -> Applied:
        if not grant:
            return Applied.UNKNOWN
        if grant[0][1] is not None:
            return Applied.AGAIN
        return Applied.YES if run and run[0][2] == "running" else Applied.SUPERSEDED

    vars(ending)["_verdict"] = verdict


def claim_while_fenced() -> None:
    """Nobody asks whether the claimer was fenced, or whether its lease is over."""
    for claim in (granting.CLAIM, granting.CLAIM_OF):
        edit(claim, old="leases.fenced_at IS NULL AND ", new="")
        edit(claim, old=" AND leases.lease_until > db_now() FOR KEY SHARE", new="")


def no_reconcile() -> None:
    """What an acknowledgement did not tell is never read back (S8)."""

    async def nothing(_: Grants) -> None:
        return

    vars_of(Grants)["reconcile"] = nothing


def proof_by_scheduler_only() -> None:
    """A dead scheduler's attempts are taken for dead as well."""

    async def fate(*_: Any) -> str:
        return "lost"

    vars_of(Successor)["_fate"] = fate


def execute_before_commit() -> None:
    """The start is committed when the task runs already, or not at all."""
    start = Claims.start

    def at_once(self: Claims, starts: Sequence[Start]) -> set[str]:
        threading.Thread(target=_quietly, args=(start, self, starts), daemon=True).start()
        return {one.run_id for one in starts}

    vars_of(Claims)["start"] = at_once


def authority_without_lock() -> None:
    """The authority's row is looked at, and not held, before its writes."""
    edit(authority.GUARD, old=" FOR KEY SHARE", new="")
    slow_authority()


def slow_authority() -> None:
    """No mistake: the authority takes its time between the look at its row and its writes."""
    from pyscheduler.store.claims import guarded

    write = guarded.GuardedDoor.write

    def slowly(self: Any, work: Callable[[Any], Any]) -> Any:
        def later(on: Any) -> Any:
            time.sleep(random.uniform(0.0, SLOW_S) if random.random() < 0.3 else 0.0)
            return work(on)

        return write(self, later)

    vars_of(guarded.GuardedDoor)["write"] = slowly


MUTANTS: Final[dict[str, Callable[[], None]]] = {
    mutant.__name__: mutant
    for mutant in (
        start_without_token, start_unguarded, outcome_by_state_only, claim_while_fenced, no_reconcile,
        proof_by_scheduler_only, execute_before_commit, authority_without_lock,
    )
}  # fmt: skip


class Patches:
    """What stands in a class, as something that may be replaced."""

    def __init__(self, of: type) -> None:
        self._of = of

    def __setitem__(self, name: str, value: object) -> None:
        assert hasattr(self._of, name), f"{self._of.__name__} has no {name} any more"
        setattr(self._of, name, value)


def vars_of(of: type) -> Patches:
    return Patches(of)


def _quietly(start: Callable[..., Any], claims: Claims, starts: Sequence[Start]) -> None:
    time.sleep(random.uniform(0.0, 0.5))
    try:
        start(claims, starts)
    except StoreError:
        return
