"""Ground for fleets: a server, a store's tables in it, and a process that is warm."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from pyscheduler.store.postgres import migrate
from pyscheduler.store.postgres.connect import address_of, open_writer
from tests.faults.cluster.fleet import Ground
from tests.faults.cluster.stable import stable
from tests.servers.kinds import Server

T = TypeVar("T")


@contextmanager
def ground_of(server: Server) -> Iterator[Ground]:
    """Give ground on a server that the test may crash."""
    with stable() as herd:
        yield Ground(server, herd, _prepare)


def side_by_side(grounds: Sequence[Ground], things: Iterator[T], do: Callable[[Ground, T], object]) -> None:
    """Do something with each thing, as many at a time as there are grounds; the first error ends all of it."""
    lock, is_over = threading.Lock(), threading.Event()

    def some(ground: Ground) -> None:
        try:
            while not is_over.is_set():
                with lock:
                    found = next(things, None)
                if found is None:
                    return
                do(ground, found)
        except BaseException:
            is_over.set()
            raise

    with ThreadPoolExecutor(len(grounds)) as pool:
        for done in [pool.submit(some, ground) for ground in grounds]:
            done.result()


def _prepare(url: str) -> None:
    """Make the tables as the first scheduler would, so that the memory can be added before there is one."""
    address = address_of(url)
    with open_writer(address, name="faults") as on:
        migrate.prepare(on, address.shown, may_make=True)
