"""Claims: one incarnation's dealings with one store. Spec: claims.md C5, DESIGN 6.

What must always hold:

- every method is one short transaction, and its statements lock in one order everywhere: leases (the authority's first,
  then nodes by name), engine values, runs by run_id, attempts. So nothing deadlocks, and what does is repeated;
- a run is owned if and only if its `token` is odd, and only a `queued` (claimed) or `running` (started) run is owned.
  Every grant and every end of a grant adds one to the token, so a token names one grant of one run for ever;
- no statement reads and then writes on what it read without holding the row's lock; each write names token, owner and
  state again, and is judged by what it returns;
- every instant is the database's clock. What the caller must know of time (may I claim? may I revoke?) is in
  `rules.leases`.

A method raises StoreUnavailable when the store is out of reach: nothing was done, or, with `outcome_unknown`, nobody
knows. Then nothing may be begun on the strength of the call: read back with `owned()` (S8) first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime

from pyscheduler.model.lease import Identity, Proof, Seen, Timing
from pyscheduler.store.claims import authority, ending, forgetting, granting, making, nodes, revoking
from pyscheduler.store.claims.door import Door
from pyscheduler.store.claims.guarded import GuardedDoor
from pyscheduler.store.claims.shapes import (
    Applied,
    AuthorityRow,
    Beat,
    Cancelled,
    Claim,
    Fenced,
    Held,
    Marks,
    NodeRow,
    Occurrence,
    Offer,
    Owned,
    Report,
    Start,
    Watermark,
)


class Claims:
    """See above. Safe to use from any thread; `heart` is the heartbeat's own door, with its own connection."""

    def __init__(self, door: Door, me: Identity, timing: Timing, *, heart: Door | None = None) -> None:
        self.door = door
        self.me = me
        self.timing = timing
        self._heart = heart or door

    # ----------------------------------------------------------------------- my own life

    def register(self) -> None:
        """S0: write my row, with a lease that begins now. Once in a life: an `inc_id` is never used again."""
        self.door.write(lambda on: nodes.register(on, self.me, self.timing))

    def heartbeat(self) -> Beat | None:
        """S1: renew my lease; None says that I am fenced, and must stop everything of mine and forget it.

        Take the boot clock *before* the call: the local trust deadline counts from then (`rules.leases.Trust`).
        """
        return self._heart.alone(lambda on: nodes.heartbeat(on, self.me, self.timing))

    def stop(self) -> None:
        """Say that I am stopping: I claim nothing more, and others see it. Heartbeats go on until the last end."""
        self.door.write(lambda on: nodes.set_stopping(on, self.me))

    def unregister(self) -> bool:
        """S16: leave for good. False, and nothing done, while I own a run or hold the authority."""
        return self.door.write(lambda on: nodes.unregister(on, self.me))

    # ----------------------------------------------------------------------- taking, starting, ending

    def claim(
        self,
        count: int,
        *,
        node: str | None = None,
        tags: Iterable[str] | None = None,
        jobs: Iterable[str] | None = None,
    ) -> list[Claim]:
        """S2: take up to so many offered runs that may run here, in the order of their offers.

        `node` and `tags` are mine where they are not said otherwise; `jobs` None: runs of any. Empty where nothing is
        offered, and where I am fenced, stopping, draining, or my lease is over.
        """
        where, having = self.me.node if node is None else node, tuple(self.me.tags if tags is None else tags)
        of = None if jobs is None else tuple(jobs)
        return self.door.alone(lambda on: granting.claim(on, self.me, count, where, having, of))

    def start(self, starts: Sequence[Start]) -> set[str]:
        """S3: mark claimed runs as started and write their attempts; returns the run ids that may start now.

        Refused, with a line `start_refused` in the logbook: a claim that is no longer mine, one whose run was asked to
        be cancelled, an attempt's number or key that is taken, and all of them where I am fenced or my lease is over.
        Execute nothing before this has returned. Raises ValueError for two claims of one run: drop the older first.
        """
        return self.door.write(lambda on: granting.start(on, self.me, starts))

    def outcome(self, report: Report) -> Applied:
        """S4: store an attempt's end if it is still its run's; also for a dead incarnation, from its journal."""
        return self.outcomes((report,))[report.run_id, report.token]

    def outcomes(self, reports: Sequence[Report]) -> dict[tuple[str, int], Applied]:
        """S4 for many in one transaction; the answers by (run_id, token).

        Never refused: an attempt that was revoked has its report kept as a line `superseded`, once.
        """
        return self.door.write(lambda on: ending.outcomes(on, reports))

    def hand_back(self, claims: Iterable[Held], *, cancelled: bool = False) -> set[str]:
        """S5: give claims back unstarted; returns the run ids that were mine to give.

        They are offered again, or `cancelled` where a hook refused them (`cancelled`) or a person asked for it; a run
        that the engine decides about is no longer offered then, and stays queued for it.
        """
        held = tuple(claims)
        return self.door.write(lambda on: granting.hand_back(on, self.me, held, cancelled=cancelled))

    def abort_start(self, held: Held) -> bool:
        """S6: take back a start that S3 committed and of which *nothing* was executed; False where it is not mine.

        The run is offered again, and its attempt's row is gone. Line `start_aborted`.
        """
        return self.door.write(lambda on: granting.abort_start(on, self.me, held))

    def owned(self, inc_id: str | None = None) -> list[Owned]:
        """S8: every run that is mine (or that incarnation's), claimed or started, by run_id."""
        return self.door.alone(lambda on: granting.owned(on, inc_id or self.me.inc_id))

    def revoked(self, run_ids: Iterable[str]) -> list[Owned]:
        """Return these runs' attempts that were revoked and of whose end nobody has told, as they were owned."""
        wanted = sorted(set(run_ids))
        return self.door.alone(lambda on: granting.revoked(on, wanted))

    # ----------------------------------------------------------------------- what the dead leave

    def hand_out_unstarted(self, inc_id: str, why: Seen | Proof) -> list[str]:
        """S7a: offer again what an incarnation has claimed and not started; returns the run ids.

        `why` is that its row stood still (its lease must also be over), or a proof of its death. It is not fenced: if
        it comes back it goes on with what it runs. Empty where it is fenced, has moved, or its lease still holds.
        """
        return self.door.write(lambda on: revoking.hand_out_unstarted(on, self.me, inc_id, why))

    def fence(self, inc_id: str, proof: Proof, reason: str) -> Fenced:
        """S7b: end an incarnation for good, and revoke all that it owns. Refused (`done` False) without effect where

        - it is unknown, fenced already, or myself;
        - the proof is of another; DEAD while it owns a started attempt that `proof.lost` does not name;
        - WINDOW while its row has moved since it was seen, or `reclaim_after` is not over. Runs with a window
          of their own are taken when that has passed, and keep it from being fenced until then (see `Fenced`).
        """
        return self.door.write(lambda on: revoking.fence(on, self.me, inc_id, proof, reason))

    def adopt(self, inc_id: str, run_id: str, token: int, proof: Proof) -> bool:
        """S17: become the owner of a started attempt of a dead incarnation of this host; its token stays.

        False where the proof is not of its death (DEAD), it ran on another host, the run is not (any more) its, or I am
        fenced or out of my lease.
        """
        return self.door.write(lambda on: revoking.adopt(on, self.me, inc_id, Held(run_id, token), proof))

    def mark_stale(self, seen: Seen) -> None:
        """Leave word, for one-shot passes, that this row stood at this count now (claims.md C3)."""
        self.door.write(lambda on: nodes.mark_stale(on, seen))

    def stale(self, name: str) -> Seen | None:
        """Return the row as an earlier pass saw it, where that is the observation time ago and it has not moved.

        `name` is an `inc_id` or AUTHORITY, whose mark is of one epoch.
        """
        return self.door.alone(lambda on: nodes.stale(on, name, self.timing))

    # ----------------------------------------------------------------------- authority

    def take_authority(self, seen: Seen | None = None) -> int | None:
        """S9: become the authority; returns the new epoch, None where another's claim to it still holds.

        It may be taken when it is free or its holder is fenced or myself, else when its time is over and it was `seen`
        to stand still. None also where I am fenced or out of my lease.
        """
        return self.door.write(lambda on: authority.take(on, self.me, self.timing, seen))

    def renew_authority(self, epoch: int) -> bool:
        """S10: False says that the authority is lost: step down now."""
        return self._heart.alone(lambda on: authority.renew(on, self.me, self.timing, epoch))

    def resign(self, epoch: int) -> None:
        """S14: let go of the authority, after everything under that epoch has ended. Harmless when it is lost."""
        self.door.write(lambda on: authority.resign(on, self.me, epoch))

    def guarded(self, epoch: int) -> Door:
        """S11: a door whose every transaction first holds the authority's row; AuthorityLost where it is not mine."""
        return GuardedDoor(self.door, self.me, epoch)

    def authority(self) -> AuthorityRow:
        """Return who is the authority, and what a watcher compares (`rules.leases.Observer`)."""
        row = self.door.alone(authority.look)
        return AuthorityRow.nobody(self.now()) if row is None else row

    # ----------------------------------------------------------------------- runs of tick and work, the engine's offers

    def materialise(self, epoch: int, occurrences: Sequence[Occurrence], watermarks: Sequence[Watermark]) -> list[str]:
        """S12: make runs for what is due; returns the run ids made. AuthorityLost where the epoch is over.

        A job whose watermark is no longer what the caller saw gets nothing; an occurrence that has its run, none.
        """
        return self.guarded(epoch).write(lambda on: making.materialise(on, occurrences, watermarks))

    def prune(
        self,
        epoch: int,
        day: date,
        untouched_since: datetime,
        at_most: int,
        *,
        pass_at: datetime,
        remember: forgetting.Remember,
    ) -> list[str]:
        """Remove ended runs of `tick` and `work` of an earlier run date, untouched since then; AuthorityLost."""
        return self.guarded(epoch).write(
            lambda on: forgetting.prune(on, day, untouched_since, at_most, pass_at=pass_at, remember=remember)
        )

    def keys_of_runs(self, run_ids: Iterable[str]) -> dict[str, bool]:
        """Return the key of every attempt of these runs, with whether it and its run have ended: its files may go."""
        return self.door.write(lambda on: forgetting.keys_of_runs(on, run_ids))

    def marks(self, jobs: Iterable[str]) -> Marks:
        """Return up to when each job's firings have been made into runs; a job without one was never looked at."""
        wanted = tuple(jobs)
        return self.door.alone(lambda on: making.marks(on, wanted))

    def admit(self, epoch: int) -> list[str]:
        """S13 for the runs of `tick` and `work`: offer again those whose wait for a retry is over. AuthorityLost."""
        return self.guarded(epoch).write(making.admit)

    def ripe_at(self) -> tuple[datetime, datetime | None]:
        """Return the database's clock, and when `admit` has something to do; None: no run waits for a retry."""
        return self.door.alone(making.ripe_at)

    def offer(self, epoch: int, offers: Sequence[Offer]) -> set[str]:
        """Offer queued runs that nobody owns; returns the run ids that are offered now. AuthorityLost."""
        return self.guarded(epoch).write(lambda on: making.offer(on, offers))

    def withdraw(self, epoch: int, run_ids: Iterable[str]) -> set[str]:
        """Take offers back; returns the runs that nobody can claim now, not those claimed before. AuthorityLost."""
        wanted = tuple(run_ids)
        return self.guarded(epoch).write(lambda on: making.withdraw(on, wanted))

    def cancel(self, run_id: str) -> Cancelled:
        """S15: cancel a run by a person's wish.

        One that runs is asked to stop. A claim of a run that `tick` or `work` made is taken back and ends, as does
        such a run that nobody owns. A claim of the engine's is asked to give it back. The rest is the engine's to do.
        """
        return self.door.write(lambda on: making.cancel(on, run_id))

    def call_off(self, run_id: str, by: str, why: str = "", *, only_running: bool = False) -> Cancelled:
        """S15 for a run that `tick` or `work` made, with a line in the logbook; the engine's runs are left alone."""
        return self.door.write(lambda on: making.call_off(on, run_id, by, why, only_running=only_running))

    # ----------------------------------------------------------------------- looking

    def strays(self) -> list[Held]:
        """Return runs that belong to a fenced incarnation: there are none, and one that is found is an alarm."""
        return self.door.alone(revoking.strays)

    def nodes(self) -> list[NodeRow]:
        """Return every incarnation that is not fenced, and those that were within the last hour, the eldest first."""
        return self.door.alone(nodes.listed)

    def drain(self, node: str, *, undo: bool = False) -> list[str]:
        """Let a node (its name or an inc_id) take nothing new, or again; returns the incarnations it concerns."""
        return self.door.write(lambda on: nodes.drain(on, node, draining=not undo))

    def forget(self, keep_s: float) -> list[str]:
        """Remove rows of incarnations that were fenced so long ago (a week more at most), and that nothing names.

        `register` does it for those of yesterday. B28: what a run or an attempt names is never removed.
        """
        return self.door.write(lambda on: nodes.forget(on, keep_s))

    def now(self) -> datetime:
        """Return the database's clock."""
        return self.door.alone(nodes.now)

    def close(self) -> None:
        """Close both doors."""
        self.door.close()
        self._heart.close()
