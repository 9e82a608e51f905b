"""A real service in a process of its own, spoken to over its socket: what integration and conformance tests share.

Whatever a test leaves behind is ended by `Served.clear`: jobs are known by a mark in their environment, so only
processes that this very service started are ever signalled.
"""

from __future__ import annotations

import http.client
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE_S = 60.0
"""Longer than anything here takes on a busy machine; a test that needs all of it has failed."""
ROOT = Path(__file__).parent.parent
MARK = "SERVED_BY_TEST"
DRIVER = """
import sys
from pyscheduler.service import Options, run
from pyscheduler.service.logs import logging_to
with logging_to(level="DEBUG" if "--debug" in sys.argv else "INFO"):
    code = run(sys.argv[1], Options(
        exit_on_failure="--exit-on-failure" in sys.argv,
        allow_inactive="--allow-inactive" in sys.argv,
        standby="--standby" in sys.argv,
    ))
sys.exit(code)
"""

SLOW_TO_REOPEN = """
from pyscheduler.service import supervise
supervise.FIRST_WAIT_S = 5.0
"""
"""Before a driver: the next engine comes in five seconds. A store that has failed on a full disk may well be opened
again, whatever is still full, for its log is emptied as it closes: time to look at it as it stands until then."""


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: Any
    headers: Mapping[str, str]


def connected(path: Path) -> socket.socket:
    """Return a connection to a Unix socket, reached through its folder: its path may be long."""
    folder = os.open(path.parent, os.O_PATH)
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        found.settimeout(PATIENCE_S)
        found.connect(f"/proc/self/fd/{folder}/{path.name}")
    except BaseException:
        found.close()
        raise
    finally:
        os.close(folder)
    return found


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("scheduler", timeout=PATIENCE_S)
        self._path = path

    def connect(self) -> None:
        self.sock = connected(self._path)


