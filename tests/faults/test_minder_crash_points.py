"""Kill minder, nursery or launcher with SIGKILL at every named point, alone and in pairs, and compare ledger and note.

Each job appends one line to its own ledger and exits with a chosen code. What may never happen: a job that ran twice,
a wrong exit code, an attempt without an end, a `lost` that is not allowed (only where minder and nursery were both
killed, or where nothing was started and the ledger is empty).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from pathlib import Path

import pytest

from pyscheduler.engine.launcher import MinderLauncher
from pyscheduler.engine.ports import AttemptRef, AttemptResult, Finished, LaunchSpec, Lost, Running
from pyscheduler.errors import LaunchError
from pyscheduler.minder import crash
from tests.yard import Yard, until

ATTEMPTS = 3
LAUNCHER = ("launch.created", "launch.sent", "launch.started")
NURSERY = tuple(point for point in crash.POINTS if point.startswith("nursery."))
WARD = tuple(point for point in crash.POINTS if point.startswith("ward."))
MINDER = tuple(
    point for point in crash.POINTS if point.split(".")[0] in ("minder", "claim", "spawn", "job", "note", "guard")
)
MINDER_HOLDING = MINDER[MINDER.index("claim.named") : MINDER.index("note.durable")]
"""Where a minder's death makes a ward."""


class Ledger:
    """What jobs have done, written by themselves."""

    def __init__(self, yard: Yard) -> None:
        self.yard = yard
        yard.file("ledger").mkdir(exist_ok=True)

    def spec(self, number: int, run_for_s: float = 0.05) -> LaunchSpec:
        """Return a job that notes its start, prints, works for a moment and exits with its number."""
        script = f"echo x >> ledger/{number}; echo begin; sleep {run_for_s}; echo end; exit {number}"
        return self.yard.spec(script)

    def starts(self, number: int) -> int:
        """Return how often the job has run."""
        path = self.yard.file("ledger") / str(number)
        return len(path.read_text().splitlines()) if path.exists() else 0

    def check(self, number: int, spec: LaunchSpec, result: AttemptResult, *, both_killed: bool = False) -> None:
        """Hold the attempt's end against what the job did."""
        starts = self.starts(number)
        assert starts <= 1, "the job ran twice"
        if result.lost is not None and result.lost.startswith("never"):
            assert starts == 0, "called never started, but it ran"
        elif result.lost is not None:
            assert both_killed, f"lost without need: {result.lost}"
        elif result.start_error is not None:
            assert starts == 0, f"a start error, but it ran: {result.start_error}"
        else:
            assert (result.exit_code, result.signal, starts) == (number, None, 1)
            assert self.yard.out(spec) == "begin\nend\n"


async def run_one(launcher: MinderLauncher, spec: LaunchSpec) -> AttemptResult:
    """Launch and wait, as an engine does."""
    try:
        handle = await launcher.launch(spec)
    except LaunchError as error:
        return AttemptResult(start_error=str(error))
    return await handle.wait()


async def recover(launcher: MinderLauncher, ref: AttemptRef) -> AttemptResult:
    """Find an attempt and follow it to its end, as a recovery does."""
    match await launcher.find(ref):
        case Finished(result):
            return result
        case Running(handle):
            return await handle.wait()
        case Lost(reason):
            return AttemptResult(lost=reason)


def armed(yard: Yard, *points: str) -> dict[str, str]:
    """Return the nursery's environment that makes one process die at each of the points."""
    return {"PYSCHED_CRASH": ",".join(points), "PYSCHED_CRASH_ONCE": str(yard.file("died-at"))}


def died(yard: Yard) -> set[str]:
    """Return the points at which somebody did die."""
    return {path.name.removeprefix("died-at.") for path in yard.home.glob("died-at.*")}


