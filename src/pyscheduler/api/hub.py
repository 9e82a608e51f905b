"""What has changed, told to everybody who watches: one frame at most four times a second, made once for all.

The hub hears of every run, attempt and reload once it is on disk. What happens within one frame is merged (of a run
only its last state is told), then numbered, written down once, and the same bytes are handed to every reader: fifty
consoles cost about as much as one. Spec: jobs.md 13.6.

What must always hold:

- an event's id is `<boot>-<n>`: 8 hex digits a service start, then a counter without gaps in what the hub numbered;
- the last REPLAY events are kept. Who comes back with the id of one of them gets what followed; any other id gets one
  `reset` that carries the newest one: "look again, you have missed something". So does a reader that is more than
  REPLAY events behind, everybody where one frame would hold more than that, and everybody when another engine begins;
- nothing here waits for a reader, and no reader's queue grows beyond that bound.

Lives on the loop.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from typing import Final

from pyscheduler.api.callers import Caller
from pyscheduler.api.streams import Reader, Streams
from pyscheduler.engine.core import Engine
from pyscheduler.model.ids import parse_run_id
from pyscheduler.model.run import Attempt, Run

FRAME_S: Final = 0.25
REPLAY: Final = 1000

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Filter:
    """What a reader wants to hear of. What is None does not restrict; reloads and resets concern everybody."""

    run_date: date | None = None
    job: str | None = None
    run_id: str | None = None

    def wants(self, event: Event) -> bool:
        """Whether an event concerns the reader."""
        if event.about is None:
            return True
        job, run_date, run_id = event.about
        return (
            (self.run_date is None or self.run_date == run_date)
            and (self.job is None or self.job == job)
            and (self.run_id is None or self.run_id == run_id)
        )


EVERYTHING: Final = Filter()


@dataclass(frozen=True, slots=True)
class Event:
    """One numbered event as it is sent; `about` is the job, run date and run id it speaks of."""

    number: int
    text: bytes
    about: tuple[str, date, str] | None = None


class Hub:
    """The one source of `/events`. `boot` tells one service start from another."""

    def __init__(self, streams: Streams, *, boot: str | None = None) -> None:
        self.streams = streams
        self.boot = boot or secrets.token_hex(4)
        self._engine: Engine | None = None
        self._leave: list[Callable[[], None]] = []
        self._readers: dict[Reader, Filter] = {}
        self._number = 0
        self._kept: deque[Event] = deque(maxlen=REPLAY)
        self._runs: dict[str, Run] = {}
        self._attempts: dict[tuple[str, int], bool] = {}
        self._reloaded: int | None = None
        self._too_many = False
        self._timer: asyncio.TimerHandle | None = None
        self._last_frame = float("-inf")

    @property
    def newest(self) -> str:
        """The id of the newest event."""
        return f"{self.boot}-{self._number}"

    # ----------------------------------------------------------------- listening

    def follow(self, engine: Engine) -> None:
        """Hear of this engine's changes from now on; harmless when that is so already."""
        if engine is self._engine:
            return
        for leave in self._leave:
            leave()
        is_another, self._engine = self._engine is not None, engine
        reloads = engine.watch_reloads(lambda: self._on_reload(engine.config_version))
        self._leave = [engine.subscribe(self.on_run), engine.watch_attempts(self.on_attempt), reloads]
        if is_another:  # what its start changed was not heard
            self.reset()

    def on_run(self, run: Run) -> None:
        """Take a run's new state into the next frame."""
        self._runs[run.run_id] = run
        self._stir()

    def on_attempt(self, attempt: Attempt) -> None:
        """Take an attempt's start or end into the next frame; that a minder's pid became known is neither."""
        ended = attempt.outcome is not None
        if ended or attempt.pid is None:
            self._attempts[attempt.run_id, attempt.attempt] = ended
            self._stir()

    def _on_reload(self, version: int) -> None:
        self._reloaded = version
        self._stir()

    def _stir(self) -> None:
        """See that a frame is made, FRAME_S after the last one at the earliest."""
        if len(self._runs) + len(self._attempts) > REPLAY:
            self._runs.clear()
            self._attempts.clear()
            self._too_many = True
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(loop.time(), self._last_frame + FRAME_S), self.flush)

    # ----------------------------------------------------------------- telling

    def reset(self) -> None:
        """Tell everybody to look again: what follows does not continue what they have seen."""
        self._too_many = True
        self._stir()

    def flush(self) -> None:
        """Number what has gathered and hand it to every reader."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._last_frame = asyncio.get_running_loop().time()
        frame = [self._reset_event()] if self._too_many else self._gathered()
        self._runs, self._attempts, self._reloaded, self._too_many = {}, {}, None, False
        self._kept.extend(frame)
        made: dict[Filter, tuple[bytes, int]] = {}
        for reader, wanted in list(self._readers.items()):
            if wanted not in made:
                made[wanted] = _joined(event for event in frame if wanted.wants(event))
            self._hand(reader, *made[wanted])

    def _hand(self, reader: Reader, data: bytes, count: int) -> None:
        if count and not reader.offer(data, count):
            reader.replace(_event(self.newest, "reset", {}))

    def _gathered(self) -> list[Event]:
        events = [
            self._event("attempt", {"run_id": run_id, "attempt": number, "ended": ended}, _about(run_id))
            for (run_id, number), ended in self._attempts.items()
        ]
        events += [self._event("run", _told(run), (run.job, run.run_date, run.run_id)) for run in self._runs.values()]
        if self._reloaded is not None:
            events.append(self._event("reload", {"version": self._reloaded}))
        return events

    def _reset_event(self) -> Event:
        """Return a reset; what was kept before it can be replayed to nobody."""
        self._kept.clear()
        return self._event("reset", {})

    def _event(self, kind: str, data: object, about: tuple[str, date, str] | None = None) -> Event:
        self._number += 1
        return Event(self._number, _event(self.newest, kind, data), about)

    # ----------------------------------------------------------------- readers

    def join(self, after: str | None, wanted: Filter = EVERYTHING, *, who: Caller) -> Reader:
        """Return a new reader that hears what follows the event `after`, or only what is new. Raises TooMany.

        The caller leaves with `leave`.
        """
        reader = self.streams.open(who, most=REPLAY)
        self._readers[reader] = wanted
        missed = [] if after is None else self._since(after)
        if missed is None:
            reader.replace(_event(self.newest, "reset", {}))
        else:
            self._hand(reader, *_joined(event for event in missed if wanted.wants(event)))
        return reader

    def leave(self, reader: Reader) -> None:
        """Forget a reader. Harmless when it is gone."""
        self._readers.pop(reader, None)
        self.streams.close(reader)

    def _since(self, after: str) -> list[Event] | None:
        """Return the events after one, None where nobody can say any more what they were."""
        boot, _, number = after.partition("-")
        if boot != self.boot or not (number.isascii() and number.isdecimal() and len(number) < 19):
            return None
        first = self._kept[0].number if self._kept else self._number + 1
        if not first - 1 <= int(number) <= self._number:
            return None
        return [event for event in self._kept if event.number > int(number)]


def _event(name: str, kind: str, data: object) -> bytes:
    return f"id: {name}\nevent: {kind}\ndata: {_encode(data)}\n\n".encode("utf-8", "replace")


def _told(run: Run) -> dict[str, str]:
    return {
        "run_id": run.run_id,
        "job": run.job,
        "run_date": run.run_date.isoformat(),
        "state": run.state.value,
    }


def _about(run_id: str) -> tuple[str, date, str]:
    job, run_date, _ = parse_run_id(run_id)
    return job, run_date, run_id


def _joined(events: Iterable[Event]) -> tuple[bytes, int]:
    """Return the bytes of some events and how many they are."""
    texts = [event.text for event in events]
    return b"".join(texts), len(texts)
