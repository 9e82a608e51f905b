"""What every Launcher promises: the real one on each kind of machine, and the fake that tests and simulations use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pyscheduler.engine.ports import AttemptResult, Finished, LaunchSpec, Lost, Running
from pyscheduler.errors import LaunchError
from tests.contract.launcher_kit import STAGES, Stage


@pytest.fixture(params=list(STAGES))
async def stage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    async with STAGES[request.param](tmp_path) as found:
        yield found


async def ended(stage: Stage, spec: LaunchSpec) -> AttemptResult:
    """Run an attempt to its own end. A start error may be raised or told by the handle."""
    try:
        handle = await stage.launcher.launch(spec)
    except (OSError, ValueError, TypeError, LaunchError) as error:
        return AttemptResult(start_error=str(error))
    await stage.end(spec)
    return await handle.wait()


async def test_an_attempt_ends_with_its_exit_code(stage: Stage) -> None:
    """Whatever the code is, it is told as it was, and nobody stopped it."""
    for code in (0, 3, 255):
        result = await ended(stage, stage.spec(exit_code=code))
        assert (result.exit_code, result.signal, result.start_error, result.stopped_by) == (code, None, None, None)


async def test_a_signal_that_ends_the_job_is_named(stage: Stage) -> None:
    """A job killed by a signal has no exit code."""
    result = await ended(stage, stage.spec(signal=11))
    assert (result.exit_code, result.signal, result.stopped_by) == (None, 11, None)


async def test_what_cannot_be_started_says_why(stage: Stage) -> None:
    """The system's own words reach the operator."""
    result = await ended(stage, stage.spec(missing=True))
    assert result.start_error == "[Errno 2] No such file or directory: 'no-such-program'"


async def test_terminate_ends_it_with_term(stage: Stage) -> None:
    """Who ordered it is told beside the signal."""
    spec = stage.spec()
    handle = await stage.launcher.launch(spec)
    await stage.up(spec)
    handle.terminate("kill", "no longer needed")
    result = await handle.wait()
    assert (result.signal, result.stopped_by) == (15, "kill")


async def test_what_ignores_term_is_killed_after_the_grace(stage: Stage) -> None:
    """KILL comes after `kill_grace`, not before and not never."""
    spec = stage.spec(stubborn=True, kill_grace_s=0.3)
    handle = await stage.launcher.launch(spec)
    await stage.up(spec)
    handle.terminate("kill")
    await stage.pass_time(0.3)
    result = await handle.wait()
    assert (result.signal, result.stopped_by) == (9, "kill")


async def test_kill_needs_no_grace(stage: Stage) -> None:
    """At once, whatever the job thinks of it."""
    handle = await stage.launcher.launch(stage.spec(stubborn=True, kill_grace_s=3600.0))
    handle.kill()
    result = await handle.wait()
    assert result.stopped_by == "kill"
    assert result.signal in (9, None)  # None: it was ordered before anything was started


async def test_the_timeout_is_kept_without_being_asked(stage: Stage) -> None:
    """The limit travels in the order."""
    handle = await stage.launcher.launch(stage.spec(timeout_s=0.3))
    await stage.pass_time(0.3)
    result = await handle.wait()
    assert (result.signal, result.stopped_by) == (15, "timeout")


async def test_a_running_attempt_is_found_and_ends_as_it_ends(stage: Stage) -> None:
    """`find` answers Running with a handle that tells the true end, and Finished afterwards."""
    spec = stage.spec(exit_code=7)
    first = await stage.launcher.launch(spec)
    found = await stage.launcher.find(stage.yard.ref(spec, first.pid))
    assert isinstance(found, Running)
    await stage.end(spec)
    assert (await found.handle.wait()).exit_code == (await first.wait()).exit_code == 7
    after = await stage.launcher.find(stage.yard.ref(spec, first.pid))
    assert isinstance(after, Finished)
    assert after.result.exit_code == 7


async def test_what_was_never_launched_is_lost(stage: Stage) -> None:
    """Nothing was started and nothing can start: the one word a retry may rest on."""
    assert await stage.launcher.find(stage.yard.ref(stage.spec())) == Lost("never started")


async def test_a_cancelled_wait_changes_nothing(stage: Stage) -> None:
    """Waiting again is allowed, before the end and after it."""
    spec = stage.spec(exit_code=5)
    handle = await stage.launcher.launch(spec)
    waiting = asyncio.ensure_future(handle.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await stage.end(spec)
    assert (await handle.wait()).exit_code == 5
    assert (await handle.wait()).exit_code == 5


async def test_a_late_order_to_end_changes_nothing(stage: Stage) -> None:
    """What has ended stays as it ended."""
    spec = stage.spec(exit_code=2)
    handle = await stage.launcher.launch(spec)
    await stage.end(spec)
    result = await handle.wait()
    handle.terminate("kill")
    handle.kill()
    assert await handle.wait() == result


async def test_a_discarded_attempt_is_forgotten(stage: Stage) -> None:
    """Once the outcome is remembered elsewhere nothing is left here; discarding twice harms nothing."""
    spec = stage.spec()
    handle = await stage.launcher.launch(spec)
    await stage.end(spec)
    await handle.wait()
    await stage.launcher.discard([stage.yard.ref(spec)])
    await stage.launcher.discard([stage.yard.ref(spec)])
    assert isinstance(await stage.launcher.find(stage.yard.ref(spec)), Lost)


async def test_many_at_once_keep_apart(stage: Stage) -> None:
    """Each handle tells its own attempt's end."""
    specs = [stage.spec(exit_code=code) for code in range(1, 9)]
    handles = [await stage.launcher.launch(spec) for spec in specs]
    for spec in specs:
        await stage.end(spec)
    assert [(await handle.wait()).exit_code for handle in handles] == list(range(1, 9))
