"""Old orders cannot start anything. DESIGN 4, "Starting"; the issue's "Done when" 4.

The file decides, not the message: an order that arrives late, twice, or after everything is over finds no empty file at
its path.
"""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from pyscheduler.engine.launcher import MinderLauncher
from pyscheduler.engine.minding import link, starting
from pyscheduler.engine.ports import Lost, Running
from pyscheduler.errors import LaunchError
from pyscheduler.minder import claim, kernel
from tests.yard import Yard, alive, kill, minders, until


async def nursery_of(launcher: MinderLauncher, yard: Yard) -> int:
    """Start a nursery with one attempt, and return it once its minder is idle."""
    handle = await launcher.launch(yard.spec("true"))
    await handle.wait()
    assert handle.pid is not None
    found = kernel.stat(handle.pid)
    assert found is not None
    return found.parent


def living(launcher: MinderLauncher) -> link.Link:
    """Return the way to the nursery that takes orders now."""
    found = launcher._starter._link
    assert found is not None
    return found


async def settled(nursery: int) -> None:
    """Wait until a nursery that was given up has gone through its orders and ended."""
    await until(lambda: not alive(nursery), "the old nursery has ended")


async def test_an_order_in_a_stopped_nursery_is_dead_once_find_has_looked(tmp_path: Path) -> None:
    """SIGSTOP with the order in hand, recover, SIGCONT: never started is what it is, and stays."""
    async with minders(tmp_path) as (launcher, yard):
        nursery = await nursery_of(launcher, yard)
        kill(nursery, signal.SIGSTOP)
        spec = yard.spec("touch ran")
        launching = asyncio.ensure_future(launcher.launch(spec))
        await until(Path(f"{spec.status_path}.pid").exists)
        launching.cancel()
        await asyncio.wait([launching])
        await launcher.close()
        async with minders(tmp_path) as (second, _):
            assert await second.find(yard.ref(spec)) == Lost("never started")
            kill(nursery, signal.SIGCONT)
            await settled(nursery)
            assert not yard.file("ran").exists()
            assert await second.find(yard.ref(spec)) == Lost("never started")


async def test_find_waits_for_the_launch_of_the_same_attempt(tmp_path: Path) -> None:
    """Within one launcher the two exclude each other: a launch under way is not revoked under its feet."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec("while [ ! -e go ]; do sleep 0.02; done; exit 3")
        launching = asyncio.ensure_future(launcher.launch(spec))
        await asyncio.sleep(0)
        found = await launcher.find(yard.ref(spec))
        assert isinstance(found, Running)
        assert found.handle is await launching
        yard.file("go").touch()
        assert (await found.handle.wait()).exit_code == 3


async def test_a_nursery_that_takes_no_order_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closed, not killed: the same order starts under the next one, once, and its running attempts are followed."""
    async with minders(tmp_path) as (launcher, yard):
        running = await launcher.launch(yard.spec("while [ ! -e go ]; do sleep 0.02; done; exit 4"))
        assert running.pid is not None
        found = kernel.stat(running.pid)
        assert found is not None
        nursery = found.parent
        kill(nursery, signal.SIGSTOP)
        spec = yard.spec("echo x >> ran; exit 5")
        stopped = living(launcher)
        with monkeypatch.context() as patch:
            patch.setattr(link, "TAKE_S", 0.3)  # for the stopped one only: its successor has yet to be born
            launching = asyncio.ensure_future(launcher.launch(spec))
            await until(lambda: not stopped.open, "the stopped nursery was given up")
        assert (await (await launching).wait()).exit_code == 5
        assert alive(nursery)
        kill(nursery, signal.SIGCONT)
        yard.file("go").touch()
        assert (await running.wait()).exit_code == 4
        await settled(nursery)
        assert yard.file("ran").read_text() == "x\n"


