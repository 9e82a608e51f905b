"""The request on whose behalf something is done, where it must be known afterwards whether it was: at most once.

Whoever brings an idempotency key wants its deed done once, also when the scheduler is killed between the deed and the
answer. So the key travels with the deed: `Desk.line` writes an operator's line into the logbook and, in the very same
commit, that the key's request was done and to which runs. After a crash the key is there if and only if the deed is.

A context variable, because it concerns every action alike and no rule: it is set for one request's task, and what the
scheduler decides by itself never looks at it.
"""

from __future__ import annotations

import json
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from pyscheduler.model.reply import DONE, Reply


@dataclass(slots=True)
class Mark:
    """A request with a key, and the runs it was done to so far."""

    actor: str
    key: str
    fingerprint: str
    runs: list[str] = field(default_factory=list)

    def noted(self, run_id: str | None, now: datetime) -> Reply:
        """Return the row that says what was done, this deed included."""
        if run_id is not None:
            self.runs.append(run_id)
        body = json.dumps(self.runs)
        return Reply(actor=self.actor, key=self.key, fingerprint=self.fingerprint, at=now, status=DONE, body=body)


MARK: Final[ContextVar[Mark | None]] = ContextVar("pyscheduler_request", default=None)
"""The request of the present task, None where it brought no key."""