async def three_attempts(yard: Yard, *points: str, both: bool = False) -> None:
    """Run three attempts at once under armed points and check each. `both`: the second point may kill the nursery."""
    ledger = Ledger(yard)
    launcher = MinderLauncher(env=armed(yard, *points))
    specs = {number: ledger.spec(number) for number in range(11, 11 + ATTEMPTS)}
    results = await asyncio.gather(*(run_one(launcher, spec) for spec in specs.values()))
    minder_died = any(point in MINDER for point in died(yard))
    nursery_died = any(point in NURSERY + WARD for point in died(yard)) or (both and len(died(yard)) == 2)
    for (number, spec), result in zip(specs.items(), results, strict=True):
        ledger.check(number, spec, result, both_killed=minder_died and nursery_died)
    await launcher.close()


@pytest.mark.parametrize("point", MINDER)
async def test_a_minder_may_die_anywhere(tmp_path: Path, point: str) -> None:
    """The nursery takes over, or another minder begins: no exit code is lost with the nursery alive."""
    yard = Yard(tmp_path)
    await three_attempts(yard, point)
    await until(lambda: died(yard), "one that has told of its end may not have come to its point yet")
    assert died(yard) == {point}


@pytest.mark.parametrize("point", [point for point in NURSERY if point != "nursery.handed"])
async def test_the_nursery_may_die_anywhere(tmp_path: Path, point: str) -> None:
    """Its minders go on, orders nobody began go to the next nursery, and the file takes one minder only."""
    yard = Yard(tmp_path)
    await three_attempts(yard, point)
    assert died(yard) == {point}


async def test_the_nursery_may_die_with_an_order_in_an_idle_minders_hands(tmp_path: Path) -> None:
    """The idle minder may or may not have begun: the file says so to whoever comes next."""
    yard = Yard(tmp_path)
    ledger = Ledger(yard)
    launcher = MinderLauncher(env=armed(yard, "nursery.handed"))
    for number in (11, 12, 13):
        spec = ledger.spec(number)
        ledger.check(number, spec, await run_one(launcher, spec))
    assert died(yard) == {"nursery.handed"}
    await launcher.close()


@pytest.mark.parametrize(("first", "second"), list(itertools.product(MINDER_HOLDING[::2], WARD)))
async def test_minder_then_nursery(tmp_path: Path, first: str, second: str) -> None:
    """With both guardians killed an attempt may be lost, but never wrong, never doubled, never without an end."""
    yard = Yard(tmp_path)
    await three_attempts(yard, first, second)
    assert died(yard) == {first, second}


@pytest.mark.parametrize("point", MINDER[MINDER.index("job.ended") : MINDER.index("note.durable") + 1])
async def test_the_nursery_may_die_over_a_wards_end(tmp_path: Path, point: str) -> None:
    """The note is on disk before the leader is reaped, so that even the last guardian's death leaves the truth."""
    yard = Yard(tmp_path)
    await three_attempts(yard, "job.named", point, both=True)
    assert "job.named" in died(yard)


# ------------------------------------------------------------------------------- the launcher's own process

DRIVER = """
import asyncio, json, sys
from pathlib import Path
from tests.faults.test_minder_crash_points import drive
asyncio.run(drive(Path(sys.argv[1]), json.loads(sys.argv[2])))
"""


async def drive(home: Path, env: dict[str, str]) -> None:
    """Be a scheduler: write each attempt down first, then start it. Runs in a process of its own, to be killed."""
    yard = Yard(home)
    ledger = Ledger(yard)
    launcher = MinderLauncher(env=env)
    running = []
    for number in range(11, 11 + ATTEMPTS):
        spec = ledger.spec(number, run_for_s=0.3)
        with yard.file("register").open("a") as register:
            register.write(json.dumps([number, spec.key, str(spec.status_path)]) + "\n")
        running.append(asyncio.create_task(run_one(launcher, spec)))
        await asyncio.sleep(0.05)
    await asyncio.gather(*running)
    yard.file("all-ended").touch()
    await launcher.close()


async def start_driver(yard: Yard, env: dict[str, str], own: dict[str, str]) -> asyncio.subprocess.Process:
    """Start the scheduler's process with its own crash points and its nursery's."""
    paths = ":".join(sys.path)
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        DRIVER,
        str(yard.home),
        json.dumps(env),
        env={"PYTHONPATH": paths, "PATH": "/usr/bin:/bin", **own},
    )


