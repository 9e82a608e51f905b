"""The store on a server to look at: beside whoever has it open or when nobody has. Nothing is made or upgraded here."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Self, TypeVar

from pyscheduler.errors import StoreError
from pyscheduler.store.files import StoreFiles
from pyscheduler.store.peek import Peek
from pyscheduler.store.postgres import migrate
from pyscheduler.store.postgres.connect import Address, address_of, open_reader
from pyscheduler.store.postgres.readers import PostgresReaders
from pyscheduler.store.postgres.words import NO_BACKUP
from pyscheduler.store.readers import SNAPSHOT_S, Snapshot

T = TypeVar("T")


class PostgresPeek(Peek):
    """All questions of `Reads`, answered by the server. Made by `Peek.open`."""

    def __init__(self, files: StoreFiles, address: Address, readers: PostgresReaders) -> None:
        self._files = files
        self._address = address
        self._answers = readers

    @classmethod
    def opened(cls, files: StoreFiles, url: str) -> Self | None:
        """Return the look, None where the database is empty. Raises StoreError."""
        address, name = address_of(url), f"pysched look {socket.gethostname()} {os.getpid()}"
        with closing(open_reader(address, name=name, statement_s=SNAPSHOT_S)) as connection:
            if not migrate.recognised(connection, address.shown):
                return None
        return cls(files, address, PostgresReaders(address, name=name))

    @property
    def where(self) -> str:
        """The server and database, without a password."""
        return self._address.shown

    def close(self) -> None:
        """Let go of the connections."""
        self._answers.close()

    def check(self) -> None:
        """See that the store is there and ours; its pages are the server's to check (`pg_amcheck`)."""
        self.engine_values()

    def backup(self, target: Path) -> None:
        """Refuse: a server is backed up by its own tools."""
        raise StoreError(
            f"a store on a server is not copied to a file ({target})", where=str(self._address), mend=NO_BACKUP
        )

    def _read(self, work: Callable[[Snapshot], T], /) -> T:
        return self._answers.read(work)
