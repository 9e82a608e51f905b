"""A worker on a real server that is killed −9 and started again in the midst of a job's life. Issue 3, Deliver.

At each place the decision table of pipeline.md 10 says what is left; when the server is back, what it tells the caller
to do is all it takes, and the work is done once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pymongo.errors import PyMongoError
from sqlalchemy.exc import DBAPIError

from pypepper.scheduler import Job, JobRequeuedError, Worker, configure_job_store, get_job_store, manager
from tests.pipes import BOUND_S, job, status_of
from tests.servers.fixtures import GetServer
from tests.servers.kinds import Server

KINDS = ["postgres", "mysql", "mongodb"]
DOWN = (DBAPIError, PyMongoError)


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, own_server: GetServer) -> Iterator[Server]:
    """A durable server of the test's own, with the process's job store on it, which soon gives a server up."""
    yield from with_a_store(own_server(request.param), "&serverSelectionTimeoutMS=1500")


@pytest.fixture(params=KINDS)
def awaited(request: pytest.FixtureRequest, own_server: GetServer) -> Iterator[Server]:
    """The same, with a store that waits for its server as long as it does by itself."""
    yield from with_a_store(own_server(request.param), "")


def with_a_store(made: Server, for_mongodb: str) -> Iterator[Server]:
    configure_job_store(made.kind, uri=made.place.uri + (for_mongodb if made.kind == "mongodb" else ""))
    yield made
    get_job_store().close()


def start_again(server: Server) -> None:
    """Start the server, and return once the store's own driver has noticed that it is back."""
    server.start()
    end = time.monotonic() + 6 * BOUND_S
    while True:
        try:
            get_job_store().list()
        except DOWN:
            assert time.monotonic() < end, "the server is back, and the store has not noticed"
        else:
            return


def take_one() -> Job | None:
    return asyncio.run(asyncio.wait_for(Worker(manager.available("c")).run_once(), 6 * BOUND_S))


def take_until_saved() -> Job | None:
    """Take again as long as a driver has not noticed that its server is back: the job is requeued until then."""
    end = time.monotonic() + 6 * BOUND_S
    while True:
        try:
            return take_one()
        except JobRequeuedError:
            assert time.monotonic() < end, "the server is back, and nothing is saved"


def test_down_when_a_job_is_to_be_started(server: Server) -> None:
    """Path D: nothing can be saved, the job is Scheduled and back in the queue; later it runs, once."""
    ran: list[int] = []
    made = job(lambda *_: ran.append(1))
    made.scheduled()
    server.kill()
    with pytest.raises(JobRequeuedError):
        take_one()
    assert (ran, made.status) == ([], "Scheduled")
    start_again(server)
    assert status_of(made) == ("Scheduled", "Scheduled")
    assert take_until_saved() is made
    assert (ran, status_of(made)) == ([1], ("Completed", "Completed"))


def test_down_when_a_job_is_scheduled(server: Server) -> None:
    """Row "After enqueue": raised, but queued; the worker writes the row when the server is back."""
    ran: list[int] = []
    made = job(lambda *_: ran.append(1))
    server.kill()
    with pytest.raises(Exception, match=r"."):
        made.scheduled()
    assert (made.status, manager.available("c").length()) == ("Scheduled", 1)
    server.start()
    take_until_saved()
    assert (ran, status_of(made)) == ([1], ("Completed", "Completed"))


def test_down_when_the_work_has_ended(server: Server) -> None:
    """Row "Complete, save raises": Completed here, behind there; `save()` only, and nothing runs again."""
    ran: list[int] = []

    def work(*_: Any) -> None:
        ran.append(1)
        server.kill()

    made = job(work)
    made.scheduled()
    with pytest.raises(Exception, match=r"."):
        take_one()
    assert made.status == "Completed"
    start_again(server)
    assert status_of(made) == ("Completed", "InProgress")
    assert made.save()
    assert (ran, status_of(made)) == ([1], ("Completed", "Completed"))


def test_killed_and_back_while_the_work_is_done(awaited: Server) -> None:
    """Connections that died meanwhile are no trouble for the row that is written next."""
    ran: list[int] = []

    def work(*_: Any) -> None:
        ran.append(1)
        awaited.kill()
        awaited.start()

    made = job(work)
    made.scheduled()
    take_one()
    assert (ran, status_of(made)) == ([1], ("Completed", "Completed"))
