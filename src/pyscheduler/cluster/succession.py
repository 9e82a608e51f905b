"""What others left: journals told, claims handed out again, attempts found, adopted or given up. S7a, S7b, S17.

What must always hold: the death of a scheduler proves nothing about what it started; each of its attempts is looked for
first (DESIGN 4, "Finding again"), and its true end wins; one whose job is not ours is left to who knows its retries.
Only what is proved gone is revoked, or what `reclaim_after` has made anybody's. A store that could not be reached
resets all that was observed. `work` adopts, `tick` adopts nothing that still runs. No run belongs to one who is fenced
(claims.md I4): it is looked for all the same, for nobody would ever end it.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final, Protocol, TypeVar

from pyscheduler.cluster.evidence import Evidence
from pyscheduler.cluster.journal import left_behind, replayable
from pyscheduler.cluster.orders import Work, attempt_of
from pyscheduler.cluster.reporting import replay
from pyscheduler.cluster.vouching import take_over
from pyscheduler.engine.orders import ref_of
from pyscheduler.engine.ports import AttemptHandle, Clock, Finished, Launcher, Lost, Running
from pyscheduler.model.ids import parse_run_id
from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import Attempt, Run, RunState, Trigger
from pyscheduler.store.claims import Claims, NodeRow, OnLost, Owned, Proof, ProofKind, Seen

log = logging.getLogger(__name__)
T = TypeVar("T")

ALARM_S: Final = 60.0
"""How often runs are looked for that cannot be."""


class Looking(Protocol):
    """Who looks, a living incarnation: a shift of `tick` and `work`, or a node of `serve`."""

    claims: Claims
    clock: Clock

    @property
    def works(self) -> Mapping[str, Work]: ...
    async def call(self, work: Callable[[], T]) -> T: ...
    def decides(self, each: Owned) -> bool: ...


class Heir(Protocol):
    """Who takes over what is found."""

    @property
    def launcher(self) -> Launcher: ...
    async def ended_elsewhere(self, run: Run, owned: Owned, attempt: Attempt, result: AttemptResult) -> None: ...
    async def adopt(self, run: Run, owned: Owned, attempt: Attempt, handle: AttemptHandle, proof: Proof) -> bool: ...


def replay_free(state_dir: Path, claims: Claims, boot_id: str, now: float) -> int:
    """Tell the store the ends in every journal that nobody living holds; returns how many. StoreError, OSError."""
    count = 0
    for path in left_behind(state_dir):
        with replayable(path, boot_id) as journal:
            if journal is not None:
                count += replay(journal, claims, now)
    return count


class Successor:
    """Looks at every other incarnation of a store on behalf of a shift. `adopts`: it minds what still runs."""

    def __init__(
        self,
        shift: Looking,
        performer: Heir,
        evidence: Evidence,
        state_dir: Path,
        boot_id: str,
        *,
        adopts: bool,
    ) -> None:
        self._shift, self._performer, self._evidence = shift, performer, evidence
        self._state_dir, self._boot_id, self._adopts = state_dir, boot_id, adopts
        self._claims = shift.claims
        self._fenced = set[str]()
        self._alarmed = set[str]()
        self._alarm_at = -math.inf

    async def look(self) -> frozenset[str]:
        """Look once at all of them; returns which of them are fenced now. Raises StoreError."""
        await self._replay(self._state_dir)
        asked_at = self._shift.clock.boottime()
        rows = await self._shift.call(self._claims.nodes)
        self._fenced = {row.inc_id for row in rows if row.fenced_at is not None}
        others = [row for row in rows if row.inc_id != self._claims.me.inc_id and row.fenced_at is None]
        self._evidence.keep(frozenset(row.inc_id for row in others))
        for row in others:
            await self._consider(row, asked_at)
        await self._alarm(asked_at)
        return frozenset(self._fenced)

    def forget(self) -> None:
        """A store operation failed: whatever was observed of others counts no more."""
        self._evidence.forget()

    async def _alarm(self, now: float) -> None:
        """Say of each run once that it belongs to one who is fenced: our bug, or rows that somebody else wrote."""
        if now < self._alarm_at:
            return
        self._alarm_at = now + ALARM_S
        strays = {held.run_id for held in await self._shift.call(self._claims.strays)} - self._alarmed
        self._alarmed |= strays
        if strays:
            what = "bug: %s belong(s) to a scheduler that is fenced; nobody will end it: end it by hand, and tell us"
            log.critical(what, ", ".join(sorted(strays)))

    async def _replay(self, state_dir: Path) -> None:
        boot_id, now = self._boot_id, self._shift.clock.boottime()
        try:
            await self._shift.call(lambda: replay_free(state_dir, self._claims, boot_id, now))
        except OSError as error:
            log.warning("a journal cannot be read: %s", error)

    async def _consider(self, row: NodeRow, asked_at: float) -> None:
        proof = await self._shift.call(lambda: self._evidence.proof_of_death(self._claims.me, row))
        if proof is not None:
            await self._inherit(row, proof)
            return
        seen = self._evidence.saw(row, asked_at)
        if row.lives:
            return
        if seen is None and not self._adopts:
            seen = await self._seen_by_earlier_passes(row)
        if seen is not None:
            await self._watch_out(row, seen)

    async def _seen_by_earlier_passes(self, row: NodeRow) -> Seen | None:
        """One pass alone cannot watch: it leaves word of what it saw, and reads what the one before has left."""
        seen = await self._shift.call(lambda: self._claims.stale(row.inc_id))
        if seen is None:
            await self._shift.call(lambda: self._claims.mark_stale(Seen(row.inc_id, row.hb_seq)))
        return seen

    async def _watch_out(self, row: NodeRow, seen: Seen) -> None:
        """Nobody can say whether it lives: hand out what it has not started; the rest only after `reclaim_after`."""
        await self._shift.call(lambda: self._claims.hand_out_unstarted(row.inc_id, seen))
        kind, after = ProofKind.WINDOW, self._claims.timing.reclaim_after_s
        if not _is_over(row, after) and not any(
            each.started and _is_over(row, each.reclaim_after_s or after)
            for each in await self._shift.call(lambda: self._claims.owned(row.inc_id))
        ):
            return
        proof = Proof(inc_id=row.inc_id, kind=kind, seen=seen, reclaim_after_s=after, by=self._claims.me.inc_id)
        silent_s = (row.now - row.renewed_at).total_seconds()
        await self._fence(row, proof, f"silent for {silent_s:.0f} s, longer than its reclaim window")

    async def _inherit(self, row: NodeRow, proof: Proof) -> None:
        """Its process is gone: tell its ends, find its attempts, and end it when none of them can run any more."""
        state_dir = Path(row.state_dir)
        if state_dir != self._state_dir:
            await self._replay(state_dir)
        await self._shift.call(lambda: self._claims.hand_out_unstarted(row.inc_id, proof))
        owned = [each for each in await self._shift.call(lambda: self._claims.owned(row.inc_id)) if each.started]
        if owned and not _is_open_to_us(state_dir):
            log.warning("%s is not readable here: the attempts of a dead scheduler wait for their window", state_dir)
            return
        # a job that nobody has any more has no other rules than ours: its window is waited for
        after = self._claims.timing.reclaim_after_s
        ours = [
            each
            for each in owned
            if self._shift.decides(each)
            or (each.on_lost is not OnLost.ENGINE and _is_over(row, each.reclaim_after_s or after))
        ]
        fates = await asyncio.gather(*(self._fate(each, proof) for each in ours))
        if len(ours) < len(owned):
            return
        if all(fates):
            lost = frozenset(
                (each.run_id, each.token) for each, fate in zip(ours, fates, strict=True) if fate == "lost"
            )
            await self._fence(row, replace(proof, lost=lost), "its process is gone")

    async def _fate(self, each: Owned, proof: Proof) -> str:
        """Find one attempt; returns what has become of it: `ended`, `adopted`, `lost`, or nothing while it runs."""
        attempt = attempt_of(each)
        work = self._shift.works.get(each.job)
        match await self._performer.launcher.find(ref_of(attempt, work.job if work else None)):
            case Finished(result):
                await self._performer.ended_elsewhere(_run_of(each), each, attempt, result)
                return "ended"
            case Running(handle):
                if not self._adopts:
                    log.info("%s still runs under its minder: its end is recorded by a later pass", each.run_id)
                    return ""
                if not await self._performer.adopt(_run_of(each), each, attempt, handle, proof):
                    return ""
                await self._shift.call(lambda: take_over(each.status_path, self._claims))
                return "adopted"
            case Lost(reason):
                log.warning("%s is lost: %s", each.run_id, reason)
                return "lost"

    async def _fence(self, row: NodeRow, proof: Proof, reason: str) -> None:
        fenced = await self._shift.call(lambda: self._claims.fence(row.inc_id, proof, reason))
        if fenced.done:
            self._fenced.add(row.inc_id)
        who = row.node or row.host_id[:8]
        if fenced.done and (fenced.claimed or fenced.running):
            what = "scheduler %s (pid %s) was fenced, %s: %d claim(s) and %d started run(s) were taken from it"
            log.warning(what, who, row.pid, reason, len(fenced.claimed), len(fenced.running))
        elif fenced.running:
            what = "scheduler %s (pid %s) was silent for longer than the reclaim window of %s: taken from it"
            log.warning(what, who, row.pid, ", ".join(fenced.running))


def _is_over(row: NodeRow, window_s: float) -> bool:
    """Whether its last sign of life is longer ago than this."""
    return row.renewed_at + timedelta(seconds=window_s) < row.now


def _is_open_to_us(state_dir: Path) -> bool:
    return os.access(state_dir, os.R_OK | os.W_OK | os.X_OK)


def _run_of(each: Owned) -> Run:
    """Return the run as far as the retry rules ask: they never look at when it was due."""
    assert each.started_at is not None
    run_id = parse_run_id(each.run_id)
    return Run(
        run_id=each.run_id,
        job=each.job,
        run_date=run_id.run_date,
        seq=run_id.seq,
        scheduled_at=each.started_at,
        trigger=Trigger.SCHEDULE,
        created_at=each.started_at,
        updated_at=each.started_at,
        state=RunState.RUNNING,
        attempt=each.attempt,
        config_version=each.config_version,
    )