class Served:
    """One home folder, its configuration, and the service that is started on it, perhaps several times."""

    def __init__(
        self,
        home: Path,
        text: str,
        *,
        wrapper: tuple[str, ...] = (),
        env: Mapping[str, str] | None = None,
        driver: str = DRIVER,
    ) -> None:
        self.home, self.state = home, home / "state"
        self.file = home / "pysched.yaml"
        self.write(text)
        self.mark = secrets.token_hex(8)
        self.log = home / "service.log"
        self._wrapper, self.driver = wrapper, driver
        self._env = dict(env or {})
        self.process: subprocess.Popen[bytes] | None = None

    def write(self, text: str) -> None:
        """Put another configuration in place, as an editor would."""
        self.write_as("new", text)

    def write_as(self, draft: str, text: str) -> None:
        """Put another configuration in place through a draft of this name: several writers need one each."""
        new = self.file.with_suffix(f".{draft}")
        new.write_text(text)
        new.replace(self.file)

    # ----------------------------------------------------------------- the process

    def start(self, *options: str, ready: bool = True, umask: int = -1, env: Mapping[str, str] | None = None) -> Served:
        """Start it, and wait until it is ready unless told otherwise. `env` is for this start only."""
        path = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH"))))
        common = {"PYTHONPATH": path, MARK: self.mark, "PYTHONUNBUFFERED": "1"}
        env = os.environ | common | self._env | dict(env or {})
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self._wrapper, sys.executable, "-c", self.driver, str(self.file), *options],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.home,
                umask=umask,
            )
        if ready:
            self.until(self.is_well, "ready")
        return self

    @property
    def pid(self) -> int:
        """The service's process."""
        assert self.process is not None
        return self.process.pid

    def signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def wait(self) -> int:
        """Wait for its end; returns the exit code."""
        assert self.process is not None
        return self.process.wait(PATIENCE_S)

    def stop(self) -> int:
        """Stop it as a service manager would; returns the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """End it without a word."""
        self.signal(signal.SIGKILL)
        self.wait()

    def clear(self) -> None:
        """End whatever is left: the service, and the jobs it started."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for pid in self.marked():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def marked(self) -> list[int]:
        """Return the processes that carry this service's mark, itself left out."""
        wanted = f"{MARK}={self.mark}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and int(entry.name) not in (os.getpid(), self.process and self.process.pid):
                with suppress(OSError):
                    if wanted in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
        return found

    def said(self) -> str:
        """Return the service's own log."""
        return self.log.read_text()

    # ----------------------------------------------------------------- its socket

    @property
    def socket(self) -> Path:
        """Where it listens, as seen from here: a service with mounts of its own is reached through /proc."""
        return self.inside(self.state / "api.sock")

    def inside(self, path: Path) -> Path:
        """Return a path as the service sees it."""
        return Path(f"/proc/{self.pid}/root{path}") if self._wrapper else path

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        *,
        raw: bool = False,
    ) -> Answer:
        """Send one request."""
        connection = _Connection(self.socket)
        try:
            sent = {"Content-Type": "application/json"} if method == "POST" else {}
            payload = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
            connection.request(method, path, payload, sent | dict(headers or {}))
            response = connection.getresponse()
            data = response.read()
            is_json = response.getheader("Content-Type", "").startswith("application/json")
            answer: Any = data if raw else json.loads(data) if is_json else data.decode()
            return Answer(response.status, answer, dict(response.getheaders()))
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """Return the body of a GET that must succeed."""
        answer = self.ask("GET", path)
        assert answer.status == 200, answer
        return answer.body

    def post(self, path: str, **body: object) -> Any:
        """Return the body of a POST that must succeed."""
        answer = self.ask("POST", path, body)
        assert answer.status == 200, answer
        return answer.body

    def health(self) -> Answer | None:
        """Return the answer of the health route, None where nobody listens."""
        try:
            return self.ask("GET", "/api/health")
        except OSError:
            return None

    def is_well(self) -> bool:
        """Whether it answers and its engine runs. A service that has ended will not."""
        assert self.process is not None
        assert self.process.poll() is None, f"it has ended: {self.said()}"
        health = self.health()
        return health is not None and health.status == 200

    # ----------------------------------------------------------------- runs

    def trigger(self, job: str, **body: object) -> str:
        """Trigger a job; returns the run's id."""
        run_id: str = self.post(f"/api/jobs/{job}/trigger", **body)["run"]["run_id"]
        return run_id

    def run(self, run_id: str) -> dict[str, Any]:
        """Return a run."""
        found: dict[str, Any] = self.get(f"/api/runs/{run_id}")["run"]
        return found

    def state_of(self, run_id: str) -> str:
        """Return a run's state."""
        return str(self.run(run_id)["state"])

    def until_state(self, run_id: str, *states: str) -> dict[str, Any]:
        """Wait until a run is in one of these states; returns it."""
        self.until(lambda: self.state_of(run_id) in states, f"{run_id} is {states}")
        return self.run(run_id)

    def until(self, fact: Callable[[], Any], what: str = "") -> Any:
        """Wait until a fact holds and return it."""
        end = time.monotonic() + PATIENCE_S
        while not (found := fact()):
            assert time.monotonic() < end, f"still not so after {PATIENCE_S} s: {what}\n{self.said()}"
            time.sleep(0.02)
        return found


def can_mount() -> bool:
    """Whether this user may have mounts of its own: root, or through an unprivileged user namespace."""
    return subprocess.run([*_unshare(), "mount", "-t", "tmpfs", "x", "/mnt"], capture_output=True).returncode == 0


def _unshare() -> tuple[str, ...]:
    return ("unshare", "-m") if os.geteuid() == 0 else ("unshare", "-Urm")


def on_tmpfs(folder: Path, options: str) -> tuple[str, ...]:
    """Return what to put before a command so that it sees a small file system of its own at `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    script = f'mount -t tmpfs -o {options} x "$0" && exec "$@"'
    return (*_unshare(), "sh", "-c", script, str(folder))


@contextmanager
def served(home: Path, text: str, **more: Any) -> Iterator[Served]:
    """Give a service that is not started yet, and clear up after it."""
    service = Served(home, text, **more)
    try:
        yield service
    finally:
        service.clear()
