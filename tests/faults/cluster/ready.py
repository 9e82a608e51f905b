"""Ground for fleets: a server, a store's tables in it, and a process that is warm."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyscheduler.store.postgres import migrate
from pyscheduler.store.postgres.connect import address_of, open_writer
from tests.faults.cluster.fleet import Ground
from tests.faults.cluster.stable import stable
from tests.servers.kinds import Server


@contextmanager
def ground_of(server: Server) -> Iterator[Ground]:
    """Give ground on a server that the test may crash."""
    with stable() as herd:
        yield Ground(server, herd, _prepare)


def _prepare(url: str) -> None:
    """Make the tables as the first scheduler would, so that the memory can be added before there is one."""
    address = address_of(url)
    with open_writer(address, name="faults") as on:
        migrate.prepare(on, address.shown, may_make=True)
