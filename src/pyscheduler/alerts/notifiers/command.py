"""Runs a command with the alert as JSON on its standard input. Spec: jobs.md 15.3.

Text runs by `/bin/sh -c`, a list directly. Its environment is what a job inherits: no variable that the configuration
reads as `${NAME}` is in it, and what the command's own text reads of them is visible in the list of processes. Its
whole group is killed when its time is over, and what it says on stderr is kept to the last few kilobytes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from typing import IO, Final

from pyscheduler.alerts.definition import Definition
from pyscheduler.alerts.message import Message, one_line
from pyscheduler.engine.environment import base_environment
from pyscheduler.errors import NotifyError

KEPT_BYTES: Final = 8192
LONGEST_ERROR: Final = 300
LAST_WORDS_S: Final = 0.2
"""How long what a finished command wrote is waited for: a process it left behind may hold the pipe for ever."""


class _Tail(threading.Thread):
    """Reads a pipe to its end and keeps the last bytes."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(name="alert command stderr", daemon=True)
        self._pipe = pipe
        self.kept = b""

    def run(self) -> None:
        with suppress(OSError, ValueError), self._pipe:
            while piece := os.read(self._pipe.fileno(), 65536):
                self.kept = (self.kept + piece)[-KEPT_BYTES:]

    def last_line(self) -> str:
        lines = self.kept.decode("utf-8", "replace").strip().splitlines()
        return one_line(lines[-1])[:LONGEST_ERROR] if lines else ""


class CommandNotifier:
    """Runs `command`."""

    def __init__(self, definition: Definition) -> None:
        given = definition.options["command"]
        self._argv = ["/bin/sh", "-c", given] if isinstance(given, str) else list(given)
        self._timeout_s, self._cwd = definition.timeout_s, definition.folder
        self._env = base_environment(os.environ, definition.withheld)

    def send(self, message: Message) -> None:
        """Return when the command has ended with 0. Raises NotifyError, OSError where it cannot be started."""
        until = time.monotonic() + self._timeout_s
        # In our session but a group of its own: a scheduler that is pid 1 buries only strangers from other sessions.
        process = subprocess.Popen(  # noqa: S603 - running what the configuration says is what this is for
            self._argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=self._cwd,
            env=self._env,
            process_group=0,
        )
        assert process.stdin is not None
        assert process.stderr is not None
        tail = _Tail(process.stderr)
        tail.start()
        threading.Thread(target=_feed, args=(process.stdin, message.body), daemon=True).start()
        try:
            code = process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # not reaped yet, so the number is still its own
            process.wait()
            raise NotifyError(f"the command did not end within {self._timeout_s:g} s") from None
        finally:
            tail.join(LAST_WORDS_S)
        if code != 0:
            how = f"signal {-code}" if code < 0 else f"exit {code}"
            words = tail.last_line()
            raise NotifyError(f"the command ended with {how}{': ' + words if words else ''}")


def _feed(pipe: IO[bytes], body: bytes) -> None:
    """Write the alert; a command that does not read it is no fault."""
    with suppress(OSError, ValueError), pipe:
        pipe.write(body)
