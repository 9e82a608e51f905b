"""What readers of `/events` hear: merged, numbered, replayed, and never more than they may owe."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from pyscheduler.api.callers import Caller
from pyscheduler.api.hub import REPLAY, Filter, Hub
from pyscheduler.api.streams import OF_ONE, STREAMS, Reader, Streams
from pyscheduler.errors import TooMany, Unavailable
from pyscheduler.model.run import Outcome, RunState
from tests.builders import DAY, a_run, an_attempt, ended_attempt, running

BOOT = "0123abcd"
ANN = Caller("ann")


def hub() -> Hub:
    return Hub(Streams(), boot=BOOT)


async def heard(reader: Reader) -> list[tuple[str, str, Any]]:
    """Return id, kind and data of everything queued."""
    found = []
    for block in (await reader.take(0)).decode().split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append((fields["id"], fields["event"], json.loads(fields["data"])))
    return found


async def test_of_a_run_one_frame_tells_the_last_state_only() -> None:
    """Changes within a frame are merged; the event has the fields of the specification."""
    source = hub()
    reader = source.join(None, who=ANN)
    for state in (RunState.QUEUED, RunState.RUNNING, RunState.SUCCEEDED):
        source.on_run(a_run(state=state))
    source.on_run(a_run("other"))
    source.flush()
    run = {"run_id": f"load.{DAY}.1", "job": "load", "run_date": f"{DAY}", "state": "succeeded"}
    other = {"run_id": f"other.{DAY}.1", "job": "other", "run_date": f"{DAY}", "state": "scheduled"}
    assert await heard(reader) == [(f"{BOOT}-1", "run", run), (f"{BOOT}-2", "run", other)]


async def test_an_attempt_is_told_when_it_starts_and_when_it_ends() -> None:
    """The minder's pid is neither."""
    source = hub()
    reader = source.join(None, who=ANN)
    run = running()
    source.on_attempt(an_attempt(run))
    source.flush()
    source.on_attempt(an_attempt(run, pid=4711))
    source.flush()
    source.on_attempt(ended_attempt(run, Outcome.SUCCEEDED, pid=4711))
    source.flush()
    assert [(kind, data["ended"]) for _, kind, data in await heard(reader)] == [("attempt", False), ("attempt", True)]


async def test_all_readers_are_handed_the_same_bytes() -> None:
    """A frame is written down once, however many watch."""
    source = hub()
    readers = [source.join(None, who=ANN) for _ in range(3)]
    source.on_run(a_run())
    source.flush()
    queued = [reader._queue[0] for reader in readers]
    assert queued[0] is queued[1] is queued[2]


