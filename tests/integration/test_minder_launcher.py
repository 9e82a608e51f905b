"""What every Launcher promises, asked of the real one with real processes."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.engine.launcher import MinderLauncher, read_status
from pyscheduler.engine.minding import finding, sight
from pyscheduler.engine.ports import Finished, Lost, Running
from pyscheduler.errors import LaunchError
from pyscheduler.minder import kernel
from tests.yard import Yard, alive, number_in, until


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


@pytest.fixture
async def launcher() -> AsyncIterator[MinderLauncher]:
    real = MinderLauncher()
    yield real
    await real.close()


async def test_an_attempt_ends_with_its_exit_code(launcher: MinderLauncher, yard: Yard) -> None:
    """The handle's word, the note's word and the job's own exit code are one."""
    spec = yard.spec("echo out; echo err >&2; exit 3")
    handle = await launcher.launch(spec)
    result = await handle.wait()
    assert (result.exit_code, result.signal, result.start_error, result.stopped_by) == (3, None, None, None)
    assert read_status(spec.status_path) == result
    assert yard.out(spec) == "out\n"
    assert spec.stderr_path is not None
    assert spec.stderr_path.read_text() == "err\n"


async def test_a_signal_that_ends_the_job_is_named(launcher: MinderLauncher, yard: Yard) -> None:
    """A job killed by a signal has no exit code."""
    result = await (await launcher.launch(yard.spec("kill -SEGV $$"))).wait()
    assert (result.exit_code, result.signal) == (None, 11)


async def test_a_missing_program_is_a_start_error_in_the_systems_words(launcher: MinderLauncher, yard: Yard) -> None:
    """A list command that does not exist says so with the full text; nothing is hidden behind a code 127."""
    result = await (await launcher.launch(yard.spec("no-such-program", "x"))).wait()
    assert result.start_error == "[Errno 2] No such file or directory: 'no-such-program'"


async def test_what_cannot_be_execd_is_refused_before_any_file_exists(launcher: MinderLauncher, yard: Yard) -> None:
    """A NUL in the command is a ValueError, and no identity is left for anybody to begin."""
    with pytest.raises(ValueError, match="NUL"):
        await launcher.launch(yard.spec("echo", "a\0b"))
    assert list(yard.status.glob("*.json*")) == []


async def test_kill_ends_at_once_and_terminate_after_the_grace(launcher: MinderLauncher, yard: Yard) -> None:
    """TERM may be ignored for `kill_grace`; KILL may not."""
    stubborn = "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done"
    for grace, kill in ((0.2, False), (60.0, True)):
        handle = await launcher.launch(yard.spec(stubborn, kill_grace_s=grace))
        pid = await until(lambda: number_in(yard.file("pid")))
        if kill:
            handle.kill()
        else:
            handle.terminate("kill", "enough")
        result = await handle.wait()
        assert (result.signal, result.stopped_by) == (9, "kill")
        assert not alive(pid)
        yard.file("pid").unlink()


async def test_the_timeout_is_kept_by_the_guardian(launcher: MinderLauncher, yard: Yard) -> None:
    """Nobody has to ask: the limit travels in the order."""
    result = await (await launcher.launch(yard.spec("exec sleep 60", timeout_s=0.2))).wait()
    assert (result.stopped_by, result.signal) == ("timeout", 15)


async def test_a_running_attempt_is_adopted_by_the_next_launcher(launcher: MinderLauncher, yard: Yard) -> None:
    """A launcher that never started it finds it running, and its true end."""
    spec = yard.spec("while [ ! -e go ]; do sleep 0.02; done; exit 7")
    handle = await launcher.launch(spec)
    await launcher.close()
    other = MinderLauncher()
    found = await other.find(yard.ref(spec, handle.pid))
    assert isinstance(found, Running)
    yard.file("go").touch()
    assert (await found.handle.wait()).exit_code == 7
    assert isinstance(await other.find(yard.ref(spec)), Finished)
    await other.close()


async def test_an_order_nobody_began_is_lost_and_never_started(launcher: MinderLauncher, yard: Yard) -> None:
    """An empty identity is unlinked, so that no late minder can begin; without any file the answer is the same."""
    spec = yard.spec("true")
    yard.status.mkdir()
    identity = Path(f"{spec.status_path}.pid")
    identity.touch()
    assert await launcher.find(yard.ref(spec)) == Lost("never started")
    assert not identity.exists()
    assert await launcher.find(yard.ref(spec)) == Lost("never started")


