"""Fixtures of real servers: one a test run and kind, shared by all workers; and, for tests that kill, one of their own.

A server that cannot be had here skips the test and says what to install. In CI (`CI` or `PYSCHED_CI` set) it fails.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.servers.kinds import KINDS, Place, Server, discard, fresh
from tests.servers.sharing import shared

GetPlace = Callable[[str], Place]
GetServer = Callable[[str], Server]


def must_have(kind: str) -> None:
    """Go on only where a server of this kind can be started."""
    lacking = KINDS[kind].missing()
    if lacking is None:
        return
    words = f"{kind}: {lacking} is not installed"
    if os.environ.get("CI") or os.environ.get("PYSCHED_CI"):
        pytest.fail(words)
    pytest.skip(words)


@pytest.fixture(scope="session")
def server_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GetPlace]:
    """Give the run's server of a kind (`postgres`, `mysql`, `mongodb`), started when it is first asked for."""
    base = tmp_path_factory.getbasetemp()
    meeting = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "servers"
    places: dict[str, Place] = {}
    with ExitStack() as users:

        def get(kind: str) -> Place:
            must_have(kind)
            if kind not in places:
                places[kind] = users.enter_context(shared(kind, meeting))
            return places[kind]

        yield get


@pytest.fixture
def own_server() -> Iterator[GetServer]:
    """Give a durable server of the test's own, which it may kill and start again."""
    started: list[Server] = []

    def get(kind: str) -> Server:
        must_have(kind)
        started.append(fresh(kind, durable=True))
        return started[-1]

    yield get
    for server in started:
        discard(server)
