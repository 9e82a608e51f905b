"""Hints on a real server: what is said with a commit is heard, what is rolled back is not, silence costs nothing."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from pyscheduler.cluster import Schedule, Scheduler, Task
from pyscheduler.store.claims import Claims, Transaction, Watermark
from pyscheduler.store.claims.opening import open_hints
from pyscheduler.store.hints import EVERY, Hint, Hints
from tests.contract.claims_kit import NOON, Meeting, a_meeting, held, occurrence, report, start_of

PATIENCE_S = 60


@pytest.fixture
def meeting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Meeting]:
    with a_meeting(request, tmp_path, "postgres") as found:
        yield found


class Ear:
    """What is heard, in its order."""

    def __init__(self, hints: Hints) -> None:
        self.hints = hints
        self._heard: queue.SimpleQueue[frozenset[Hint]] = queue.SimpleQueue()
        hints.subscribe(self._heard.put)
        self.until(EVERY.__eq__)

    def until(self, wanted: Callable[[frozenset[Hint]], object]) -> list[frozenset[Hint]]:
        """Wait until something wanted is heard; returns everything up to it."""
        heard: list[frozenset[Hint]] = []
        while not heard or not wanted(heard[-1]):
            heard.append(self._heard.get(timeout=PATIENCE_S))
        return heard

    def words_of(self, meeting: Meeting, deed: Callable[[], object]) -> set[Hint]:
        """Return what one deed says. A word of ours, behind it, tells where it ends."""
        deed()
        meeting.run("SELECT pg_notify('pysched_' || hashtext(current_schema()), word) FROM unnest(ARRAY['free']) word")
        return set[Hint]().union(*self.until(lambda heard: Hint.FREE in heard)) - {Hint.FREE}


@contextmanager
def an_ear(meeting: Meeting) -> Iterator[Ear]:
    assert meeting.url is not None
    hints = open_hints(f"{meeting.url}&application_name={meeting.known_as('hints')}".replace(" ", "%20"))
    try:
        yield Ear(hints)
    finally:
        hints.close()


def test_what_is_committed_is_heard_and_what_is_rolled_back_is_not(meeting: Meeting) -> None:
    """A hint never tells of what has not happened."""

    def give_up(on: Transaction) -> None:
        on.hint(Hint.ASKED)
        raise LookupError

    with an_ear(meeting) as ear:
        with pytest.raises(LookupError):
            meeting.door().write(give_up)
        meeting.door().write(lambda on: on.hint(Hint.NEWS))
        assert ear.until(lambda heard: Hint.NEWS in heard) == [{Hint.NEWS}]


def test_each_step_says_what_others_may_wait_for(meeting: Meeting) -> None:
    """Offers are heard by who has room, starts and ends by who decides, wishes by owners, a resignation by standbys."""
    with an_ear(meeting) as ear:
        a = meeting.join("a")
        epoch = a.take_authority()
        assert epoch is not None
        due = [occurrence(number) for number in (1, 2, 3)]
        marks = [Watermark("nightly", None, NOON + timedelta(days=1))]
        assert ear.words_of(meeting, lambda: a.materialise(epoch, due, marks)) == {Hint.OFFERED}
        assert ear.words_of(meeting, lambda: a.materialise(epoch, due, marks)) == set()
        first, second, third = a.claim(3)
        starts = [start_of(each) for each in (first, second)]
        assert ear.words_of(meeting, lambda: a.start(starts)) == {Hint.NEWS}
        assert ear.words_of(meeting, lambda: a.cancel(first.run_id)) == {Hint.ASKED}
        assert ear.words_of(meeting, lambda: a.outcome(report(first))) == {Hint.NEWS}
        assert ear.words_of(meeting, lambda: a.hand_back([held(third)])) == {Hint.OFFERED, Hint.NEWS}
        assert ear.words_of(meeting, lambda: a.abort_start(held(second))) == {Hint.OFFERED}
        a.resign(epoch)
        ear.until(lambda heard: Hint.FREE in heard)


def test_idle_looks_say_nothing(meeting: Meeting) -> None:
    """Who finds nothing wakes nobody."""
    with an_ear(meeting) as ear:
        a = meeting.join("a")

        def look() -> None:
            a.heartbeat()
            a.claim(5)
            a.owned()
            a.nodes()
            a.hand_back([])
            a.outcomes([])

        assert ear.words_of(meeting, look) == set()


def test_a_lost_listener_comes_back_and_says_that_everything_may_have_happened(meeting: Meeting) -> None:
    """What was said meanwhile is not known, so everybody looks."""
    with an_ear(meeting) as ear:
        name = meeting.known_as("hints")
        assert meeting.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'")
        assert ear.until(EVERY.__eq__)[-1] == EVERY
        assert _becomes(lambda: ear.hints.listening)
        meeting.door().write(lambda on: on.hint(Hint.ASKED))
        assert ear.until(lambda heard: Hint.ASKED in heard)[-1] == {Hint.ASKED}


def test_what_comes_from_another_schema_is_not_heard(meeting: Meeting, request: pytest.FixtureRequest) -> None:
    """Two stores of one database do not wake each other's schedulers."""
    with an_ear(meeting) as ear, a_meeting(request, Path("/nonexistent"), "postgres") as other:
        other.door().write(lambda on: on.hint(Hint.ASKED))
        meeting.door().write(lambda on: on.hint(Hint.NEWS))
        assert ear.until(lambda heard: Hint.NEWS in heard) == [{Hint.NEWS}]


def test_a_server_that_is_away_is_tried_again_and_closing_does_not_wait_for_it(tmp_path: Path) -> None:
    """Nobody is held up by a store that cannot be reached."""
    hints = open_hints("postgresql+psycopg://nobody@127.0.0.1:1/nothing")
    assert not hints.listening
    hints.close()
    silent = open_hints(str(tmp_path))
    silent.subscribe(lambda _: None)()
    assert not silent.listening
    silent.close()


def test_where_nothing_is_heard_everything_happens_all_the_same(meeting: Meeting, tmp_path: Path) -> None:
    """Every wait ends by itself: a listener that is ended again and again costs promptness and nothing else."""
    schedule = Schedule(Task("nightly", "0 0 1 1 *", ["true"]))
    assert meeting.url is not None
    scheduler = Scheduler(schedule, meeting.url, state_dir=tmp_path / "here")
    working = threading.Thread(target=scheduler.work)
    working.start()
    try:
        a = meeting.join("a")
        for number in (1, 2):
            made = _made_by(a, number, meeting)
            assert _becomes(lambda made=made: _deafened(meeting) and meeting.row(made)["state"] == "succeeded")  # type: ignore[misc]
    finally:
        scheduler.stop()
        working.join(PATIENCE_S)
    assert not working.is_alive()


def _made_by(claims: Claims, number: int, meeting: Meeting) -> str:
    """Let somebody else make a run, as soon as the lead can be had."""
    deadline = time.monotonic() + PATIENCE_S
    while (epoch := claims.take_authority()) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    known = claims.marks(["nightly"]).stored.get("nightly")
    due = occurrence(number, tags=("job:nightly",))
    (made,) = claims.materialise(epoch, [due], [Watermark("nightly", known, NOON + timedelta(days=number))])
    claims.resign(epoch)
    return made


def _deafened(meeting: Meeting) -> bool:
    """End whatever listens to this store."""
    listening = "query = 'LISTEN \"pysched_' || hashtext(current_schema()) || '\"'"
    meeting.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {listening}")
    return True


def _becomes(is_so: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return True
