"""The stores of the contract, empty and closed again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pypepper.scheduler.store import IJobStore, reset_job_store
from tests.contract.pypepper.store_kit import ALL, OpenStore, opened, settings_for
from tests.servers.fixtures import GetPlace


@pytest.fixture
def open_store(server_place: GetPlace, tmp_path: Path) -> Iterator[OpenStore]:
    """Open stores, the first of a kind on an empty place."""
    stores: dict[str, list[IJobStore]] = {}

    def open_one(kind: str) -> IJobStore:
        store = opened(kind, settings_for(kind, server_place, tmp_path))
        if kind not in stores:
            store.clear()
        stores.setdefault(kind, []).append(store)
        return store

    yield open_one
    for store in [store for several in stores.values() for store in several]:
        store.close()


@pytest.fixture(params=ALL)
def store(request: pytest.FixtureRequest, open_store: OpenStore) -> IJobStore:
    """Give every kind of store, one after the other."""
    return open_store(request.param)


@pytest.fixture
def reset_store() -> Iterator[None]:
    """Leave the process with the store it started with."""
    yield
    reset_job_store()
