"""What do three nodes on one PostgreSQL do, cost and lose? The server is on the same machine, and syncs each commit.

Four questions, a JSON line each: durable runs a second when more is due than three nodes can do; statements a second
and node when nothing is due (the server's own log counts them); from `kill -9` of the authority to the first start
under another, with 1,000 runs open; the same after a graceful stop. `--crew work` asks the first two of `pysched work`.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from bench.measure import create_fsync_ms, emit
from tests.faults.cluster.fleet import STORE, Crew, Fleet, Ground, Slot, fleet
from tests.faults.cluster.ready import ground_of
from tests.faults.cluster.tale import count
from tests.servers.kinds import discard, fresh

NODES = 3
ROOM = {"serve": 64 * NODES, "work": 16}
"""`max_running`: of all nodes of `serve` together, whose runs hold their place from offer to end; of one `work`."""
CREWS = {"serve": ("serve",), "work": ("work", "--sleep", "0.2")}
HEAD = f"""
scheduler: {{state_dir: "@STATE@", log_dir: "@STATE@/logs", store: "${{{STORE}}}", max_running: @ROOM@, @MORE@}}
pools: {{slow: 4}}
defaults: {{overlap: allow, catch_up: all}}
jobs:
"""
DONE = "SELECT count(*) FROM runs WHERE state = 'succeeded'"
STARTED = "SELECT count(*) FROM attempts"
EPOCH = "SELECT coalesce(max(epoch), 0) FROM leases WHERE name = 'authority'"
LEADER = """
SELECT h.app FROM leases l JOIN faults.history h
ON h.tab = 'leases' AND h.old IS NULL AND h.new->>'name' = l.holder_inc WHERE l.name = 'authority'
"""
FRAME = re.compile(r": (BEGIN|COMMIT|ROLLBACK)\b")
NEW_START = "SELECT coalesce(min(started_at), 0) FROM attempts WHERE started_at > %s"


def crew(kind: str, jobs: str, room: int) -> Crew:
    """Return three nodes, each a host of its own."""
    place = "listen: 127.0.0.1:0, cluster: {node: @NODE@, secret: sixteen letters and more}"
    more = place if kind == "serve" else "timezone: UTC"
    return Crew(CREWS[kind], HEAD.replace("@ROOM@", str(room)).replace("@MORE@", more) + jobs, hosts=NODES, processes=1)


@contextmanager
def nodes(made: Crew, ground: Ground, *, bare: bool = False) -> Iterator[Fleet]:
    """Give a fleet that has begun. `bare`: without the tests' wires and their memory of every row, which cost too."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name, fleet(Path(name), made, ground) as found:
        if bare:
            place = ground.server.place
            found.hosts[:] = [replace(host, address=(place.host, place.port)) for host in found.hosts]
            with found.connect() as on:
                on.execute("DROP SCHEMA faults CASCADE")
                on.execute(f'ALTER DATABASE "{found.db}" RESET search_path'.encode())
        found.start_all()
        found.until(lambda: count(found, "SELECT count(*) FROM leases WHERE kind = 'node'") >= NODES, "nodes register")
        yield found


def runs_per_second(kind: str, ground: Ground, jobs: int, seconds: float) -> None:
    """So many jobs are due each second, more than can be done."""
    lines = "".join(f'  j{n:04d}: {{command: ["true"], schedule: "* * * * * *"}}\n' for n in range(jobs))
    with nodes(crew(kind, lines, ROOM[kind]), ground, bare=True) as found:
        found.until(lambda: count(found, DONE) > jobs, "the first hundreds have ended")
        before, began = count(found, DONE), time.monotonic()
        time.sleep(seconds)
        after, took = count(found, DONE), time.monotonic() - began
    emit(question=f"durable runs a second, {NODES} nodes, {kind}", target=">= 250",
         runs_per_second=round((after - before) / took, 1), due_per_second=jobs, seconds=round(took, 1),
         load=os.getloadavg()[0], **create_fsync_ms(ground.server.folder.parent))  # fmt: skip


