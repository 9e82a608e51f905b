"""What must be true after all the killing: ledger, history, logs and notes tell one story. DESIGN 1, P1 to P4.

Every attempt is put under one heading. `lost` has two rightful ones, counted apart: both guardians were killed while
the attempt ran, or nothing was ever started and the ledger is empty.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

from pyscheduler.engine.minding import sight
from pyscheduler.minder import notes
from pyscheduler.model.run import Attempt, Outcome, Run, RunState, Trigger
from pyscheduler.store import RunQuery, Store
from tests.faults.crashing.jobs import BELL_S, DELAY_S, HALF, RETRIES, Page, code_of, output_of, read_page
from tests.faults.crashing.world import Book

TICK_S = 0.02
"""/proc/uptime counts hundredths of a second."""
SLEW = timedelta(milliseconds=50)
"""By how much the wall clock that rows are stamped with may be slewed while a wait is measured by the monotonic one."""


class Judge:
    """Judges one world whose scheduler has stopped."""

    def __init__(self, home: Path, book: Book, deaths: set[notes.Proc]) -> None:
        self._home, self._book, self._deaths = home, book, deaths
        self.outcomes: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        store = Store.open(home / "state", sync=False)
        self.runs = all_runs(store)
        self.attempts = store.attempts_of(self.runs)
        store.close()

    def judge(self) -> None:
        """Hold everything against everything. AssertionError names the first thing that does not fit."""
        assert self._book.acknowledged <= self.runs.keys(), "an acknowledged run is gone"
        keys = [key for page in (self._home / "ledger").iterdir() for key in self._page(page.name).keys]
        assert len(keys) == len(set(keys)), "an attempt ran twice"
        for run in self.runs.values():
            attempts = self.attempts.get(run.run_id, [])
            for attempt in attempts:
                self._judge_attempt(run, attempt)
            self._judge_run(run, attempts)
        known = {f"{run_id}.{one.attempt}" for run_id, each in self.attempts.items() for one in each}
        ran = {page.name for page in (self._home / "ledger").iterdir()}
        assert ran <= known, f"jobs ran of which the store knows nothing: {ran - known}"
        self._judge_bell()

    def _page(self, name: str) -> Page:
        page = read_page(self._home / "ledger" / name)
        assert page is not None
        return page

    # ----------------------------------------------------------------- attempts

    def _judge_attempt(self, run: Run, attempt: Attempt) -> None:
        name = f"{run.run_id}.{attempt.attempt}"
        page = read_page(self._home / "ledger" / name)
        told = f"{name}: {attempt}, ledger {page}"
        assert attempt.outcome is not None, f"it has no end: {told}"
        if page is not None:
            assert page.keys == (attempt.key,), told
            self._judge_output(run, attempt, page)
        match attempt.outcome:
            case Outcome.START_ERROR:
                assert page is None, f"not started, but it ran: {told}"
                self._count("not started", f"start error: {attempt.reason.removeprefix('start error: ')}")
            case Outcome.LOST if attempt.note == sight.NEVER:
                assert page is None, f"never started, but it ran: {told}"
                self._count("not started", f"lost: {attempt.note}")
            case Outcome.LOST:
                self._judge_loss(attempt, told)
                self._count("lost with both guardians", attempt.note)
            case Outcome.KILLED | Outcome.TIMEOUT:
                self._judge_order(run, attempt, page, told)
                self._count(attempt.outcome.value, attempt.note)
            case _:
                assert page is not None, f"it has an exit code and never ran: {told}"
                wanted = code_of(run.job, run.seq, attempt.attempt)
                assert (attempt.exit_code, attempt.signal, page.code) == (wanted, None, wanted), told
                assert (attempt.outcome is Outcome.SUCCEEDED) == (wanted == 0), told
                self._count("true", "")

    def _count(self, heading: str, why: str) -> None:
        self.outcomes[heading] += 1
        if heading in ("not started", "lost with both guardians"):
            self.lost[why] += 1

    def _judge_loss(self, attempt: Attempt, told: str) -> None:
        """A started attempt may be lost only where its own minder and its own nursery were killed."""
        identity = self._identity(attempt)
        assert identity is not None, f"lost without an identity: {told}"
        assert identity.nursery is not None
        missing = {identity.minder, identity.nursery} - self._deaths
        assert not missing, f"lost while {missing} was never killed: {told}"

    def _identity(self, attempt: Attempt) -> notes.Identity | None:
        name = notes.identity_path(Path(attempt.status_path).name)
        path = self._home / "archive" / name
        return notes.parse_identity(path.read_bytes(), attempt.key) if path.exists() else None

    def _judge_order(self, run: Run, attempt: Attempt, page: Page | None, told: str) -> None:
        """Ended by order: the job said 0 to TERM, or was lost on the way, or had come to its own end already."""
        if attempt.outcome is Outcome.TIMEOUT:
            assert run.job == "late", told
        else:
            assert run.job == "doomed", told
            assert attempt.kill_by is not None, told
        if attempt.exit_code is not None:
            assert page is not None, told
            chosen = 0 if page.code is None else page.code
            assert attempt.exit_code == chosen, told

    def _judge_output(self, run: Run, attempt: Attempt, page: Page) -> None:
        """No byte is missing, none is changed.

        With `max_log` the output passes a pipe; what was in it when its last reader was killed, nobody can have.
        """
        text = Path(attempt.stdout_path).read_text()
        whole = output_of(run.run_id, attempt.attempt)
        nobody_read = run.job == "noisy" and attempt.outcome is Outcome.LOST
        if page.code is not None and not nobody_read:
            assert text == whole, f"{run.run_id}.{attempt.attempt}: output is missing"
        else:
            assert whole.startswith(text), f"{run.run_id}.{attempt.attempt}: output is damaged"
            if attempt.outcome in (Outcome.KILLED, Outcome.TIMEOUT) and attempt.exit_code is not None:
                assert text == output_of(run.run_id, attempt.attempt, HALF), f"{run.run_id}: output is missing"

    # ----------------------------------------------------------------- runs

    def _judge_run(self, run: Run, attempts: list[Attempt]) -> None:
        told = f"{run}, {attempts}"
        assert run.is_final, told
        assert [one.attempt for one in attempts] == list(range(1, run.attempt + 1)), told
        if run.run_id in self._book.ordered_dead:
            assert attempts[-1].outcome is Outcome.KILLED, f"an acknowledged kill is forgotten: {told}"
        if not attempts:
            return
        assert (run.state is RunState.SUCCEEDED) == (attempts[-1].outcome is Outcome.SUCCEEDED), told
        tries = 1 + RETRIES.get(run.job, 0)
        assert run.attempt <= tries, f"tried too often: {told}"
        final = attempts[-1].outcome in (Outcome.SUCCEEDED, Outcome.KILLED)
        assert final or run.attempt == tries, f"given up too early: {told}"
        for before, after in pairwise(attempts):
            assert before.outcome not in (Outcome.SUCCEEDED, Outcome.KILLED), told
            assert before.ended_at is not None
            waited = after.started_at - before.ended_at
            assert waited >= timedelta(seconds=DELAY_S) - SLEW, f"tried again too soon: {told}"
            self._judge_neighbours(run, before, after)

    def _judge_neighbours(self, run: Run, before: Attempt, after: Attempt) -> None:
        """A lost attempt never runs beside its own retry."""
        pages = [read_page(self._home / "ledger" / f"{run.run_id}.{one.attempt}") for one in (before, after)]
        first, second = pages
        if first is not None and second is not None and first.ended_at is not None:
            assert first.ended_at <= second.started_at + TICK_S, f"{run.run_id}: two attempts at once"

    def _judge_bell(self) -> None:
        """Every firing from the first to the last has its one run, whoever was dead at that moment."""
        instants = sorted(run.scheduled_at for run in self.runs.values() if run.job == "bell")
        assert instants, "the bell never rang"
        gaps = [(a, b) for a, b in pairwise(instants) if b - a != timedelta(seconds=BELL_S)]
        assert not gaps, f"firings missed or doubled: {gaps}"
        assert self._book.silent_at is not None
        late = self._book.silent_at - instants[-1]
        assert late < timedelta(seconds=BELL_S + 1), f"the last firings are missing: {late}"
        triggers = {run.trigger for run in self.runs.values() if run.job == "bell"}
        assert triggers <= {Trigger.SCHEDULE, Trigger.CATCH_UP}


def all_runs(store: Store) -> dict[str, Run]:
    """Return every run of the store by its id."""
    found: dict[str, Run] = {}
    cursor = None
    while True:
        page = store.runs(RunQuery(limit=1000, cursor=cursor))
        found |= {run.run_id: run for run in page.items}
        cursor = page.next_cursor
        if cursor is None:
            return found
