"""Kill scheduler, nursery, minders and pairs of them at random instants, from a seed, and hold every end to its ledger.

A scheduler process launches ten attempts a round, each written down first; meanwhile one or two processes are killed.
Then every attempt is recovered by another launcher. Each job appends to its own ledger, prints, and exits with its
number: ledger and result must agree, no output byte may be missing, and `lost` is right only where the attempt's own
minder and nursery were both killed, or where nothing was started and the ledger is empty.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter
from pathlib import Path

import pytest

from pyscheduler.engine.launcher import MinderLauncher
from pyscheduler.engine.ports import AttemptResult, LaunchSpec
from pyscheduler.errors import LaunchError
from pyscheduler.minder import kernel, notes
from tests.faults.test_minder_crash_points import recover
from tests.yard import Yard, alive, kill, until

ROUNDS = 4
ATTEMPTS = 10
LINES = 200
VICTIMS = ("scheduler", "nursery", "minder", "minders", "scheduler+nursery", "scheduler+minder", "nursery+minder")


def job(yard: Yard, number: int, key: str | None = None) -> LaunchSpec:
    """Return a job that notes its start, prints in two halves with a pause between, and exits with its number."""
    script = f"echo x >> ledger/{number}; seq 1 {LINES}; sleep 0.$(({number} % 4 + 1)); seq 1 {LINES}; exit {number}"
    return yard.spec(script, key=key)


async def schedule(home: Path, numbers: list[int], env: dict[str, str]) -> None:
    """Be a scheduler: write down, launch, wait. In a process of its own, to be killed at any instant."""
    yard = Yard(home)
    launcher = MinderLauncher(env=env)

    async def run(number: int) -> None:
        spec = job(yard, number)
        with yard.file("register").open("a") as register:
            register.write(json.dumps([number, spec.key]) + "\n")
        try:
            handle = await launcher.launch(spec)
        except LaunchError:
            return
        await handle.wait()

    running = []
    for number in numbers:
        running.append(asyncio.create_task(run(number)))
        await asyncio.sleep(0.02)
    await asyncio.gather(*running)
    await launcher.close()


async def start_scheduler(yard: Yard, numbers: list[int], env: dict[str, str]) -> asyncio.subprocess.Process:
    program = "import asyncio, json, sys; from pathlib import Path; "
    program += "from tests.faults.test_minder_random_crashes import schedule; "
    program += "asyncio.run(schedule(Path(sys.argv[1]), *json.loads(sys.argv[2])))"
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        program,
        str(yard.home),
        json.dumps([numbers, env]),
        env={"PYTHONPATH": ":".join(path for path in sys.path if path), "PATH": "/usr/bin:/bin", **env},
        stderr=asyncio.subprocess.DEVNULL,
    )


def below(pid: int) -> list[int]:
    return [one.pid for one in kernel.processes().values() if one.parent == pid and one.alive]


def choose(victim: str, scheduler: int, chance: random.Random) -> list[int]:
    """Return whom to kill."""
    nurseries = below(scheduler)
    minders = [pid for nursery in nurseries for pid in below(nursery)]
    chosen: list[int] = []
    for word in victim.split("+"):
        group = {"scheduler": [scheduler], "nursery": nurseries}.get(word, minders)
        count = 3 if word == "minders" else 1
        chosen += chance.sample(group, min(count, len(group)))
    return chosen


class Report:
    """What became of every attempt; `lost` apart by its two rightful causes."""

    def __init__(self, yard: Yard, killed: set[int]) -> None:
        self.yard, self.killed = yard, killed
        self.counts: Counter[str] = Counter()

    def check(self, number: int, spec: LaunchSpec, result: AttemptResult) -> None:
        path = self.yard.file("ledger") / str(number)
        starts = len(path.read_text().splitlines()) if path.exists() else 0
        assert starts <= 1, f"{number} ran twice"
        if result.lost == "never started" or result.start_error is not None:
            assert starts == 0, f"{number}: {result}, but it ran"
            self.counts["not started"] += 1
        elif result.lost is not None:
            identity = notes.parse_identity(Path(f"{spec.status_path}.pid").read_bytes(), spec.key)
            assert identity is not None
            assert identity.nursery is not None
            assert {identity.minder.pid, identity.nursery.pid} <= self.killed, f"{number} was lost without need"
            self.counts["lost with both guardians"] += 1
        else:
            assert (result.exit_code, result.signal, starts) == (number, None, 1)
            half = "".join(f"{line}\n" for line in range(1, LINES + 1))
            assert self.yard.out(spec) == half * 2
            self.counts["true"] += 1


async def play(yard: Yard, first: int, victim: str, chance: random.Random, env: dict[str, str]) -> Counter[str]:
    """Play one round and check it."""
    numbers = list(range(first, first + ATTEMPTS))
    yard.file("register").write_text("")
    scheduler = await start_scheduler(yard, numbers, env)
    await until(lambda: yard.file("register").read_text(), "the first attempt is written down")
    await asyncio.sleep(chance.uniform(0.0, 0.6))
    killed = set(choose(victim, scheduler.pid, chance)) if alive(scheduler.pid) else set()
    for pid in killed:
        kill(pid)
    await scheduler.wait()
    launcher = MinderLauncher(env=env)
    report = Report(yard, killed)
    for line in yard.file("register").read_text().splitlines():
        number, key = json.loads(line)
        spec = job(yard, number, key)
        report.check(number, spec, await recover(launcher, yard.ref(spec)))
    await launcher.close()
    return report.counts


@pytest.mark.parametrize("seed", range(1, 3))
@pytest.mark.parametrize("pidfd", [True, False])
async def test_every_end_is_true(tmp_path: Path, seed: int, *, pidfd: bool) -> None:
    """No double start, no wrong code, no missing byte, no needless loss, whoever dies when."""
    chance = random.Random(f"{seed} {pidfd}")
    yard = Yard(tmp_path)
    yard.file("ledger").mkdir()
    env = {} if pidfd else {"PYSCHED_NO_PIDFD": "1"}
    total: Counter[str] = Counter()
    victims = chance.sample(VICTIMS, ROUNDS)
    for number, victim in enumerate(victims):
        total += await play(yard, 20 + number * ATTEMPTS, victim, chance, env)
    assert total["true"] >= ATTEMPTS, total
    print(victims, dict(total))
