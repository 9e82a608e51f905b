"""A scheduler in a process of its own, told what to do line by line: for tests that kill it or stop it.

`python -m tests.conformance.cluster.hand JSON`; each line of standard input is `{"do": "tick" | "work" | "stop" | …}`,
each answer a line of JSON. Its log goes to standard error.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any

from pyscheduler.cluster import Context, Schedule, Scheduler, Task, TaskFailed

_talking = threading.Lock()


def main(given: dict[str, Any]) -> None:
    """Do what the lines of standard input say, until there are no more."""
    schedule = Schedule(*(Task(**each) for each in given["tasks"]), before=_before(given.get("hook")))
    if "reclaim_after" in given:
        schedule.reclaim_after(given["reclaim_after"])
    clock = Path(given["clock"])
    scheduler = Scheduler(
        schedule,
        given["store"],
        state_dir=given["state_dir"],
        now=(lambda: datetime.fromisoformat(clock.read_text())) if not given.get("real_time") else None,
        timing=given["timing"],
        node=given["node"],
    )
    _say(ready=True)
    for line in sys.stdin:
        _do(scheduler, json.loads(line))


def _before(hook: str | None) -> Any:
    """Return a before-run hook that waits for a file to be gone, and leaves one that says it was called."""
    if hook is None:
        return None

    def wait(context: Context) -> bool:
        import time

        Path(f"{hook}-called-{context.run_id}").touch()
        while not Path(f"{hook}-go").exists():
            time.sleep(0.02)
        return True

    return wait


def _do(scheduler: Scheduler, order: dict[str, Any]) -> None:
    what = order.pop("do")
    if what == "stop":
        scheduler.stop()
    elif what == "next":
        found = scheduler.next_run
        _say(next=None if found is None else found.isoformat())
    else:
        threading.Thread(target=_work, args=(scheduler, what, order), daemon=True).start()


def _work(scheduler: Scheduler, what: str, order: dict[str, Any]) -> None:
    try:
        ticked = getattr(scheduler, what)(**order)
    except TaskFailed as failure:
        _say(failure=str(failure), context=str(failure.__context__), **_numbers(failure.ticked))
    except Exception as error:  # told to the test
        _say(error=f"{type(error).__name__}: {error}")
    else:
        _say(**_numbers(ticked))


def _numbers(ticked: Any) -> dict[str, Any]:
    return {each.name: getattr(ticked, each.name) for each in fields(ticked) if each.name != "failures"}


def _say(**answer: object) -> None:
    with _talking:
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    logging.basicConfig(level="INFO", stream=sys.stderr)
    main(json.loads(sys.argv[1]))
