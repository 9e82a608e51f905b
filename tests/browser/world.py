"""A real service with a day full of trouble, reachable by a browser: what every browser test stands on.

The service speaks on its Unix socket; `Relay` hands a loopback port on to it, so that the tests need no free port in
the configuration and are known by the kernel as the user who runs them. `fill` starts real jobs and waits until each
stands where its name says.
"""

from __future__ import annotations

import contextlib
import re
import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path

from tests.hours import MIDNIGHT, NIGHTLY, clear_of
from tests.serving import Served, connected, served

ZONE = "Europe/Berlin"
TEXT = r"""
scheduler:
  name: night-house
  timezone: Europe/Berlin
  state_dir: state
  log_dir: logs
  max_running: 6
pools: {db: 1}
jobs:
  load-ledger:
    command: "echo 'reading 4711 rows'; echo 'no space left on device' >&2; exit 3"
    schedule: manual
    criticality: critical
    tags: [finance, nightly]
    owner: ann
    description: "Loads the day's postings into the ledger"
  close-books: {command: "true", depends_on: [load-ledger], criticality: high, tags: [finance]}
  send-statements: {command: "true", depends_on: [close-books], tags: [finance, mail]}
  extract-orders: {command: "seq 1 2000", schedule: manual, tags: [nightly]}
  transform-orders: {command: "sleep 0.2; echo done", depends_on: [extract-orders], tags: [nightly]}
  flaky-feed: {command: "exit 3", schedule: manual, retries: {count: 3, delay: 30m}}
  long-report:
    command: |
      for i in 1 2 3; do printf "\033[32mstep %s\033[0m of \033[1mthe report\033[0m\n" $i; done
      until [ -e go ]; do sleep 0.2; done
    schedule: manual
    description: "Runs until the file go appears"
  pooled-first: {command: "until [ -e go ]; do sleep 0.2; done", schedule: manual, pools: {db: 1}}
  pooled-second: {command: "true", schedule: manual, pools: {db: 1}}
  held-export: {command: "true", schedule: manual}
  skipped-check: {command: "true", schedule: manual}
  cancelled-copy: {command: "true", schedule: manual}
  quick: {command: "echo quick", schedule: manual, tags: [fast]}
  hostile:
    command: |
      printf "<script>alert(1)</script>\n\377\376 bad bytes\n"
      printf "\033[31mred\033[0m \033[38;5;208morange\033[0m\n"
      exit 1
    schedule: manual
    description: "<img src=x onerror=alert(1)>"
    tags: ["a<b>&c"]
  careful: {command: "true", schedule: manual, require_reason: true}
  noisy: {command: "seq 1 200000", schedule: manual}
  nightly: {command: "true", schedule: "30 2 * * *"}
"""


class Relay:
    """Hands connections to a loopback port on to a Unix socket, one thread for all of them."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.is_cut = False
        """While it is, nothing passes in either direction: what a lost network looks like."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(near,), daemon=True).start()

    def _carry(self, near: socket.socket) -> None:
        with contextlib.suppress(OSError), near, connected(self._target) as far, selectors.DefaultSelector() as ready:
            ready.register(near, selectors.EVENT_READ, far)
            ready.register(far, selectors.EVENT_READ, near)
            while not self._stop.is_set():
                for key, _ in ready.select(0.1):
                    if self.is_cut:
                        return
                    assert isinstance(key.fileobj, socket.socket)
                    data = key.fileobj.recv(65536)
                    if not data:
                        return
                    key.data.sendall(data)
                if self.is_cut:
                    return

    def close(self) -> None:
        """Take nothing more; what is under way ends by itself."""
        self._stop.set()
        self._listening.close()


class World:
    """A service, the runs it was filled with by job, and its address."""

    def __init__(self, service: Served, relay: Relay) -> None:
        self.service, self.relay = service, relay
        self.url = f"http://127.0.0.1:{relay.port}"
        self.runs: dict[str, str] = {}
        self.today = str(service.get("/api/health")["today"])

    def trigger(self, job: str, **body: object) -> str:
        """Start a job's run; returns its id."""
        self.runs[job] = self.service.trigger(job, **body)
        return self.runs[job]

    def latest(self, job: str) -> str:
        """Return the id of a job's newest run."""
        return str(self.service.get(f"/api/runs?job={job}&limit=1")["runs"][0]["run_id"])

    def act(self, job: str, action: str, **body: object) -> None:
        """Act on a job's run."""
        self.service.post(f"/api/runs/{self.runs[job]}/{action}", **body)

    def fill(self) -> None:
        """Bring about a run in every state, and wait until each is there."""
        until = self.service.until_state
        for back in (1, 2, 3):
            day = date.fromisoformat(self.today) - timedelta(days=back)
            until(self.service.trigger("quick", run_date=day.isoformat()), "succeeded")
        until(self.trigger("load-ledger"), "failed")
        until(self.trigger("extract-orders"), "succeeded")
        self.service.until(lambda: self.service.get("/api/runs?job=transform-orders")["runs"], "what follows it")
        until(self.latest("transform-orders"), "succeeded")
        until(self.trigger("flaky-feed"), "retry_wait")
        until(self.trigger("long-report"), "running")
        until(self.trigger("pooled-first"), "running")
        until(self.trigger("pooled-second"), "queued")
        until(self.trigger("hostile"), "failed")
        until(self.trigger("quick"), "succeeded")
        self.trigger("noisy")
        until(self.runs["noisy"], "succeeded")
        for job in ("close-books", "send-statements"):
            until(self.latest(job), "blocked")
        self.service.post("/api/scheduler/pause", reason="while the day is being set up")
        for job in ("held-export", "skipped-check", "cancelled-copy"):
            until(self.trigger(job), "queued")
        self.act("held-export", "hold", reason="the other side is not ready")
        self.act("skipped-check", "skip", reason="checked by hand")
        self.act("cancelled-copy", "cancel", reason="not needed today")
        self.service.post("/api/scheduler/resume")


@contextmanager
def world(home: Path, text: str = TEXT, *, filled: bool = True) -> Iterator[World]:
    """Give a running service with a day full of trouble; everything it started is ended afterwards."""
    named = re.search(r"timezone: ([\w/]+)", text)
    clear_of(MIDNIGHT, NIGHTLY, zone=named[1] if named else "UTC")
    with served(home, text) as service:
        service.start()
        relay = Relay(service.socket)
        try:
            found = World(service, relay)
            if filled:
                found.fill()
            yield found
        finally:
            relay.close()
