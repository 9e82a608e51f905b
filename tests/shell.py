"""The command `pysched` as an operator has it: real processes, a real scheduler, a folder of their own.

Whatever a test leaves behind is ended by `Shell.clear`: jobs are known by a mark in their environment, so only
processes that this very shell started are ever signalled. Facts are waited for through the client in this process: a
command for each look would cost half a second.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyscheduler.cli.client import SocketClient
from pyscheduler.cli.main import main
from pyscheduler.cli.session import Session
from pyscheduler.errors import PyschedError

PATIENCE_S = 60.0
"""Longer than anything here takes on a busy machine; a test that needs all of it has failed."""
ROOT = Path(__file__).parent.parent
MARK = "SHELL_OF_TEST"
COMPILED = Path(tempfile.gettempdir()) / f"pysched-tests-{os.getuid()}"
"""Where Python keeps what it compiled: dozens of commands are run, and each would compile everything anew."""


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode()

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        return json.loads(self.raw)


class Shell:
    """Runs `pysched` in one folder with one configuration."""

    def __init__(self, home: Path, text: str | None = None, **env: str) -> None:
        self.home = home
        self.config = home / "pysched.yaml"
        self.mark = secrets.token_hex(8)
        self.log = home / "service.log"
        self.scheduler: subprocess.Popen[bytes] | None = None
        self._env = env
        if text is not None:
            self.write(text)

    def write(self, text: str) -> None:
        """Put another configuration in place, as an editor would."""
        new = self.config.with_suffix(".new")
        new.write_text(text)
        new.replace(self.config)

    # ----------------------------------------------------------------- commands

    @property
    def env(self) -> dict[str, str]:
        """What a command of this shell has in its environment."""
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        path = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH"))))
        own = {"PYTHONPATH": path, "PYTHONPYCACHEPREFIX": str(COMPILED), MARK: self.mark}
        return {**inherited, "LANG": "C.UTF-8", **own, **self._env}

    def command(self, *arguments: str) -> list[str]:
        """Return the words that run a command."""
        return [sys.executable, "-m", "pyscheduler.cli", *arguments]

    def __call__(
        self, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None, patience_s: float = PATIENCE_S
    ) -> Done:
        """Run a command to its end."""
        done = subprocess.run(
            self.command(*arguments),
            input=stdin.encode(),
            capture_output=True,
            cwd=self.home,
            env={**self.env, **(env or {})},
            timeout=patience_s,
            check=False,
        )
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        return Done(done.returncode, done.stdout, done.stderr.decode())

    def inside(self, *arguments: str, encoding: str = "utf-8", **environ: str) -> Done:
        """Run a command in this process, against the same scheduler: for many commands whose process is no matter."""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True) for _ in range(2))
        session = Session(environ={"PATH": os.environ["PATH"], **environ}, folder=self.home)
        with redirect_stdout(out), redirect_stderr(err):
            code = main(arguments, session)
        raw, said = (stream.detach().getvalue() for stream in (out, err))
        assert b"Traceback" not in said, said.decode()
        return Done(code, raw, said.decode())

    def ok(self, *arguments: str, patience_s: float = PATIENCE_S) -> Done:
        """Run a command that must succeed."""
        done = self(*arguments, patience_s=patience_s)
        assert done.code == 0, (arguments, done, self.said())
        return done

    def begin(self, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a command and leave it running."""
        return subprocess.Popen(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.home,
            env={**self.env, **(env or {})},
        )

    # ----------------------------------------------------------------- the scheduler

    def serve(self, *options: str) -> Shell:
        """Start the scheduler and wait until it answers."""
        with self.log.open("ab") as log:
            self.scheduler = subprocess.Popen(
                self.command("serve", *options),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.home,
                env=self.env,
            )
        self.until(self._answers, "it answers")
        return self

    def _answers(self) -> bool:
        assert self.scheduler is not None
        assert self.scheduler.poll() is None, self.said()
        try:
            return bool(self.ask("/api/health")["status"] == "ok")
        except PyschedError:
            return False

    def ask(self, path: str, **query: object) -> Any:
        """Return the scheduler's own answer."""
        return SocketClient(self.config.parent / "state" / "api.sock", self.config).get(path, **query)

    def stop(self) -> int:
        """Stop the scheduler as a service manager would; returns its exit code."""
        assert self.scheduler is not None
        self.scheduler.send_signal(signal.SIGTERM)
        return self.scheduler.wait(PATIENCE_S)

    def said(self) -> str:
        """Return the scheduler's own log."""
        return self.log.read_text() if self.log.exists() else ""

    def clear(self) -> None:
        """End whatever is left: the scheduler, commands, jobs."""
        if self.scheduler is not None and self.scheduler.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                self.stop()
        for pid in self._marked():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.scheduler is not None:
            self.scheduler.wait(PATIENCE_S)

    def _marked(self) -> Iterator[int]:
        wanted = f"{MARK}={self.mark}".encode()
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                with suppress(OSError):
                    if wanted in (entry / "environ").read_bytes().split(b"\0"):
                        yield int(entry.name)

    # ----------------------------------------------------------------- facts

    def trigger(self, job: str, *more: str) -> str:
        """Trigger a job; returns the run's id."""
        run_id: str = self.ok("trigger", job, *more, "--json").json["run"]["run_id"]
        return run_id

    def run(self, run_id: str) -> dict[str, Any]:
        """Return a run in the API's shape."""
        run: dict[str, Any] = self.ask(f"/api/runs/{run_id}")["run"]
        return run

    def until_state(self, run_id: str, *states: str) -> dict[str, Any]:
        """Wait until a run is in one of these states; returns it."""
        self.until(lambda: self.run(run_id)["state"] in states, f"{run_id} is {states}")
        return self.run(run_id)

    def until(self, fact: Callable[[], Any], what: str = "") -> Any:
        """Wait until a fact holds and return it."""
        end = time.monotonic() + PATIENCE_S
        while not (found := fact()):
            assert time.monotonic() < end, f"still not so after {PATIENCE_S} s: {what}\n{self.said()}"
            time.sleep(0.05)
        return found


@contextmanager
def shell(home: Path, text: str | None = None, **env: str) -> Iterator[Shell]:
    """Give a shell in a folder, and clear up after it."""
    home.mkdir(parents=True, exist_ok=True)
    found = Shell(home, text, **env)
    try:
        yield found
    finally:
        found.clear()
