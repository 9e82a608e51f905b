"""A service inside a program of somebody else's: started and stopped by events, and leaving the process as it was."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import logging
import os
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.config import Config
from pyscheduler.engine import core, reopen
from pyscheduler.engine.core import Engine
from pyscheduler.errors import AlreadyServed
from pyscheduler.service import Options, address, house, serve, supervise
from pyscheduler.service.premises import LOCK_NAME, Premises
from pyscheduler.service.ways import Alone, Way
from pyscheduler.store import Batch, Store

TEXT = """
scheduler: {state_dir: state, log_dir: logs}
jobs:
  tick: {command: "true", schedule: "* * * * * *", overlap: allow}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pysched.yaml"
    path.write_text(TEXT)
    return path


async def begun(file: Path, ready: asyncio.Event, stop: asyncio.Event, exits: list[int]) -> asyncio.Task[int]:
    """Start a service as a task and wait until it is ready."""
    serving = asyncio.create_task(serve(file, ready=ready, stop=stop, on_stuck=exits.append))
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)
    assert ready.is_set()
    return serving


async def test_it_leaves_the_process_as_it_was(file: Path) -> None:
    """Umask and the interpreter's switch interval are the program's again; the folder can be served anew."""
    before = os.umask(0o022), sys.getswitchinterval()
    for _ in range(2):
        stop = asyncio.Event()
        exits: list[int] = []
        serving = await begun(file, asyncio.Event(), stop, exits)
        assert sys.getswitchinterval() < before[1]
        stop.set()
        assert await serving == 0
        assert exits == []
    assert (os.umask(before[0]), sys.getswitchinterval()) == (0o022, before[1])


async def test_an_end_that_does_not_come_is_given_up_on(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """P6: a disk that does not answer may keep a thread for ever, never the service: it says so and ends with 1."""
    monkeypatch.setattr(house, "STOP_S", 0.5)
    answering, reached, apply = threading.Event(), threading.Event(), Store.apply

    def hangs(store: Store, batch: Batch) -> None:
        reached.set()
        answering.wait(60)
        apply(store, batch)

    exits: list[int] = []
    stop = asyncio.Event()
    serving = await begun(file, asyncio.Event(), stop, exits)
    monkeypatch.setattr(Store, "apply", hangs)
    await asyncio.to_thread(reached.wait, 30)
    stop.set()
    try:
        assert await serving == 1
        assert exits == [1]
        assert "the end is given up on" in caplog.text
    finally:
        answering.set()


async def test_an_engine_that_cannot_be_made_is_tried_again(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Even a bug of ours is waited out: the next try may go well, and the store is free for it."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(supervise, "FIRST_WAIT_S", 0.05)
    real, tries = Engine, []

    def fails_once(*arguments: object, **more: object) -> object:
        tries.append(arguments)
        if len(tries) == 1:
            raise RuntimeError("a bug of ours")
        return real(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(supervise, "Engine", fails_once)
    stop = asyncio.Event()
    serving = await begun(file, asyncio.Event(), stop, [])
    assert len(tries) == 2
    assert "the scheduler cannot work: a bug of ours" in caplog.text
    stop.set()
    assert await serving == 0


async def test_a_folder_of_another_user_is_told_with_a_way_out(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Exit code 1; an errno is no sentence."""

    def refused(self: Premises) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(self.state_dir / "serve.lock"))

    monkeypatch.setattr(Premises, "enter", refused)
    assert await serve(file) == 1
    assert "serve.lock: this user may not use it (Permission denied); run it as the user that owns" in caplog.text
    assert "Errno" not in caplog.text


async def test_a_standby_that_another_outran_waits_for_that_one(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not end, and takes no address before the folder is its own: the quicker one has that as well."""
    tries, bound = list[Premises](), list[int]()
    enter, bind = Premises.enter, address.bind

    def outrun_once(self: Premises) -> object:
        tries.append(self)
        if len(tries) == 1:
            raise AlreadyServed("another scheduler already serves this state_dir")
        return enter(self)

    def counted(*given: Any) -> object:
        bound.append(len(tries))
        return bind(*given)

    monkeypatch.setattr(Premises, "enter", outrun_once)
    monkeypatch.setattr(address, "bind", counted)
    ready, stop = asyncio.Event(), asyncio.Event()
    serving = asyncio.create_task(serve(file, options=Options(standby=True), ready=ready, stop=stop))
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    stop.set()
    assert await serving == 0
    assert (len(tries), bound) == (2, [2])


def test_who_only_looks_whether_a_folder_is_free_keeps_nobody_out(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A standby looks twice a second, and has the lock for the instant of a look."""
    looking = Premises(tmp_path, file)
    lock = os.open(tmp_path / LOCK_NAME, os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_SH)
    looking.check_free()
    monkeypatch.setattr("pyscheduler.service.premises.time.sleep", lambda _seconds: os.close(lock))
    starting = Premises(tmp_path, file)
    starting.enter().close()
    with pytest.raises(AlreadyServed):
        looking.check_free()
    starting.leave()


async def test_a_start_is_given_up_when_a_stop_is_wished_for(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its recovery is not waited for, and what that had decided so far is nobody's: no run is made after the signal."""
    reached, recover = asyncio.Event(), reopen.reopen

    async def slow(engine: Engine) -> None:
        engine.desk.tray.engine["half"] = "a recovery"
        reached.set()
        await asyncio.Event().wait()
        await recover(engine)

    monkeypatch.setattr(core, "reopen", slow)
    stop = asyncio.Event()
    serving = asyncio.create_task(serve(file, stop=stop))
    await asyncio.wait_for(reached.wait(), 30)
    stop.set()
    assert await asyncio.wait_for(serving, 20) == 0
    with closing(Store.open(file.parent / "state")) as store:
        assert store.open_runs() == []
        assert "half" not in store.engine_values()


async def test_a_store_that_comes_after_the_stop_is_let_go(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who wins the store after the signal opens no engine on it."""
    reached, go_on, opening = asyncio.Event(), asyncio.Event(), Alone.open

    async def slow(ways: Alone, config: Config) -> Way | None:
        reached.set()
        await go_on.wait()
        return await opening(ways, config)

    monkeypatch.setattr(Alone, "open", slow)
    monkeypatch.setattr(supervise, "Engine", lambda *_given, **_more: pytest.fail("an engine was made"))
    stop = asyncio.Event()
    serving = asyncio.create_task(serve(file, stop=stop))
    await asyncio.wait_for(reached.wait(), 30)
    stop.set()
    asyncio.get_running_loop().call_later(0.2, go_on.set)
    assert await asyncio.wait_for(serving, 20) == 0
