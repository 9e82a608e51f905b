"""Kill −9 scheduler, nursery, minders and pairs of them, at every named point and at random instants: nothing is lost,
nothing runs twice, nothing is told wrong. DESIGN 1, P1 to P4; the issue's "Done when" 3.

`pysched serve` runs on a real store (`synchronous=FULL`) and is triggered over its socket while it, its nursery and its
minders are killed; then the next one is started on what is left. At the end each attempt's ledger, its log and the
history are held against each other. `make soak` does the same over 5,000 attempts.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.faults.crashing.judge import Judge
from tests.faults.crashing.plan import Life, Plan
from tests.faults.crashing.world import World, report

ATTEMPTS = 300
SOAK_ATTEMPTS = 5000
WITHOUT_PIDFD = 60
A_LIFE_AT_LEAST = 8
"""Attempts that a life brings on average, at the very least: the bound on the number of lives."""


def live(world: World, life: Life) -> None:
    """Let one scheduler live and die."""
    if world.begin(life.points, life.own_point, life.commit):
        loading = threading.Thread(target=world.load, args=(life.seconds,))
        loading.start()
        for strike in life.strikes:
            time.sleep(world.chance.uniform(0.05, life.seconds / 2))
            world.strike(strike)
        if life.end == "stop":
            loading.join()
        if world.up and life.end != "stop":
            time.sleep(world.chance.uniform(0.0, life.seconds / 4))
            world.strike(life.end)
        elif world.up:
            killed_by_itself = (-signal.SIGKILL,) if life.own_point or life.commit else ()
            assert world.stop() in (0, *killed_by_itself), world.said()
            world.book.kills["polite stop"] += 1
        loading.join()
    world.wait()
    time.sleep(life.down_s)


def play(world: World, attempts: int, *, named_points: bool) -> Judge:
    """Go from life to life until there were enough attempts and every point was met; then let all end, and judge."""
    plan = Plan(world.chance, named_points=named_points)
    most = attempts // A_LIFE_AT_LEAST + 30
    while len(list((world.home / "ledger").iterdir())) < attempts or not plan.is_complete:
        assert world.book.lives < most, f"too few attempts, or points never met: {world.met()}"
        live(world, plan.next())
        plan.met(world.met())
    assert world.begin()
    world.settle()
    assert world.stop() == 0, world.said()
    world.until(lambda: not world.left_behind(), "no process is left behind")
    world.until(lambda: not world.files_left(), "no file is left behind")
    judge = Judge(world.home, world.book, world.deaths())
    judge.judge()
    report("killed", world.book.kills + Counter(f"at {point}" for point in world.met()))
    report("attempts", judge.outcomes)
    report("lost or not started", judge.lost)
    return judge


@pytest.mark.alone
@pytest.mark.timeout(36_000)
def test_every_end_is_true_whoever_is_killed_and_when(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """P1 to P4 under kill −9 at every named point and at random instants, alone and in pairs."""
    wanted = SOAK_ATTEMPTS if pytestconfig.getoption("--soak") else ATTEMPTS
    world = World(tmp_path, "whoever and when")
    try:
        judge = play(world, wanted, named_points=True)
    finally:
        world.clear()
    assert judge.outcomes["true"] > wanted / 2


@pytest.mark.alone
def test_the_same_without_pidfds(tmp_path: Path) -> None:
    """Where the kernel has no pidfd, start ticks and then the number do (DESIGN 4)."""
    world = World(tmp_path, "without pidfd", {"PYSCHED_NO_PIDFD": "1"})
    try:
        judge = play(world, WITHOUT_PIDFD, named_points=False)
    finally:
        world.clear()
    assert judge.outcomes["true"] > WITHOUT_PIDFD / 2
