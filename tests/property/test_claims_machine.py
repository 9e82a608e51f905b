"""The claims on real SQL, in any order, with any fate of any transaction: claims.md C13.

Two processes at least, on two hosts, each with its own connection, its own memory and its own boot clock; the
database's clock jumps both ways. What may happen is only bounded by what a process could do by itself: one that is
paused does nothing. After every step the rows are held to C11; at the end a fresh process on each host brings
everything to its end (G6).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pyscheduler.model.lease import Proof, ProofKind
from pyscheduler.model.run import Outcome, RunState
from pyscheduler.store.driver import sqlite
from tests.property.claims_mutants import MUTANTS
from tests.property.claims_world import HOSTS, TIMING, Fate, Process, World, template

FATES = st.sampled_from([Fate.OK, Fate.OK, Fate.OK, Fate.LOST, Fate.ROLLED_BACK])
WHICH = st.integers(0, 99)
BUDGET = 200
"""So many histories until a mistake must have been found; it takes some ten to fifty."""
FINAL = ("succeeded", "failed", "skipped", "cancelled")


class Meeting(RuleBasedStateMachine):
    """See above."""

    folder: ClassVar[Path]
    empty: ClassVar[Path]

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(dir=self.folder))
        self.world = World(self.empty, self.place)
        self.tokens: dict[str, int] = {}
        self.ends: dict[str, str] = {}
        self.epoch = 0
        self.marks: dict[str, int] = {}
        self.made: set[tuple[str, int]] = set()
        self.pruned: set[tuple[str, int]] = set()

    # ----------------------------------------------------------------------- who acts

    def one(self, which: int) -> Process:
        """Return one of those that can act; where there is none, one comes."""
        able = [process for process in self.world.processes if process.acts]
        return able[which % len(able)] if able else self.world.begin(HOSTS[which % 2])

    @initialize()
    def two_schedulers(self) -> None:
        for host in HOSTS:
            self.world.begin(host)
        self.world.lead(self.world.processes[0], Fate.OK)
        self.world.make(self.world.processes[0], 2, Fate.OK)

    @rule(which=WHICH, fate=FATES, ends=st.booleans())
    def one_round(self, which: int, fate: Fate, ends: bool) -> None:
        """What a process does all day: beat, ask again where an answer was lost, claim, start, and perhaps end."""
        process = self.one(which)
        self.world.heartbeat(process, Fate.OK)
        if process.acts and process.must_reconcile:
            self.world.reconcile(process, Fate.OK, go_on=True)
        if process.acts and not process.must_reconcile and self.world.trusted(process):
            self.world.claim(process, 2, Fate.OK)
            if process.held:
                self.world.start(process, fate)
        for run_id in list(process.executing) if ends else ():
            self.world.end(process, run_id, Outcome.SUCCEEDED)

    @rule(which=WHICH, times=st.integers(1, 4), fate=FATES)
    def watch(self, which: int, times: int, fate: Fate) -> None:
        """One process looks at the others several times, a while apart, leads if it may, and makes runs."""
        process = self.one(which)
        for _ in range(times):
            self.time_goes_by(3.5)
            if process.acts:
                self.world.heartbeat(process, Fate.OK)
            if process.acts:
                self.world.sweep(process, fate)
                self.world.lead(process, fate)
            if process.acts and process.epoch is not None:
                self.world.make(process, 2, fate)

    @rule(
        which=WHICH,
        fate=FATES,
        what=st.sampled_from(["heartbeat", "claim", "start", "hand back", "reconcile", "sweep"]),
    )
    def a_step(self, which: int, fate: Fate, what: str) -> None:
        """One transaction, with its fate; where an answer was lost, nothing is begun before it has asked again."""
        process, world = self.one(which), self.world
        if what == "heartbeat":
            world.heartbeat(process, fate)
        elif what == "claim" and world.trusted(process) and not process.must_reconcile:
            world.claim(process, 1 + which % 2, fate)
        elif what == "start" and world.trusted(process) and process.held:
            world.start(process, fate)
        elif what == "hand back" and process.held:
            world.hand_back(process, fate)
        elif what == "reconcile":
            world.reconcile(process, fate, go_on=bool(which % 2))
        elif what == "sweep":
            world.sweep(process, fate, reused=bool(which % 2))

    @rule(which=WHICH, what=WHICH, outcome=st.sampled_from([Outcome.SUCCEEDED, Outcome.FAILED]))
    def an_execution_ends(self, which: int, what: int, outcome: Outcome) -> None:
        busy = [process for process in self.world.processes if process.acts and process.executing]
        if busy:
            process = busy[which % len(busy)]
            self.world.end(process, sorted(process.executing)[what % len(process.executing)], outcome)

    @rule(which=WHICH, what=WHICH, fate=FATES, to=st.sampled_from([RunState.FAILED, RunState.RETRY_WAIT]))
    def an_end_is_told(self, which: int, what: int, fate: Fate, to: RunState) -> None:
        full = [process for process in self.world.processes if process.acts and process.finished]
        if full:
            process = full[which % len(full)]
            self.world.tell(process, sorted(process.finished)[what % len(process.finished)], fate, to)

    @rule(which=WHICH, fate=FATES, what=st.sampled_from(["lead", "renew", "resign", "admit", "admit", "make", "make"]))
    def an_authority_acts(self, which: int, fate: Fate, what: str) -> None:
        leaders = [process for process in self.world.processes if process.acts and process.epoch is not None]
        process = leaders[which % len(leaders)] if leaders else self.one(which)
        epoch = process.epoch
        if what == "lead" or epoch is None:
            self.world.lead(process, fate)
        elif what == "make":
            self.world.make(process, 2, fate)
        elif what == "admit":
            self.world.attempt(process, fate, lambda claims: claims.admit(epoch))
        elif what == "renew":
            if self.world.attempt(process, fate, lambda claims: claims.renew_authority(epoch)) is False:
                process.epoch = None
        else:
            process.epoch = None
            self.world.attempt(process, fate, lambda claims: claims.resign(epoch))

    # ----------------------------------------------------------------------- people

    @rule(which=WHICH, what=WHICH, fate=FATES, deed=st.sampled_from(["cancel", "cancel", "fence", "stop", "prune"]))
    def a_person_acts(self, which: int, what: int, fate: Fate, deed: str) -> None:
        process, known = self.one(which), sorted(self.tokens)
        if deed == "cancel" and known:
            self.world.attempt(process, fate, lambda claims: claims.cancel(known[what % len(known)]))
        elif deed == "fence" and len(self.world.processes) > 2:
            other = self.world.processes[what % len(self.world.processes)].inc
            proof = Proof(inc_id=other, kind=ProofKind.HAND, by="ada")
            self.world.attempt(process, fate, lambda claims: claims.fence(other, proof, "by hand"))
        elif deed == "stop":
            self._stop_politely(process)
        elif deed == "prune":
            self._prune()

    @rule(
        which=WHICH,
        by=st.sampled_from(["hand", "window", "handing out"]),
        first=st.sampled_from(["claim", "start", "tell"]),
    )
    def somebody_is_robbed_and_does_not_know(self, which: int, by: str, first: str) -> None:
        """One is fenced, or its claims are handed out again, while it sleeps; another takes over; then it wakes up."""
        world = self.world
        busy = [process for process in world.processes if process.acts and (process.held or process.executing)]
        victim = busy[which % len(busy)] if busy else self.one(which)
        victim.is_paused = True
        heir = self.one(which + 1)
        if by == "hand":
            proof = Proof(inc_id=victim.inc, kind=ProofKind.HAND, by="ada")
            world.attempt(heir, Fate.OK, lambda claims: claims.fence(victim.inc, proof, "by hand"))
        else:
            self.time_goes_by(11.0 if by == "handing out" else 70.0)
            for _ in range(3):
                self.time_goes_by(1.6)
                world.heartbeat(heir, Fate.OK)
                if heir.acts:
                    world.sweep(heir, Fate.OK)
        if heir.acts:
            self.one_round(self._number(heir), Fate.OK, ends=bool(which % 2))
        victim.is_paused = False
        if by == "hand" and world.trusted(victim):
            self._acts_on(victim, first)

    def _number(self, process: Process) -> int:
        return [other for other in self.world.processes if other.acts].index(process)

    def _acts_on(self, victim: Process, first: str) -> None:
        """Do what it would have done next, before any heartbeat."""
        if first == "claim" and not victim.must_reconcile:
            self.world.claim(victim, 3, Fate.OK)
        if victim.held:
            self.world.start(victim, Fate.OK)
        if first == "tell":
            for run_id in list(victim.executing):
                self.world.end(victim, run_id, Outcome.FAILED)
            for grant in list(victim.finished):
                self.world.tell(victim, grant, Fate.OK, RunState.FAILED)

    def _stop_politely(self, process: Process) -> None:
        """Hand back, wait for the ends, tell them, leave; where something fails, it stays."""
        if process.must_reconcile or process.unsure:
            return
        if process.held:
            self.world.hand_back(process, Fate.OK)
        for run_id in list(process.executing):
            self.world.end(process, run_id, Outcome.SUCCEEDED)
        for grant in list(process.finished):
            self.world.tell(process, grant, Fate.OK, RunState.FAILED)
        if process.epoch is not None:
            epoch, process.epoch = process.epoch, None
            self.world.attempt(process, Fate.OK, lambda claims: claims.resign(epoch))
        if self.world.attempt(process, Fate.OK, lambda claims: claims.unregister()):
            process.is_alive = False

    def _prune(self) -> None:
        """Ended runs are removed, as retention does; no firing of theirs comes again."""
        gone = self.world.look("SELECT run_id, job, scheduled_at FROM runs WHERE state IN ('succeeded', 'cancelled')")
        for run_id, job, due in gone:
            self.pruned.add((job, due))
            for table in ("attempts", "events", "runs"):
                self.world.look(f"DELETE FROM {table} WHERE run_id = '{run_id}'")
            del self.tokens[run_id], self.ends[run_id]

    # ----------------------------------------------------------------------- time and faults

    @rule(seconds=st.sampled_from([0.2, 1.0, 3.5, 6.0, 11.0, 70.0]))
    def time_goes_by(self, seconds: float) -> None:
        self.world.db_now += round(seconds * 1e6)
        for host in HOSTS:
            self.world.boot_clock[host] += seconds

    @rule(host=st.sampled_from(HOSTS), seconds=st.sampled_from([-30.0, -1.0, 1.0, 12.0, 70.0]), whose=WHICH)
    def one_clock_jumps(self, host: str, seconds: float, whose: int) -> None:
        """The database's, both ways; a boot clock only runs ahead of the others."""
        if whose % 2:
            self.world.boot_clock[host] += abs(seconds)
        else:
            self.world.faults += 1
            self.world.db_now += round(seconds * 1e6)

    @rule(
        which=WHICH,
        what=st.sampled_from(["pause", "go on", "kill", "kill with it", "reboot", "cut", "heal", "orphan", "begin"]),
    )
    def a_fault(self, which: int, what: str) -> None:
        world, process = self.world, self.one(which)
        if what in ("pause", "cut", "kill", "kill with it", "reboot"):
            world.faults += 1
        if what == "pause":
            process.is_paused = True
        elif what == "go on":
            for other in world.processes:
                other.is_paused = False
        elif what.startswith("kill"):
            world.kill(process, with_it=what == "kill with it")
        elif what == "reboot":
            world.reboot(HOSTS[which % 2])
        elif what == "cut":
            process.door.is_cut_off = True
        elif what == "heal":
            for other in world.processes:
                other.door.is_cut_off = False
        elif what == "orphan":
            self._an_orphan_ends(which)
        elif len(world.processes) < 8:
            world.begin(HOSTS[which % 2])

    def _an_orphan_ends(self, which: int) -> None:
        watched = {(r, t) for p in self.world.processes if p.is_alive for r, t in p.executing.items()}
        alone = [g for g, e in self.world.executions.items() if e.state == "live" and g not in watched]
        if alone:
            self.world.executions[alone[which % len(alone)]].state = "noted"

    # ----------------------------------------------------------------------- what must hold: C11

    @invariant()
    def rows_hold_together(self) -> None:
        fenced = {name for (name,) in self.world.look("SELECT name FROM leases WHERE fenced_at IS NOT NULL")}
        for run_id, job, due, state, token, owner in self.world.look(
            "SELECT run_id, job, scheduled_at, state, token, owner_inc FROM runs"
        ):
            assert (job, due) not in self.pruned, "I16: what was removed was made again"
            assert token >= self.tokens.get(run_id, 0), "I2: a token has become smaller"
            assert (owner is not None) == (token % 2 == 1), "I2: odd if and only if owned"
            assert owner is None or state in ("queued", "running"), "I3"
            assert owner not in fenced, "I4"
            assert self.ends.get(run_id, state) == state, "I9: an end has changed"
            self.tokens[run_id] = token
            if state in FINAL:
                self.ends[run_id] = state
        twice = "SELECT 1 FROM runs GROUP BY job, scheduled_at HAVING count(*) > 1"
        assert self.world.look(twice) == [], "I1"

    @invariant()
    def attempts_hold_together(self) -> None:
        twice = "SELECT 1 FROM attempts GROUP BY run_id, token HAVING count(*) > 1"
        assert self.world.look(twice) == [], "I5"
        unproved = """SELECT run_id FROM runs WHERE state = 'succeeded' AND NOT EXISTS (SELECT 1 FROM attempts
            WHERE attempts.run_id = runs.run_id AND attempts.token = runs.token - 1 AND reported_at IS NOT NULL
            AND ended_at IS NOT NULL AND outcome = 'succeeded')"""
        assert self.world.look(unproved) == [], "I6"
        both_or_none = """SELECT attempts.run_id, attempts.token FROM attempts WHERE reported_at IS NOT NULL AND
            (revoked_at IS NOT NULL) <> ((SELECT count(*) FROM events WHERE events.run_id = attempts.run_id
            AND action = 'superseded' AND detail LIKE '%"token":' || attempts.token || ',%') = 1)"""
        assert self.world.look(both_or_none) == [], "I10"
        ownerless = """SELECT run_id FROM runs WHERE state = 'running' AND NOT EXISTS (SELECT 1 FROM attempts
            WHERE attempts.run_id = runs.run_id AND attempts.token = runs.token AND inc_id = owner_inc)"""
        assert self.world.look(ownerless) == [], "I5: the attempt's owner is the run's"

    @invariant()
    def nothing_is_executed_more_often_than_may_be(self) -> None:
        assert all(count == 1 for count in self.world.executed.values()), "I7"
        per_run: dict[str, int] = {}
        for run_id, _ in self.world.executed:
            per_run[run_id] = per_run.get(run_id, 0) + 1
        for run_id, lost, tries in self.world.look("""
            SELECT run_id, lost_count, (SELECT count(*) FROM attempts WHERE attempts.run_id = runs.run_id
            AND reported_at IS NOT NULL AND revoked_at IS NULL) FROM runs"""):
            going = self.world.look(f"SELECT 1 FROM runs WHERE run_id = '{run_id}' AND state = 'running'")
            assert per_run.get(run_id, 0) <= lost + tries + len(going), "I8"

    @invariant()
    def proof_is_proof(self) -> None:
        """What was revoked because it was gone does not run; what is only handed out again was never started."""
        for run_id, token, why in self.world.look("SELECT run_id, token, revoke_reason FROM attempts"):
            execution = self.world.executions.get((run_id, token))
            assert why != "gone" or execution is None or execution.state != "live", "B21"
            assert why in (None, "gone", "silent", "by hand"), "S7a takes no started attempt"

    @invariant()
    def authority_and_watermarks_only_go_on(self) -> None:
        for (epoch,) in self.world.look("SELECT epoch FROM leases WHERE name = 'authority'"):
            assert epoch >= self.epoch, "I11"
            self.epoch = epoch
        for key, value in self.world.look("SELECT key, value FROM engine WHERE key LIKE 'watermark.%'"):
            assert int(value) >= self.marks.get(key, 0), "I16"
            self.marks[key] = int(value)

    # ----------------------------------------------------------------------- the end

    def teardown(self) -> None:
        """All faults are over: one fresh process on each host brings every run to its end (G6)."""
        try:
            if self.world.processes:
                self._come_to_rest()
        finally:
            shutil.rmtree(self.place)

    def _come_to_rest(self) -> None:
        for process in self.world.processes:
            process.door.is_cut_off = False
            if process.is_alive:
                self.world.kill(process, with_it=False)
        for execution in self.world.executions.values():
            if execution.state == "live":
                execution.state = "noted"
        heirs = [self.world.begin(host) for host in HOSTS]
        for _ in range(20):
            for heir in heirs:
                self._one_round(heir)
            self.time_goes_by(3.5)
            left = self.world.look(f"SELECT run_id, state, token, owner_inc FROM runs WHERE state NOT IN {FINAL}")
            if not left:
                break
            if not any(run[3] in {heir.inc for heir in heirs} for run in left):
                self.time_goes_by(TIMING.reclaim_after_s / 4)
        self.rows_hold_together()
        assert left == [], "G6"
        self.nothing_is_executed_more_often_than_may_be()

    def _one_round(self, heir: Process) -> None:
        world, fine = self.world, Fate.OK
        world.heartbeat(heir, fine)
        world.sweep(heir, fine)
        world.reconcile(heir, fine, go_on=True)
        world.lead(heir, fine)
        if heir.epoch is not None:
            epoch = heir.epoch
            world.attempt(heir, fine, lambda claims: claims.admit(epoch))
        world.claim(heir, 99, fine)
        world.start(heir, fine)
        for run_id in list(heir.executing):
            world.end(heir, run_id, Outcome.SUCCEEDED)
        for grant in list(heir.finished):
            world.tell(heir, grant, fine, RunState.FAILED)


def test_any_history_keeps_the_promises(tmp_path: Path) -> None:
    """C11 after every step, G6 at the end."""
    run_machine(tmp_path, Meeting, max_examples=50)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_mistake_is_found(
    mutant: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine is worth what it finds, within a fixed number of histories."""
    mutant(monkeypatch)
    hunt = {"max_examples": BUDGET, "phases": (Phase.generate,), "database": None, "derandomize": False}
    with pytest.raises((AssertionError, sqlite().IntegrityError)):
        run_machine(tmp_path, seed(1)(type("Hunt", (Meeting,), {})), **hunt)


def run_machine(folder: Path, machine: type[Meeting], **how: Any) -> None:
    """Search histories of a machine in a folder."""
    from hypothesis.stateful import run_state_machine_as_test

    (folder / "template").mkdir()
    machine.folder, machine.empty = folder, template(folder / "template")
    run_state_machine_as_test(machine, settings=settings(stateful_step_count=30, **how))
