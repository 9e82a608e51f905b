"""Process numbers come round again under a whole engine: its runs are lost, and no stranger is touched. FC-044.

Beside tests/integration/test_minder_pid_reuse.py, which asks the launcher the same; here the store, the recovery, the
retry rules and an operator's kill take part, in a small pid namespace.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

from pyscheduler.config import load_config
from pyscheduler.engine.clock import SystemClock
from pyscheduler.engine.core import Engine
from pyscheduler.engine.launcher import MinderLauncher
from pyscheduler.errors import Conflict
from pyscheduler.minder import kernel
from pyscheduler.store import Store
from tests.integration.test_minder_pid_reuse import buried, inside, namespaces, stranger
from tests.yard import Yard, kill, number_in, until

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(not namespaces(), reason="pid namespaces are impossible here"),
]
TEXT = """
scheduler: {{state_dir: {home}/state, log_dir: {home}/logs, kill_grace: 1s}}
defaults: {{schedule: manual, command: "echo $$$$ > {home}/{{job}}.pid; exec sleep 1000", timeout: 10s}}
jobs:
  once: {{tags: [x]}}
  tried: {{retries: {{count: 1, delay: 1s}}, timeout: 1h}}
"""
TIMEOUT_S = 10.0
"""Longer than it takes to kill everybody on a busy machine: nobody may be timed out before that."""


def new_engine(home: Path) -> Engine:
    """Return an engine on the folder's store, as a restarted scheduler has one."""
    config = load_config(home / "pysched.yaml", env={})
    return Engine(config, Store.open(home / "state"), clock=SystemClock(), launcher=MinderLauncher())


async def everybody_dies_and_strangers_come(yard: Yard) -> None:
    """Scheduler, nursery, minders and jobs go; each number is taken; the next scheduler starts on the store."""
    (yard.home / "pysched.yaml").write_text(TEXT.format(home=yard.home))
    first = new_engine(yard.home)
    await first.start()
    runs = {job: (await first.trigger(job, actor="ann")).run_id for job in ("once", "tried")}
    jobs = [await until(partial(number_in, yard.file(f"{job}.pid"))) for job in runs]
    over_at = time.monotonic() + TIMEOUT_S
    minders = [found.parent for pid in jobs if (found := kernel.stat(pid)) is not None]
    nurseries = {found.parent for pid in minders if (found := kernel.stat(pid)) is not None}
    await first.stop()
    await first.launcher.close()
    numbers = [*nurseries, *minders, *jobs]
    assert len(numbers) == 5
    for pid in numbers:  # the guardians first: nobody sees a job end
        kill(pid)
        await buried(pid)
    strangers = [stranger(pid) for pid in numbers]
    await look_for_them(yard, runs, strangers, over_at)


async def look_for_them(
    yard: Yard, runs: dict[str, str], strangers: list[subprocess.Popen[bytes]], over_at: float
) -> None:
    """Both are lost; the one with a retry runs again; a kill of the ended one is refused; the strangers live on."""
    second = new_engine(yard.home)
    yard.file("tried.pid").unlink()
    await second.start()
    once = second.book.published(runs["once"])
    assert once is not None
    assert (once.state.value, once.reason) == ("failed", "lost")
    with pytest.raises(Conflict):
        await second.kill(runs["once"], actor="ann")
    again = await until(lambda: number_in(yard.file("tried.pid")), "the retry runs")
    assert again not in {one.pid for one in strangers}
    await second.kill(runs["tried"], actor="ann")
    await until(lambda: (run := second.book.published(runs["tried"])) is not None and run.is_final)
    # until the lost attempt's timeout is over: nothing is signalled for its sake
    await asyncio.sleep(max(0.0, over_at + 0.2 - time.monotonic()))
    assert [one.pid for one in strangers if one.poll() is not None] == []
    for one in strangers:
        one.kill()
        one.wait()
    await second.stop()
    await second.launcher.close()


@pytest.mark.parametrize("pidfd", [True, False])
async def test_a_restarted_scheduler_is_not_taken_in_by_numbers(tmp_path: Path, *, pidfd: bool) -> None:
    """FC-044 a, e: lost and tried again by the rules; whoever has the numbers now hears of none of it."""
    environment = {} if pidfd else {"PYSCHED_NO_PIDFD": "1"}
    await inside(tmp_path, everybody_dies_and_strangers_come, **environment)
