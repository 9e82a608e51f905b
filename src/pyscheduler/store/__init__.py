"""REMEMBER: SQL and nothing but SQL. `Store` is the one door, `StoreWriter` the way through it for many waiters; `Peek`
only looks, from outside.

What must always hold: what was saved is there after any crash, whole; what was not is not; and nothing outside this
room knows a table. The format stands in `schema.py`, what may be asked in `questions.py`.
"""

from pyscheduler.model.batch import Batch
from pyscheduler.store.audit import Verified
from pyscheduler.store.chain import Break, Link
from pyscheduler.store.generation import GenerationState
from pyscheduler.store.peek import Peek
from pyscheduler.store.questions import AuditQuery, LatestRow, LineQuery, Page, PrunableRun, RunQuery, StoreFacts
from pyscheduler.store.store import Store
from pyscheduler.store.writer import StoreWriter

__all__ = [
    "AuditQuery",
    "Batch",
    "Break",
    "GenerationState",
    "LatestRow",
    "LineQuery",
    "Link",
    "Page",
    "Peek",
    "PrunableRun",
    "RunQuery",
    "Store",
    "StoreFacts",
    "StoreWriter",
    "Verified",
]
