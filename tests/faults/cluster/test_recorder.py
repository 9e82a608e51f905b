"""The recorder misses no commit, tells their order, and lets the store's clock be set."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy

from pyscheduler.store import schema
from tests.faults.cluster import places, recorder
from tests.faults.cluster.history import History
from tests.faults.cluster.recorder import Connection
from tests.servers.fixtures import GetPlace
from tests.servers.kinds import Place


@pytest.fixture
def place(server_place: GetPlace) -> Place:
    return server_place("postgres")


@pytest.fixture
def db(place: Place) -> Iterator[str]:
    """A database with the scheduler's tables and the recorder."""
    name = places.new_database(place)
    engine = sqlalchemy.create_engine(places.address(place, name))
    schema.metadata.create_all(engine)
    engine.dispose()
    with places.connect(place, name) as on:
        recorder.install(on)
    yield name
    places.drop_database(place, name)


@pytest.fixture
def pair(place: Place, db: str) -> Iterator[tuple[Connection, Connection]]:
    """Two connections."""
    with places.connect(place, db) as one, places.connect(place, db) as two:
        yield one, two


def test_every_commit_is_remembered_and_no_rollback(pair: tuple[Connection, Connection]) -> None:
    """A state that stood for a moment is there; one that never stood is not."""
    one, two = pair
    with one.transaction():
        one.execute("INSERT INTO engine VALUES ('k', '1')")
        one.execute("UPDATE engine SET value = '2' WHERE key = 'k'")
    with one.transaction(force_rollback=True):
        one.execute("UPDATE engine SET value = 'never' WHERE key = 'k'")
    two.execute("DELETE FROM engine WHERE key = 'k'")
    history = History(recorder.changes(one))
    values = [[(c.was("value"), c.new and c.new["value"]) for c in group] for group in history.transactions()]
    assert values == [[(None, "1"), ("1", "2")], [("2", None)]]


def test_transactions_stand_in_the_order_of_their_commits(pair: tuple[Connection, Connection]) -> None:
    """Not in the order in which they began or wrote."""
    one, two = pair
    with one.transaction():
        one.execute("INSERT INTO engine VALUES ('first', '')")
        two.execute("INSERT INTO engine VALUES ('second', '')")
    keys = [group[0].row["key"] for group in History(recorder.changes(one)).transactions()]
    assert keys == ["second", "first"]


def test_the_epoch_is_the_one_at_the_commit(pair: tuple[Connection, Connection]) -> None:
    """Who takes over while another's transaction is open has its epoch on that transaction's changes."""
    one, two = pair
    two.execute("INSERT INTO leases (name, kind, epoch, holder_inc) VALUES ('authority', 'authority', 1, 'a')")
    with one.transaction():
        one.execute("INSERT INTO engine VALUES ('k', '')")
        two.execute("UPDATE leases SET epoch = 2, holder_inc = 'b' WHERE name = 'authority'")
    [change] = [change for change in recorder.changes(one) if change.table == "engine"]
    assert (change.epoch, change.holder) == (2, "b")


def test_a_heartbeat_is_no_news(pair: tuple[Connection, Connection]) -> None:
    """Only what a lease says beside its time is kept."""
    one, _ = pair
    one.execute("INSERT INTO leases (name, kind) VALUES ('a', 'node')")
    one.execute("UPDATE leases SET hb_seq = hb_seq + 1, renewed_at = 5 WHERE name = 'a'")
    one.execute("UPDATE leases SET fenced_at = 6 WHERE name = 'a'")
    assert [change.row["fenced_at"] for change in recorder.changes(one)] == [None, 6]


def test_the_stores_clock_may_be_set(pair: tuple[Connection, Connection]) -> None:
    """`clock_timestamp()`, called as the scheduler calls it, is ahead by what the test says."""
    one, two = pair
    recorder.set_offset(one, 3600)
    [[ahead]] = two.execute("SELECT extract(epoch FROM clock_timestamp() - pg_catalog.clock_timestamp())").fetchall()
    assert 3590 < ahead < 3610
