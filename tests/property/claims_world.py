"""A small world for `test_claims_machine.py`: one store in a real file, processes that only know what they were told.

What is real: the facade and its SQL, `rules.leases`, `rules.proof`, the file. What is played: the clocks, the kernel,
the executions under their minders, and what a store does to a transaction (`Fate`). A process acts on its own memory
and on answers only; the world's memory is for the checks.
"""

from __future__ import annotations

import itertools
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from pyscheduler.errors import AuthorityLost, StoreUnavailable
from pyscheduler.model.lease import AUTHORITY, Identity, Proof, ProofKind, Seen
from pyscheduler.model.run import Outcome, RunState
from pyscheduler.rules.leases import Observer, Trust, timing
from pyscheduler.rules.proof import Presence, ProcessFacts, Verdict, covering, judge, prove
from pyscheduler.store import Store, driver, rows
from pyscheduler.store.claims import Applied, Claims, Held, NodeRow, Occurrence, Report, Start, Watermark
from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.claims.sqlite_door import replace_clock
from pyscheduler.store.files import StoreFiles
from pyscheduler.store.transaction import SqliteTransaction

T = TypeVar("T")
NOON: Final = datetime(2027, 5, 20, 12, tzinfo=UTC)
DAY: Final = date(2027, 5, 20)
TIMING: Final = timing(
    heartbeat=1, lease=10, kill_grace=0.3, margin=1.5, observe=3, authority_lease=5, reclaim_after=60
)
HOSTS: Final = ("h1", "h2")
Grant = tuple[str, int]


class Fate(StrEnum):
    """What a store does to a transaction: all is well, nobody hears of the commit, nothing happened."""

    OK = "ok"
    LOST = "answer lost"
    ROLLED_BACK = "rolled back"


class SplitDoor:
    """A connection of its own whose next commit has the fate that the test chose."""

    dialect = "sqlite"

    def __init__(self, path: Path, clock: Callable[[], int]) -> None:
        self._connection = driver.open_writer(path, sync=False)
        replace_clock(self._connection, clock)
        self.fate = Fate.OK
        self.is_cut_off = False

    def write(self, work: Callable[[Transaction], T]) -> T:
        if self.is_cut_off:
            raise StoreUnavailable("the store is out of reach")
        fate, self.fate = self.fate, Fate.OK
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            done = work(SqliteTransaction(self._connection))
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("ROLLBACK" if fate is Fate.ROLLED_BACK else "COMMIT")
        if fate is not Fate.OK:
            error = StoreUnavailable("nobody knows what became of it")
            error.outcome_unknown = True
            raise error
        return done

    def alone(self, work: Callable[[Transaction], T]) -> T:
        return self.write(work)

    def close(self) -> None:
        self._connection.close()


@dataclass
class Execution:
    """What a start has led to. `state` is live, noted (ended, and its note says so) or gone (its minder was killed)."""

    state: str = "live"


@dataclass
class Process:
    """One scheduler process and all that it believes."""

    claims: Claims
    door: SplitDoor
    host: str
    is_alive: bool = True
    is_paused: bool = False
    held: dict[str, int] = field(default_factory=dict)
    unsure: dict[str, int] = field(default_factory=dict)
    executing: dict[str, int] = field(default_factory=dict)
    finished: dict[Grant, Outcome] = field(default_factory=dict)
    must_reconcile: bool = False
    epoch: int | None = None
    trust: Trust = field(default_factory=lambda: Trust(TIMING.lease_s, TIMING.margin_s))
    observer: Observer = field(default_factory=lambda: Observer(TIMING.observe_s))
    watcher: Observer = field(default_factory=lambda: Observer(TIMING.authority_observe_s))

    @property
    def inc(self) -> str:
        return self.claims.me.inc_id

    @property
    def acts(self) -> bool:
        return self.is_alive and not self.is_paused