def idle_statements(kind: str, ground: Ground, seconds: float) -> None:
    """Nothing is due for hours."""
    hour = (time.gmtime().tm_hour + 12) % 24
    with nodes(crew(kind, f'  later: {{command: ["true"], schedule: "0 {hour} * * *"}}\n', 4), ground) as found:
        log = ground.server.folder / "log"
        time.sleep(5)  # starting is not idling
        with found.connect() as on:
            on.execute(f"ALTER DATABASE \"{found.db}\" SET log_statement = 'all'".encode())
            on.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid()"
            )
        time.sleep(8)  # everybody has come back
        at, began = log.stat().st_size, time.monotonic()
        time.sleep(seconds)
        with log.open() as text:
            text.seek(at)
            said = [line for line in text if "LOG:  statement:" in line or "LOG:  execute" in line]
        took = time.monotonic() - began
    plain = [line for line in said if not FRAME.search(line)]
    emit(question=f"statements a second and node, idle, {kind}", target="<= 3",
         statements=round(len(plain) / took / NODES, 2), with_begin_and_commit=round(len(said) / took / NODES, 2),
         seconds=round(took, 1))  # fmt: skip


def failover(kind: str, ground: Ground, how: signal.Signals, open_runs: int) -> None:
    """The authority ends; when does anything start under another?"""
    sleeper = 'command: "sleep 600", schedule: "0 * * * * *", pools: {slow: 1}'
    backlog = "".join(f"  b{n:04d}: {{{sleeper}}}\n" for n in range(open_runs))
    bell = '  bell: {command: ["true"], schedule: "* * * * * *"}\n'
    with nodes(crew(kind, bell + backlog, 8), ground) as found:
        found.until(lambda: count(found, STARTED) > 3, "the bell rings")
        if open_runs:
            found.until(lambda: count(found, "SELECT count(*) FROM runs") > open_runs, "the backlog is due", 90)
        epoch, leader = count(found, EPOCH), _leader(found)
        assert leader.life is not None
        leader.due_s = time.monotonic() + 600
        at, began = count(found, "SELECT db_now()"), time.monotonic()
        leader.life.signal(how)
        while count(found, EPOCH) == epoch:
            assert time.monotonic() - began < 120, found.tell()
            time.sleep(0.01)
        taken_s = time.monotonic() - began
        taken_at = count(found, "SELECT db_now()")
        while not (start := count(found, NEW_START, taken_at)):
            assert time.monotonic() - began < 120, found.tell()
            time.sleep(0.01)
    word = "kill -9" if how is signal.SIGKILL else "a graceful stop"
    emit(question=f"failover after {word}, {open_runs} runs open, {kind}",
         target="<= lease + 1 s" if how is signal.SIGKILL else "<= 1 s",
         first_start_s=round((start - at) / 1e6, 2), authority_taken_s=round(taken_s, 2))  # fmt: skip


def _leader(found: Fleet) -> Slot:
    with found.connect() as on:
        [[app]] = on.execute(LEADER).fetchall()
    return next(slot for slot in found.slots if app.startswith(slot.app))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--crew", choices=CREWS, default="serve")
    options.add_argument("--jobs", type=int, default=400)
    options.add_argument("--seconds", type=float, default=20)
    given = options.parse_args()
    with ExitStack() as stack:
        server = fresh("postgres", durable=True)
        stack.callback(discard, server)
        ground = stack.enter_context(ground_of(server))
        runs_per_second(given.crew, ground, given.jobs, given.seconds)
        idle_statements(given.crew, ground, given.seconds)
        if given.crew == "serve":
            failover(given.crew, ground, signal.SIGKILL, 1000)
            failover(given.crew, ground, signal.SIGTERM, 0)


if __name__ == "__main__":
    main()
