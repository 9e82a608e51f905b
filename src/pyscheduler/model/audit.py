"""What the audit log says of one action: who, how they were known, from where, what, to what, why, and what came of it.

The logbook tells what became of runs; this tells who asked, and also what was refused. Rows are never changed: a row's
number, the hash before it and its own hash are the store's to give (`store/chain.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

DONE: Final = "done"
INTERRUPTED: Final = "interrupted"
"""The service ended between the action and its answer: what it changed is in the logbook, if it changed anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One action. `at` is when it was asked for.

    `via` is how the actor was known (`socket`, `token`, `session` …), `subject` what it was done to: a run's id, a
    name, empty where that is the scheduler. `result` begins with `done`, `refused`, `failed` or
    `interrupted`. `detail` holds a few plain values.
    """

    at: datetime
    actor: str
    role: str = ""
    via: str = ""
    address: str = ""
    action: str
    subject: str = ""
    reason: str = ""
    result: str = DONE
    detail: Mapping[str, object] = field(default_factory=dict)
    id: int = 0
    previous_hash: str = ""
    hash: str = ""