class World:
    """Everything there is."""

    def __init__(self, template: Path, folder: Path) -> None:
        self.path = folder / "pysched.db"
        shutil.copy(template, self.path)
        self.db_now = rows.micros(NOON)
        self.boot_clock = dict.fromkeys(HOSTS, 1000.0)
        self.boots = dict.fromkeys(HOSTS, 1)
        self.processes: list[Process] = []
        self.executions: dict[Grant, Execution] = {}
        self.executed: Counter[Grant] = Counter()
        self.lost_before_outcome = 0
        self.numbers = itertools.count(1)
        self.eye = SplitDoor(self.path, self.clock)
        self.made: set[tuple[str, int]] = set()
        self.faults = 0

    def clock(self) -> int:
        return self.db_now

    def look(self, sql: str) -> list[rows.Row]:
        return self.eye._connection.execute(sql).fetchall()

    # ----------------------------------------------------------------------- processes

    def begin(self, host: str) -> Process:
        """Start a process; it registers at once, or is not there."""
        number = next(self.numbers)
        me = Identity(
            inc_id=f"i{number}", host_id=host, boot_id=f"{host}.{self.boots[host]}", pid_ns="n", pid=100 + number,
            start_ticks=number, node=host,
        )  # fmt: skip
        door = SplitDoor(self.path, self.clock)
        process = Process(Claims(door, me, TIMING), door, host)
        sent_at = self.boot_clock[host]
        process.claims.register()
        process.trust.renewed(sent_at)
        self.processes.append(process)
        return process

    def attempt(self, process: Process, fate: Fate, work: Callable[[Claims], T]) -> T | None:
        """Let a process do one thing with its store; None where it fails, and then it trusts nothing it has seen."""
        process.door.fate = fate
        try:
            return work(process.claims)
        except StoreUnavailable:
            self.faults += 1
            process.observer.failed()
            process.watcher.failed()
            return None
        except AuthorityLost:
            process.epoch = None
            return None
        finally:
            process.door.fate = Fate.OK

    def kill(self, process: Process, *, with_it: bool) -> None:
        """End a process; what it executes goes on under its minders, or its minders are killed too."""
        process.is_alive = False
        for run_id, token in process.executing.items():
            if with_it:
                self.executions[run_id, token].state = "gone"
        for grant in process.finished:
            self.executions[grant].state = "noted"

    def reboot(self, host: str) -> None:
        for process in self.processes:
            if process.host == host and process.is_alive:
                self.kill(process, with_it=True)
        for (run_id, token), execution in self.executions.items():
            if execution.state == "live" and self._ran_on(run_id, token) == host:
                execution.state = "gone"
        self.boots[host] += 1
        self.boot_clock[host] = 0.0

    def _ran_on(self, run_id: str, token: int) -> str:
        sql = "SELECT host_id FROM attempts JOIN leases ON name = inc_id WHERE run_id = '{}' AND attempts.token = {}"
        found = self.look(sql.format(run_id, token))
        return str(found[0][0]) if found else ""

    # ----------------------------------------------------------------------- what a process does

    def heartbeat(self, process: Process, fate: Fate) -> None:
        sent_at = self.boot_clock[process.host]
        answered: list[bool] = []

        def beat(claims: Claims) -> Any:
            found = claims.heartbeat()
            answered.append(True)
            return found

        found = self.attempt(process, fate, beat)
        if not answered:
            return
        if found is None:
            self.give_up(process)
            return
        process.trust.renewed(sent_at)
        for run_id in found.cancel_requested:
            if run_id in process.executing:
                self.end(process, run_id, Outcome.KILLED)

    def give_up(self, process: Process) -> None:
        """It is fenced: it ends what it executes, keeps the ends to tell, forgets the rest, and goes."""
        for run_id in list(process.executing):
            self.end(process, run_id, Outcome.KILLED)
        for grant in list(process.finished):
            self.tell(process, grant, Fate.OK, RunState.FAILED)
        self.kill(process, with_it=False)

    def trusted(self, process: Process) -> bool:
        return process.trust.holds(self.boot_clock[process.host])

    def claim(self, process: Process, count: int, fate: Fate) -> None:
        taken = self.attempt(process, fate, lambda claims: claims.claim(count))
        if taken is None:
            process.must_reconcile = True
            return
        process.held |= {claim.run_id: claim.token for claim in taken}

    def start(self, process: Process, fate: Fate) -> None:
        """Start all that it holds; execute what may be."""
        starts = [
            Start(run_id=run_id, token=token, attempt=self._next_attempt(run_id), key=f"{run_id}.{token}")
            for run_id, token in process.held.items()
        ]
        held, process.held = process.held, {}
        may = self.attempt(process, fate, lambda claims: claims.start(starts))
        if may is None:
            process.unsure |= held
            process.must_reconcile = True
            return
        for run_id in may:
            self.execute(process, run_id, held[run_id])

    def _next_attempt(self, run_id: str) -> int:
        return int(self.look(f"SELECT attempt FROM runs WHERE run_id = '{run_id}'")[0][0]) + 1

    def execute(self, process: Process, run_id: str, token: int) -> None:
        self.executed[run_id, token] += 1
        self.executions[run_id, token] = Execution()
        process.executing[run_id] = token

    def end(self, process: Process, run_id: str, outcome: Outcome) -> None:
        token = process.executing.pop(run_id)
        if self.executions[run_id, token].state == "gone":
            outcome = Outcome.LOST
        self.executions[run_id, token].state = "noted"
        process.finished[run_id, token] = outcome

    def tell(self, process: Process, grant: Grant, fate: Fate, to: RunState) -> None:
        outcome = process.finished[grant]
        wanted = RunState.SUCCEEDED if outcome is Outcome.SUCCEEDED else to
        report = Report(run_id=grant[0], token=grant[1], outcome=outcome, to=wanted)
        if self.attempt(process, fate, lambda claims: claims.outcome(report)) is not None:
            del process.finished[grant]

    def hand_back(self, process: Process, fate: Fate) -> None:
        held = [Held(run_id, token) for run_id, token in process.held.items()]
        process.held = {}
        if self.attempt(process, fate, lambda claims: claims.hand_back(held)) is None:
            process.must_reconcile = True

    def reconcile(self, process: Process, fate: Fate, *, go_on: bool) -> None:
        """S8: what the store says is mine, against what I know."""
        found = self.attempt(process, Fate.OK, lambda claims: claims.owned())
        if found is None:
            return
        process.must_reconcile = False
        mine = {each.run_id: each for each in found}
        process.held = {r: t for r, t in process.held.items() if r in mine and mine[r].token == t}
        unsure, process.unsure = process.unsure, {}
        for run_id, each in mine.items():
            held = Held(run_id, each.token)
            if not each.started and run_id not in process.held:
                if self.attempt(process, fate, partial(_give_back, held)) is None:
                    process.must_reconcile = True
            elif each.started and unsure.get(run_id) == each.token:
                self._after_unsure_start(process, held, fate, go_on=go_on)
            elif each.started and self._is_unattended(process, held):
                process.executing[run_id] = each.token
        for run_id, token in list(process.executing.items()):
            if run_id not in mine or mine[run_id].token != token:
                self.end(process, run_id, Outcome.KILLED)

    def _after_unsure_start(self, process: Process, held: Held, fate: Fate, *, go_on: bool) -> None:
        if go_on:
            self.execute(process, held.run_id, held.token)
        elif self.attempt(process, fate, lambda claims: claims.abort_start(held)) is None:
            process.unsure[held.run_id] = held.token
            process.must_reconcile = True

    def _is_unattended(self, process: Process, held: Held) -> bool:
        """Whether it is mine by an adoption of which I never heard."""
        grant = (held.run_id, held.token)
        return (
            grant in self.executions
            and process.executing.get(held.run_id) != held.token
            and grant not in process.finished
        )

    # ----------------------------------------------------------------------- what it makes of others

    def facts(self, node: NodeRow, *, reused: bool) -> ProcessFacts:
        """Return what the kernel says of a pid."""
        other = next(process for process in self.processes if process.inc == node.inc_id)
        if other.is_alive:
            return ProcessFacts(Presence.PRESENT, node.start_ticks, is_zombie=False, threads=3)
        return ProcessFacts(Presence.PRESENT, 99_999, threads=1) if reused else ProcessFacts(Presence.ABSENT)

    def sweep(self, process: Process, fate: Fate, *, reused: bool = False) -> None:
        """Look at everybody once: S7a, S17, S7b."""
        asked_at = self.boot_clock[process.host]
        found = self.attempt(process, Fate.OK, lambda claims: claims.nodes())
        for node in found or ():
            if node.fenced_at is not None or node.inc_id == process.inc:
                continue
            process.observer.saw(node.inc_id, node.hb_seq, asked_at)
            verdict = judge(
                node.identity, node.renewed_at, process.claims.me, self.facts(node, reused=reused), db_now=node.now,
                uptime_s=self.boot_clock[process.host],
            )  # fmt: skip
            proof = prove(node.inc_id, verdict, process.inc)
            seen = process.observer.stood_still(node.inc_id)
            if proof is not None:
                self._inherit(process, node.inc_id, proof, verdict, fate)
            elif seen is not None:
                self._watch_out(process, seen, fate)

    def _watch_out(self, process: Process, seen: Seen, fate: Fate) -> None:
        self.attempt(process, fate, lambda claims: claims.hand_out_unstarted(seen.name, seen))
        window = Proof(inc_id=seen.name, kind=ProofKind.WINDOW, seen=seen, reclaim_after_s=TIMING.reclaim_after_s)
        self.attempt(process, fate, lambda claims: claims.fence(seen.name, window, "silent"))

    def _inherit(self, process: Process, inc_id: str, proof: Proof, verdict: Verdict, fate: Fate) -> None:
        self.attempt(process, fate, lambda claims: claims.hand_out_unstarted(inc_id, proof))
        lost: list[Grant] = []
        for each in self.attempt(process, Fate.OK, lambda claims: claims.owned(inc_id)) or ():
            grant = (each.run_id, each.token)
            execution = self.executions.get(grant)
            if verdict is Verdict.REBOOT or execution is None or execution.state == "gone":
                lost.append(grant)
            elif execution.state == "noted":
                process.finished[grant] = Outcome.SUCCEEDED
                self.tell(process, grant, fate, RunState.FAILED)
            elif self.attempt(process, fate, partial(_adopt, inc_id, grant, proof)):
                process.executing[each.run_id] = each.token
            else:
                process.must_reconcile = True
        last = Fate.OK if fate is Fate.ROLLED_BACK else fate  # else nothing is fenced after a failed adoption
        self.attempt(process, last, lambda claims: claims.fence(inc_id, covering(proof, lost), "gone"))

    # ----------------------------------------------------------------------- authority

    def lead(self, process: Process, fate: Fate) -> None:
        asked_at = self.boot_clock[process.host]
        row = self.attempt(process, Fate.OK, lambda claims: claims.authority())
        if row is None:
            return
        process.watcher.saw(AUTHORITY, row.hb_seq, asked_at, epoch=row.epoch)
        seen = process.watcher.stood_still(AUTHORITY)
        process.epoch = self.attempt(process, fate, lambda claims: claims.take_authority(seen))

    def make(self, process: Process, jobs: int, fate: Fate) -> None:
        """S12: the next minute of some jobs."""
        names = [f"job{number}" for number in range(jobs)]
        marks = self.attempt(process, Fate.OK, lambda claims: claims.marks(names))
        if marks is None or process.epoch is None:
            return
        epoch, occurrences, moves = process.epoch, [], []
        for name in names:
            was = marks.stored.get(name)
            due = (was or NOON) + timedelta(minutes=1)
            occurrences.append(Occurrence(job=name, run_date=DAY, scheduled_at=due))
            moves.append(Watermark(name, was, due))
        self.attempt(process, fate, lambda claims: claims.materialise(epoch, occurrences, moves))


def _give_back(held: Held, claims: Claims) -> set[str]:
    return claims.hand_back([held])


def _adopt(inc_id: str, grant: Grant, proof: Proof, claims: Claims) -> bool:
    return claims.adopt(inc_id, *grant, proof)


def template(folder: Path) -> Path:
    """Make an empty store once; each world begins with a copy of it."""
    Store.open(folder, sync=False).close()
    return StoreFiles(folder).database


__all__ = ["Applied", "Fate", "Process", "World", "template"]
