"""Ground for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.faults.cluster.fleet import Ground
from tests.faults.cluster.ready import ground_of
from tests.servers.fixtures import GetServer

SIDE_BY_SIDE = 2
"""Seeds at a time: most of one is waiting."""


@pytest.fixture
def grounds(own_server: GetServer) -> Iterator[list[Ground]]:
    """A server for each seed at a time: one seed's restart is not another's."""
    with ExitStack() as stack:
        yield [stack.enter_context(ground_of(own_server("postgres"))) for _ in range(SIDE_BY_SIDE)]