async def check_register(yard: Yard, *, both_killed: bool = False) -> None:
    """Recover every attempt that was written down, and check it."""
    launcher = MinderLauncher()
    ledger = Ledger(yard)
    for line in yard.file("register").read_text().splitlines():
        number, key, status = json.loads(line)
        spec = yard.spec("true", key=key)
        assert str(spec.status_path) == status
        ledger.check(number, spec, await recover(launcher, yard.ref(spec)), both_killed=both_killed)
    await launcher.close()


@pytest.mark.parametrize("point", LAUNCHER)
async def test_the_launcher_may_die_anywhere(tmp_path: Path, point: str) -> None:
    """Killed around a launch: what was begun is adopted with its true end, what was not can never begin."""
    yard = Yard(tmp_path)
    driver = await start_driver(yard, {}, {"PYSCHED_CRASH": f"{point}:2"})
    assert await driver.wait() == -9
    await check_register(yard)


@pytest.mark.parametrize("point", MINDER_HOLDING[::3])
async def test_launcher_and_minder_killed_together(tmp_path: Path, point: str) -> None:
    """The nursery alone still writes the true note."""
    yard = Yard(tmp_path)
    driver = await start_driver(yard, armed(yard, point), {"PYSCHED_CRASH": "launch.started:3"})
    assert await driver.wait() == -9
    await check_register(yard)


@pytest.mark.parametrize("point", [point for point in NURSERY if point != "nursery.handed"])
async def test_launcher_and_nursery_killed_together(tmp_path: Path, point: str) -> None:
    """The minder alone still writes the true note."""
    yard = Yard(tmp_path)
    driver = await start_driver(yard, armed(yard, point), {"PYSCHED_CRASH": "launch.started:2"})
    assert await driver.wait() == -9
    await check_register(yard)


@pytest.mark.parametrize("point", ["find.locked", "find.unlinked"])
async def test_a_recovery_may_die_while_it_looks(tmp_path: Path, point: str) -> None:
    """The next recovery finds the same answer."""
    yard = Yard(tmp_path)
    driver = await start_driver(yard, {}, {"PYSCHED_CRASH": "launch.created:2"})
    assert await driver.wait() == -9
    script = "import asyncio, sys; from pathlib import Path; from tests.yard import Yard; "
    script += "from tests.faults.test_minder_crash_points import check_register; "
    script += "asyncio.run(check_register(Yard(Path(sys.argv[1]))))"
    env = {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin", "PYSCHED_CRASH": point}
    looker = await asyncio.create_subprocess_exec(sys.executable, "-c", script, str(yard.home), env=env)
    assert await looker.wait() == -9
    await check_register(yard)


async def test_the_order_to_stop_survives_its_author(tmp_path: Path) -> None:
    """Killed between file and signal: the next launcher finds the order, and the attempt ends killed."""
    yard = Yard(tmp_path)
    spec = yard.spec("exec sleep 60", kill_grace_s=0.5)
    script = (
        "import asyncio, sys; from pathlib import Path; from tests.faults.test_minder_crash_points import stop_it; "
    )
    script += "asyncio.run(stop_it(Path(sys.argv[1]), sys.argv[2]))"
    env = {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin", "PYSCHED_CRASH": "stop.written"}
    stopper = await asyncio.create_subprocess_exec(sys.executable, "-c", script, str(yard.home), spec.key, env=env)
    assert await stopper.wait() == -9
    launcher = MinderLauncher()
    found = await launcher.find(yard.ref(spec))
    if isinstance(found, Running):  # else the minder looked just after the file appeared
        found.handle.terminate("kill", "again, after the restart")
    assert (await recover(launcher, yard.ref(spec))).stopped_by == "kill"
    await launcher.close()


async def stop_it(home: Path, key: str) -> None:
    """Start an attempt and order its end. Runs in a process of its own, to be killed."""
    yard = Yard(home)
    launcher = MinderLauncher()
    handle = await launcher.launch(yard.spec("exec sleep 60", key=key, kill_grace_s=0.5))
    handle.terminate("kill")
    await until(lambda: False)