async def test_a_nursery_that_takes_its_orders_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long its attempts run: what was read counts, and is told."""
    async with minders(tmp_path) as (launcher, yard):
        nursery = await nursery_of(launcher, yard)
        running = await launcher.launch(yard.spec("while [ ! -e go ]; do sleep 0.02; done; exit 4"))
        with monkeypatch.context() as patch:
            patch.setattr(link, "TAKE_S", 0.0)
            living(launcher)._check()  # as the timer does, when no order may be left in the socket any more
        yard.file("go").touch()
        assert (await running.wait()).exit_code == 4
        assert await nursery_of(launcher, yard) == nursery


async def test_after_ten_seconds_launch_looks_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No word from anybody: the order is revoked, and the error means that nothing can start any more."""
    async with minders(tmp_path) as (launcher, yard):
        nursery = await nursery_of(launcher, yard)
        kill(nursery, signal.SIGSTOP)
        with monkeypatch.context() as patch:
            patch.setattr(starting, "LAUNCH_S", 0.3)
            with pytest.raises(LaunchError, match="nothing was started"):
                await launcher.launch(yard.spec("touch ran"))
        kill(nursery, signal.SIGCONT)
        assert (await (await launcher.launch(yard.spec("true"))).wait()).exit_code == 0
        assert not yard.file("ran").exists()
        await launcher.close()
        await settled(nursery)
        assert not yard.file("ran").exists()


async def test_a_cancelled_find_leaves_no_lock_behind(tmp_path: Path) -> None:
    """Whoever stops looking lets go: else its own lock would look like a guardian for ever."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec("exit 3")
        await (await launcher.launch(spec)).wait()
        spec.status_path.unlink()
        for turns in range(12):
            async with minders(tmp_path) as (second, _):
                finding = asyncio.ensure_future(second.find(yard.ref(spec)))
                for _ in range(turns):
                    await asyncio.sleep(0.002)
                finding.cancel()
                await asyncio.wait([finding])
                with Path(f"{spec.status_path}.pid").open("r+") as file:
                    assert claim.try_lock(file.fileno()), turns


async def test_the_same_order_twice_starts_once(tmp_path: Path) -> None:
    """A nursery is killed with the order in hand and the order sent again: one of two minders finds the empty file."""
    for point in ("nursery.taken:2", "nursery.handed", "nursery.forked", "minder.forked"):
        home = tmp_path / point.replace(":", "-")
        home.mkdir()
        env = {"PYSCHED_CRASH": point, "PYSCHED_CRASH_ONCE": str(home / "died-at")}
        async with minders(home, env=env) as (launcher, yard):
            specs = [yard.spec(f"echo x >> ran-{number}; exit {number}") for number in range(4)]
            results = [await (await launcher.launch(spec)).wait() for spec in specs]
            assert [result.exit_code for result in results] == [0, 1, 2, 3], point
            assert {path.read_text() for path in home.glob("ran-*")} == {"x\n"}
            assert list(home.glob("died-at.*")), point


async def test_a_late_minder_finds_nothing_of_a_discarded_attempt(tmp_path: Path) -> None:
    """Delete a finished attempt's files and let an old order arrive: it creates nothing and starts nothing."""
    async with minders(tmp_path) as (launcher, yard):
        nursery = await nursery_of(launcher, yard)
        spec = yard.spec("echo x >> ran")
        sent: list[bytes] = []
        send = link.Link.send

        def remember(self: link.Link, payload: bytes) -> bool:
            sent.append(payload)
            return send(self, payload)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(link.Link, "send", remember)
            await (await launcher.launch(spec)).wait()
        await launcher.discard([yard.ref(spec)])
        assert living(launcher).send(sent[0])
        assert (await (await launcher.launch(yard.spec("true"))).wait()).exit_code == 0
        await launcher.close()
        await settled(nursery)
        assert yard.file("ran").read_text() == "x\n"
        assert not [path for path in yard.status.iterdir() if spec.key in path.name]


@pytest.mark.parametrize("content", ["", "half a li", '{"v":1,"key":"k'])
async def test_a_file_somebody_has_begun_is_nobody_elses(tmp_path: Path, content: str) -> None:
    """Non-empty means "not for you", even where it makes no sense: the order is refused and the file judged."""
    async with minders(tmp_path) as (launcher, yard):
        await nursery_of(launcher, yard)
        spec = yard.spec("touch ran")
        identity = Path(f"{spec.status_path}.pid")

        def begun(_status: str) -> None:
            identity.write_text(content)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("pyscheduler.engine.launcher._create_identity", begun)
            if content:
                with pytest.raises(LaunchError):
                    await launcher.launch(spec)
                assert not yard.file("ran").exists()
                assert not identity.exists()
            else:
                assert (await (await launcher.launch(spec)).wait()).exit_code == 0
