"""Histories told by hand: a store in which each step is one transaction, so that a test may tell a wrong one.

`Story` keeps the rows and writes down each change as the recorder would. Its verbs are the protocol's steps done
right; `change` does anything at all.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.faults.cluster.history import Change, Effect, History, Promises, Row

KEYS = {"runs": ("run_id",), "attempts": ("run_id", "attempt"), "leases": ("name",), "events": ("id",),
        "engine": ("key",)}  # fmt: skip


class Story:
    """One cluster's life, as far as its tables and its tasks tell."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[Any, Row]] = {table: {} for table in KEYS}
        self.changes: list[Change] = []
        self.effects: list[Effect] = []
        self._numbers = itertools.count(1)
        self._xid: int | None = None
        self.app = "a"

    def history(self, promises: Promises | None = None) -> History:
        return History(tuple(self.changes), tuple(self.effects), promises or Promises())

    @contextmanager
    def together(self) -> Iterator[None]:
        """Let what follows be one transaction."""
        self._xid = next(self._numbers)
        yield
        self._xid = None

    def change(self, table: str, key: Any, /, **columns: Any) -> None:
        """Insert or update one row."""
        rows = self.tables[table]
        old = rows.get(key)
        new = {**(old or {}), **columns}
        lease = self.tables["leases"].get("authority", {})
        self.changes.append(
            Change(next(self._numbers), self._xid or next(self._numbers), self.app, table, old, new,
                   lease.get("epoch"), lease.get("holder_inc"))
        )  # fmt: skip
        rows[key] = new

    def token(self, name: str) -> int:
        found: int = self.tables["runs"][name]["token"]
        return found

    # ---- the steps

    def node(self, inc: str) -> None:
        self.app = inc
        self.change("leases", inc, name=inc, kind="node", epoch=0, holder_inc=None, fenced_at=None, fence_reason=None)

    def lead(self, inc: str, epoch: int) -> None:
        self.change("leases", "authority", name="authority", kind="authority", epoch=epoch, holder_inc=inc,
                    fenced_at=None)  # fmt: skip

    def due(self, name: str, at: int = 1, job: str = "load") -> None:
        self.change("runs", name, run_id=name, job=job, scheduled_at=at, trigger="schedule", state="queued", token=0,
                    owner_inc=None, attempt=0, offered_at=None)  # fmt: skip

    def claim(self, name: str, inc: str) -> None:
        self.change("runs", name, token=self.token(name) + 1, owner_inc=inc)

    def start(self, name: str, inc: str) -> None:
        number = self.tables["runs"][name]["attempt"] + 1
        with self.together():
            self.change("runs", name, state="running", attempt=number)
            self.change("attempts", (name, number), run_id=name, attempt=number, key=f"{name}-{number}",
                        token=self.token(name), inc_id=inc, ended_at=None, outcome=None)  # fmt: skip

    def act(self, name: str, attempt: int = 1, what: str = "begin") -> None:
        self.effects.append(Effect(what, name, attempt, f"{name}-{attempt}", 0, 1, 1.0))

    def end(self, name: str, state: str = "succeeded", outcome: str = "succeeded") -> None:
        number = self.tables["runs"][name]["attempt"]
        with self.together():
            self.change("runs", name, state=state)
            self.change("attempts", (name, number), ended_at=2, outcome=outcome)

    def say(self, action: str, name: str, token: int) -> None:
        number = len(self.tables["events"])
        self.change("events", number, id=number, action=action, run_id=name, detail=json.dumps({"token": token}))

    def fence(self, inc: str, *names: str) -> None:
        """S7b: the node, and its running rows with it."""
        with self.together():
            self.change("leases", inc, fenced_at=5, fence_reason="window")
            for name in names:
                token = self.token(name)
                self.change("runs", name, state="queued", token=token + 1, owner_inc=None)
                self.change("attempts", (name, self.tables["runs"][name]["attempt"]), ended_at=5, outcome="lost")
                self.say("lost_running", name, token)
