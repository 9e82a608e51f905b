"""The stores that B tests run on: `world` on both, `two_hosts` on PostgreSQL alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyscheduler.cluster.identity import HOST_VARIABLE
from tests.conformance.cluster.kit import World
from tests.conformance.cluster.places import fresh_database
from tests.servers.fixtures import GetPlace


@pytest.fixture(params=["sqlite", "postgresql"])
def world(
    request: pytest.FixtureRequest, tmp_path: Path, server_place: GetPlace, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    """A world on each kind of store."""
    monkeypatch.setenv(HOST_VARIABLE, "here")
    if request.param == "sqlite":
        yield from _world(tmp_path, None)
    else:
        with fresh_database(server_place("postgres")) as url:
            yield from _world(tmp_path, url)


@pytest.fixture
def two_hosts(tmp_path: Path, server_place: GetPlace, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A world whose store can be shared by several hosts."""
    monkeypatch.setenv(HOST_VARIABLE, "here")
    with fresh_database(server_place("postgres")) as url:
        yield from _world(tmp_path, url)


def _world(folder: Path, store: str | None) -> Iterator[World]:
    world = World(folder, store)
    world.at(0)
    try:
        yield world
    finally:
        world.close()