async def test_waiting_again_and_after_a_cancel_is_allowed(launcher: MinderLauncher, yard: Yard) -> None:
    """A cancelled wait changes nothing for the attempt."""
    handle = await launcher.launch(yard.spec("while [ ! -e go ]; do sleep 0.02; done"))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(handle.wait(), 0.05)
    yard.file("go").touch()
    assert (await handle.wait()).exit_code == 0
    assert (await handle.wait()).exit_code == 0


async def test_discard_removes_every_file_of_the_attempt(launcher: MinderLauncher, yard: Yard) -> None:
    """Note, identity and order to stop go together, and discarding again harms nothing."""
    spec = yard.spec("sleep 60", kill_grace_s=0.5)
    handle = await launcher.launch(spec)
    handle.terminate("kill")
    await handle.wait()
    await launcher.discard([yard.ref(spec)])
    await launcher.discard([yard.ref(spec)])
    assert list(yard.status.iterdir()) == []


async def test_sweep_removes_what_is_final_and_names_what_nobody_knows(launcher: MinderLauncher, yard: Yard) -> None:
    """Final goes, open stays, unknown stays and is told."""
    specs = {name: yard.spec("true") for name in ("final", "open", "unknown")}
    for spec in specs.values():
        await (await launcher.launch(spec)).wait()
    known = {specs["final"].key: True, specs["open"].key: False}
    assert await launcher.sweep(yard.status, known.get) == (specs["unknown"].status_path,)
    left = {path.name.split(".")[4] for path in yard.status.iterdir()}
    assert left == {specs["open"].key, specs["unknown"].key}


async def test_who_cannot_look_does_not_call_it_lost(
    launcher: MinderLauncher, yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that cannot be read is no proof of anything: the attempt counts as running until it can."""
    monkeypatch.setattr(finding, "ROUND_S", 0.1)
    spec = yard.spec("exit 3")
    await (await launcher.launch(spec)).wait()
    other = MinderLauncher()
    look = sight.grab
    faults = iter([OSError(5, "Input/output error")] * 3)

    def fail(*args: Any, **kwargs: Any) -> Any:
        for fault in faults:
            raise fault
        return look(*args, **kwargs)

    monkeypatch.setattr(sight, "grab", fail)
    found = await other.find(yard.ref(spec))
    assert isinstance(found, Running)
    await until(lambda: found.handle.remark == "cannot look after it: [Errno 5] Input/output error")
    assert (await found.handle.wait()).exit_code == 3
    await other.close()


async def test_a_file_that_cannot_be_removed_is_left_to_the_next_sweep(
    launcher: MinderLauncher, yard: Yard, caplog: pytest.LogCaptureFixture
) -> None:
    """Discarding never fails an engine: the fault is named and the file stays."""
    spec = yard.spec("exit 3")
    await (await launcher.launch(spec)).wait()
    obstacle = Path(f"{spec.status_path}.stop")
    obstacle.mkdir()
    await launcher.discard([yard.ref(spec)])
    assert list(yard.status.iterdir()) == [obstacle]
    assert "Is a directory" in caplog.text


async def test_a_launcher_that_is_dropped_lets_its_nursery_go(yard: Yard) -> None:
    """Seed 000's program never closes one: after its loop and its last user nothing of it may stay."""

    def first() -> int:
        async def main() -> int:
            handle = await MinderLauncher().launch(yard.spec("exit 3"))
            assert (await handle.wait()).exit_code == 3
            found = kernel.stat(handle.pid or 0)
            assert found is not None
            return found.parent

        return asyncio.run(main())

    nursery = await asyncio.to_thread(first)
    gc.collect()
    await until(lambda: not alive(nursery), "the nursery has ended")


async def test_a_closed_launcher_takes_no_orders(launcher: MinderLauncher, yard: Yard) -> None:
    """Refused means refused: no file is made."""
    await launcher.close()
    with pytest.raises(LaunchError):
        await launcher.launch(yard.spec("true"))
    assert not yard.status.exists()