async def test_frames_are_a_quarter_of_a_second_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first change after a quiet time goes out at once, what follows waits for its frame."""
    source = hub()
    loop = asyncio.get_running_loop()
    now = loop.time()
    with monkeypatch.context() as still:
        still.setattr(loop, "time", lambda: now)
        source.on_run(a_run())
        first = source._timer
        assert first is not None
        assert first.when() <= now
        source.flush()
        source.on_run(a_run())
        second = source._timer
        assert second is not None
        assert second.when() == pytest.approx(now + 0.25)
        second.cancel()


async def test_who_comes_back_gets_what_it_missed() -> None:
    """The id of any of the kept events is a place to go on from; the newest has nothing after it."""
    source = hub()
    for seq in (1, 2, 3):
        source.on_run(a_run(seq=seq))
        source.flush()
    assert [number for number, _, _ in await heard(source.join(f"{BOOT}-1", who=ANN))] == [f"{BOOT}-2", f"{BOOT}-3"]
    assert len(await heard(source.join(f"{BOOT}-0", who=ANN))) == 3
    assert await heard(source.join(f"{BOOT}-3", who=ANN)) == []
    assert await heard(source.join(None, who=ANN)) == []


@pytest.mark.parametrize(
    "after", ["", "x", "-1", "fffffff0-1", f"{BOOT}-4", f"{BOOT}--1", f"{BOOT}-\u0663", f"{BOOT}-"]
)
async def test_any_other_id_is_a_reset_with_the_newest(after: str) -> None:
    """Another boot, no id at all, one that is still to come."""
    source = hub()
    for seq in (1, 2, 3):
        source.on_run(a_run(seq=seq))
    source.flush()
    assert await heard(source.join(after, who=ANN)) == [(f"{BOOT}-3", "reset", {})]


async def test_what_is_no_longer_kept_is_a_reset() -> None:
    """The last REPLAY events are kept, not one more."""
    source = hub()
    for seq in range(REPLAY + 5):
        source.on_run(a_run(seq=seq + 1))
        if seq % 100 == 0:
            source.flush()
    source.flush()
    assert len(await heard(source.join(f"{BOOT}-5", who=ANN))) == REPLAY
    assert await heard(source.join(f"{BOOT}-4", who=ANN)) == [(f"{BOOT}-{REPLAY + 5}", "reset", {})]


async def test_a_slow_reader_gets_one_reset() -> None:
    """More than REPLAY events unsent: what it would have heard is no use any more."""
    source = hub()
    slow = source.join(None, who=ANN)
    for seq in range(REPLAY + 1):
        source.on_run(a_run(seq=seq + 1))
        if seq % 10 == 0:
            source.flush()
    source.flush()
    assert await heard(slow) == [(f"{BOOT}-{REPLAY + 1}", "reset", {})]
    source.on_run(a_run())
    source.flush()
    assert [kind for _, kind, _ in await heard(slow)] == ["run"]


async def test_a_frame_that_is_too_full_is_a_reset_for_everybody() -> None:
    """A thousand jobs due at once cost the loop no thousand events."""
    source = hub()
    reader = source.join(None, who=ANN)
    for seq in range(REPLAY + 1):
        source.on_run(a_run(seq=seq + 1))
    source.flush()
    assert await heard(reader) == [(f"{BOOT}-1", "reset", {})]
    assert await heard(source.join(f"{BOOT}-0", who=ANN)) == [(f"{BOOT}-1", "reset", {})]
    assert await heard(source.join(f"{BOOT}-1", who=ANN)) == []


async def test_filters() -> None:
    """A reader hears of its date, its job, its run; of reloads and resets always."""
    source = hub()
    tomorrow = DAY + timedelta(days=1)
    wanted = {
        "date": Filter(run_date=tomorrow),
        "job": Filter(job="other"),
        "run": Filter(run_id=f"load.{DAY}.1"),
        "all": Filter(),
    }
    readers = {name: source.join(None, its, who=ANN) for name, its in wanted.items()}
    source.on_run(a_run())
    source.on_run(a_run("other", tomorrow))
    source.on_attempt(an_attempt(replace(a_run(), attempt=1)))
    source._on_reload(7)
    source.flush()
    source.reset()
    source.flush()
    told = {name: [(kind, data.get("run_id")) for _, kind, data in await heard(its)] for name, its in readers.items()}
    load, other, rest = f"load.{DAY}.1", f"other.{tomorrow}.1", [("reload", None), ("reset", None)]
    assert told == {
        "date": [("run", other), *rest],
        "job": [("run", other), *rest],
        "run": [("attempt", load), ("run", load), *rest],
        "all": [("attempt", load), ("run", load), ("run", other), *rest],
    }
    assert [kind for _, kind, _ in await heard(source.join(f"{BOOT}-5", Filter(job="other"), who=ANN))] == []


async def test_streams_are_bounded_and_can_all_be_ended() -> None:
    """So many for one caller, so many in all; revocation ends them and lets clients come back, a stop does not."""
    source = hub()
    mine = [source.join(None, who=ANN) for _ in range(OF_ONE)]
    with pytest.raises(TooMany, match="100 streams are open for ann"):
        source.join(None, who=ANN)
    source.leave(mine[0])
    source.join(None, who=ANN)
    for n in range(STREAMS - OF_ONE):
        source.join(None, who=Caller(f"c{n}"))
    with pytest.raises(TooMany):
        source.join(None, who=Caller("bob"))
    source.streams.end_where(lambda caller: caller.name == "c1")
    assert [reader.who.name for reader in source._readers if reader.ended] == ["c1"]
    source.streams.end_all()
    assert await mine[1].take(60) == b""
    assert mine[1].is_over
    for reader in list(source._readers):
        source.leave(reader)
    assert len(source.streams) == 0
    last = source.join(None, who=ANN)
    source.streams.shut()
    assert last.is_over
    with pytest.raises(Unavailable):
        source.join(None, who=ANN)
