"""Store, the one door: what has been saved here is still here after any crash.

What must always hold, whatever the database (`sqlite_store.py`, `postgres/store.py`):

- one process decides by the store, and within it one connection writes, one transaction at a time;
- `apply` returns only when the whole batch is durable, and raises only when it is not, or, with `outcome_unknown`, when
  nobody can know before the store is opened again;
- a store that is missing, empty, damaged or somebody else's is never taken for a new one, and never written to: an
  empty history would make every missed firing look new (field case FC-056).

Spec: jobs.md 8, DESIGN 3 and 7. The questions are in `reads.py`.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TypeVar

from pyscheduler.model.batch import Batch
from pyscheduler.store import backup, generation, write
from pyscheduler.store.faults import on_server, translated
from pyscheduler.store.files import StoreFiles
from pyscheduler.store.generation import GenerationState
from pyscheduler.store.questions import StoreFacts
from pyscheduler.store.reads import Reads
from pyscheduler.store.sharing import Sharing
from pyscheduler.store.transaction import Transaction
from pyscheduler.store.write import Step

T = TypeVar("T")


class Store(Reads):
    """All that the scheduler remembers. Made by `Store.open`."""

    dialect: str
    """`sqlite` or `postgresql`: the database it lies in (`dialects.py`)."""

    def __init__(self, files: StoreFiles) -> None:
        self._files = files
        self.sharing: Sharing | None = None
        """Set by the authority of a shared store: what each of its writes must respect (`sharing.py`)."""
        self._writing = threading.RLock()

    @staticmethod
    def open(
        state_dir: Path,
        *,
        url: str | None = None,
        sync: bool = True,
        wait_s: float = 0.0,
        also: tuple[Path, ...] = (),
        shared: bool = False,
    ) -> Store:
        """Open the store of a state directory, making it on the first start and upgrading an older one.

        `url` names a PostgreSQL database that holds it instead of a file. `sync=False` survives a crash of this process
        but not of the machine: for tests. `wait_s` is how long another holder is waited for. `also` are further locks'
        files that must stay what they are while it is open. `shared` says that several schedulers agree by their claims
        who decides: of PostgreSQL only. Raises StoreLocked, StoreDamaged, StoreForeign, StoreUnavailable, StoreError.
        """
        files = StoreFiles(Path(state_dir))
        if url is not None:
            with on_server():
                from pyscheduler.store.postgres.store import PostgresStore
            return PostgresStore.opened(files, url, sync=sync, wait_s=wait_s, also=also, shared=shared)
        from pyscheduler.store.sqlite_store import SqliteStore

        return SqliteStore.opened(files, sync=sync, wait_s=wait_s, also=also)

    @property
    def state_dir(self) -> Path:
        """The folder that holds it, or what its own minders leave."""
        return self._files.state_dir

    @property
    @abstractmethod
    def where(self) -> str:
        """What errors and people call it."""

    @abstractmethod
    def close(self) -> None:
        """Close everything and let go. Harmless when closed."""

    # ----------------------------------------------------------------------- writing

    @abstractmethod
    def write(self, work: Callable[[Transaction], T]) -> T:
        """Do the work in one transaction that is durable on return. Raises StoreError, and what `work` raises.

        The work may be done twice, each time in a new transaction, where another one was in the way.
        """

    def alone(self, work: Callable[[Transaction], T]) -> T:
        """Do work that is one statement."""
        return self.write(work)

    def apply(self, batch: Batch) -> None:
        """Save the batch whole; it is durable when this returns. Raises StoreError, NaiveTime."""
        steps = write.steps_of(batch)
        try:
            self.write(lambda transaction: self._perform(transaction, steps, batch))
        except UnicodeEncodeError:
            self.write(lambda transaction: self._perform(transaction, write.cleaned(transaction, steps), batch))

    def _perform(self, transaction: Transaction, steps: Sequence[Step], batch: Batch) -> None:
        if self.sharing is None:
            write.perform(transaction, steps, batch)
            return
        self.sharing.before(transaction, batch)
        write.perform(transaction, steps, batch)
        self.sharing.after(transaction, batch)

    def take_back(self, run_ids: Collection[str] | None) -> set[str]:
        """End offers that no node has claimed, None for all; returns their runs. Of a shared store only."""
        sharing = self.sharing
        assert sharing is not None, "a store of one scheduler has no offers"
        return self.write(lambda transaction: sharing.take_back(transaction, run_ids))

    def raise_generation(self) -> GenerationState:
        """Begin a new generation: once for each start of an engine, before anything is decided. Raises StoreError."""
        values = self.engine_values()
        with self._writing:
            try:
                found = generation.compare(values, generation.read_file(self._files), place=self._place())
                self.apply(Batch(engine=found.engine_values()))
                generation.write_file(self._files, found.next)
            except OSError as error:
                raise translated(error, self._files.generation) from error
        return found

    @abstractmethod
    def tidy(self) -> None:
        """For quiet moments: see that the store is still ours. Raises StoreError."""

    def _place(self) -> str:
        """Return what tells this database from a copy of it that was put in another place; empty where files tell."""
        return ""

    # ----------------------------------------------------------------------- copies and facts

    @abstractmethod
    def backup(self, target: Path) -> None:
        """Write a consistent copy while the store works, checked whole and durable. Raises StoreError.

        An earlier backup of that name is replaced at the very end; any other file is left alone.
        """

    @staticmethod
    def check(file: Path) -> None:
        """Read all of a backup (or of a closed store's database). Raises StoreError where it is not whole."""
        backup.check(Path(file))

    @staticmethod
    def restore(file: Path, state_dir: Path) -> Path | None:
        """Put a backup in place of a store that no process has open; returns where the old database went.

        The next start finds the store older than its folder and holds catch-up. Raises StoreLocked, StoreError.
        """
        return backup.restore(Path(file), Path(state_dir))

    @abstractmethod
    def facts(self) -> StoreFacts:
        """Return what `pysched doctor` says about this store. Raises StoreUnavailable where it is out of reach."""
