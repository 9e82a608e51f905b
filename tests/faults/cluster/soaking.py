"""Seeds for as long as is asked: ever new ones, several at a time, and one that goes wrong ends nothing but itself.

A seed that breaks an invariant, or that could not be played to its end (a scheduler that does not stop, a server that
does not come back), is written down and the next one is played, after the latter on a new server.
"""

from __future__ import annotations

import itertools
import shutil
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from tests.faults.cluster.crews import PATIENT, SHORT, serve, work
from tests.faults.cluster.fleet import Crew, Ground
from tests.faults.cluster.ledger import Entry, Ledger, entry_of
from tests.faults.cluster.nemesis import Plan, calm, outage, storm
from tests.faults.cluster.ready import ground_of
from tests.faults.cluster.tale import tell
from tests.servers.kinds import discard, fresh

HOSTS, PROCESSES = 3, 2
FIRST: Final = 1000
ROUND: Final = 20
"""So many seeds of each crew make a round: one of them is calm, one an outage for all."""
STORM_S: Final = 20.0
MOST_WRONG: Final = 40
"""So many broken seeds say all that there is to say."""

MakeCrew = Callable[[dict[str, float]], Crew]
Seed = tuple[MakeCrew, Plan]


def endless(crews: tuple[MakeCrew, ...] = (work, serve)) -> Iterator[Seed]:
    """Yield new seeds for ever, the crews in turns."""
    for number in itertools.count(FIRST):
        turn, crew = divmod(number - FIRST, len(crews))
        yield crews[crew], _plan(number, turn % ROUND)


def _plan(number: int, turn: int) -> Plan:
    if turn == ROUND // 2 - 1:
        return calm(number, length_s=6.0)
    if turn == ROUND - 1:
        return outage(number, hosts=HOSTS, lease_s=PATIENT["lease"], length_s=3.0)
    return storm(number, hosts=HOSTS, processes=PROCESSES, length_s=STORM_S)


def soak(folder: Path, seconds: float, at_a_time: int, ledger: Ledger, seeds: Iterator[Seed]) -> None:
    """Play seeds until the time is over, or there are none; what has begun by then is played to its end."""
    until = time.monotonic() + seconds
    lock = threading.Lock()

    def next_one() -> Seed | None:
        with lock:
            is_over = time.monotonic() > until or len(ledger.wrong) >= MOST_WRONG
            return None if is_over else next(seeds, None)

    def play() -> None:
        while (seed := next_one()) is not None:
            try:
                with _ground() as ground:
                    while seed is not None and _play(folder, ground, seed, ledger):
                        seed = next_one()
            except Exception as error:  # of the server or the driver, not of a seed: another pair is made
                ledger.add(_unplayed(seed, error, 0.0), traceback.format_exc())

    with ThreadPoolExecutor(at_a_time) as pool:
        for done in [pool.submit(play) for _ in range(at_a_time)]:
            done.result()


@contextmanager
def _ground() -> Iterator[Ground]:
    with ExitStack() as stack:
        server = fresh("postgres", durable=True)
        stack.callback(discard, server)
        yield stack.enter_context(ground_of(server))


def _play(folder: Path, ground: Ground, seed: Seed, ledger: Ledger) -> bool:
    """Play one; returns whether its ground is good for another."""
    make, plan = seed
    place = folder / f"seed{plan.seed}"
    place.mkdir()
    began = time.monotonic()
    try:
        tale = tell(place, make(PATIENT if plan.quiet else SHORT), ground, plan)
    except Exception as error:
        ledger.add(_unplayed(seed, error, time.monotonic() - began), traceback.format_exc())
        return False
    print(make.__name__, tale, flush=True)
    entry = entry_of(make.__name__, tale)
    ledger.add(entry, tale.told() if entry.broken or entry.unsettled else "")
    if not entry.broken:
        shutil.rmtree(place, ignore_errors=True)
    return True


def _unplayed(seed: Seed | None, error: Exception, took_s: float) -> Entry:
    words = f"not judged: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    if seed is None:
        return Entry(0, "none", "none", took_s, broken=[words])
    make, plan = seed
    return Entry(plan.seed, make.__name__, plan.sort, round(took_s, 1), broken=[words])
