"""The schedulers of these tests: `pysched` as users have it, with what stands for another host.

One process imports everything once and forks a scheduler for each line that it reads, so that starting one again costs
milliseconds and not a second of CPU. Each gets, from its environment, what only a test may set: the host that it
pretends to be on, short times, a mistake on purpose (`mutants.py`).

In: a JSON line {"name", "argv", "env", "log", "cwd"} for each scheduler to start. Out: {"name", "pid"}, and
{"name", "pid", "code"} when it has ended. When its input ends, because the test has ended or was killed, it
kills those that still live, and ends.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
import traceback
from typing import Any, Final

PROGRAM: Final = "from tests.faults.cluster.driver import main; main()"
HEAVY: Final = ("pyscheduler.cli.main", "pyscheduler.service", "pyscheduler.api.app", "sqlalchemy", "psycopg")
LOOK_S: Final = 0.02


def main() -> None:
    """Fork what is asked for until nobody asks any more."""
    for module in HEAVY:  # once, for all of them
        importlib.import_module(module)
    names: dict[int, str] = {}
    pending = b""
    while True:
        ready, _, _ = select.select([0], [], [], LOOK_S)
        if ready:
            piece = os.read(0, 65536)
            if not piece:
                return _end(names)
            *lines, pending = (pending + piece).split(b"\n")
            for line in lines:
                order = json.loads(line)
                pid = _fork(order)
                names[pid] = order["name"]
                _say({"name": order["name"], "pid": pid})
        _reap(names)


def _end(names: dict[int, str]) -> None:
    for pid in names:
        os.kill(pid, signal.SIGKILL)


def _reap(names: dict[int, str]) -> None:
    while names:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        _say({"name": names.pop(pid), "pid": pid, "code": os.waitstatus_to_exitcode(status)})


def _say(words: dict[str, Any]) -> None:
    os.write(1, json.dumps(words).encode() + b"\n")


def _fork(order: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        _become(order)
        code = _scheduler(order["argv"])
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _become(order: dict[str, Any]) -> None:
    """Be a process of its own: session, folder, output, environment."""
    os.setsid()
    os.chdir(order["cwd"])
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    for mine, well_known in ((null, 0), (log, 1), (log, 2)):
        os.dup2(mine, well_known)
    os.closerange(3, 64)
    os.environ.update(order["env"])
    signal.set_wakeup_fd(-1)


def _scheduler(argv: list[str]) -> int:
    """Run the command as the program `pysched` would; returns its exit code."""
    from pyscheduler.cli.main import main as pysched
    from tests.faults.cluster.pretence import pretend

    pretend(os.environ)
    return pysched(argv)
