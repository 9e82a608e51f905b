"""What do fifty open consoles and 100 requests a second cost the loop? Issue 4, "Speed".

    python -m bench.streams [--consoles 50] [--rate 100] [--seconds 20]

A real service in this process with 1,000 jobs and a history; jobs are triggered all the time, so there is something to
tell. First the loop's lateness without anybody watching, then with consoles (event streams that read everything) and
requests (a list page of 200 rows, a run, the scheduler, an event page) from another process. One JSON line; the rise of
the 99th percentile is what counts. Also how long after a commit's trigger the change is read by every console.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.history import build
from bench.measure import Lateness, create_fsync_ms, emit
from pyscheduler.service import serve

CLIENT = """
import http.client, json, random, selectors, socket, sys, threading, time
path, consoles, rate, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(path)
def ask(method, target, body=None):
    connection = Connection("x")
    try:
        connection.request(method, target, body, {"Content-Type": "application/json"} if method == "POST" else {})
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()
seen, told, frames = {}, [], 0
chooser = selectors.DefaultSelector()
for number in range(consoles):
    watching = socket.socket(socket.AF_UNIX)
    watching.connect(path)
    watching.sendall(b"GET /events HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
    chooser.register(watching, selectors.EVENT_READ, number)
over = threading.Event()
asked = []
def watch():
    global frames
    while not over.is_set():
        for key, _ in chooser.select(0.1):
            data = key.fileobj.recv(65536)
            if key.data == consoles - 1:
                frames += 1
                now = time.monotonic()
                for line in data.split(b"\\n"):
                    if line.startswith(b"data: {") and b'"run_id"' in line:
                        run = json.loads(line[6:].strip(b"\\r"))["run_id"]
                        if run in seen:
                            told.append(now - seen.pop(run))
def request(n):
    targets = ("/api/runs?limit=200", "/api/scheduler", "/api/events?limit=100", "/api/jobs/job-0001")
    began = time.monotonic()
    ask("GET", targets[n % 4])
    asked.append(time.monotonic() - began)
def act():
    n = 0
    while not over.wait(0.2):
        began = time.monotonic()
        run = ask("POST", "/api/jobs/quick/trigger")["run"]["run_id"]
        seen[run] = began
threading.Thread(target=watch, daemon=True).start()
threading.Thread(target=act, daemon=True).start()
turns = list(range(int(rate * seconds)))
begin = time.monotonic()
lock = threading.Lock()
def worker():
    while True:
        with lock:
            if not turns:
                return
            n = turns.pop(0)
        wait = begin + n / rate - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        request(n)
workers = [threading.Thread(target=worker) for _ in range(8)] if rate else []
for each in workers:
    each.start()
for each in workers:
    each.join()
rest = begin + seconds - time.monotonic()
if rest > 0:
    time.sleep(rest)
over.set()
took = time.monotonic() - begin
part = lambda values, q: round(sorted(values)[int(len(values) * q)] * 1000, 1) if values else None
print(json.dumps({
    "requests_per_s": round(len(asked) / took, 1),
    "request_p50_ms": part(asked, 0.5), "request_p99_ms": part(asked, 0.99),
    "frames_per_s": round(frames / took, 2), "told_p50_ms": part(told, 0.5), "told_p99_ms": part(told, 0.99),
}))
"""


def text(jobs: int) -> str:
    """Return a configuration of so many jobs, one of which is triggered."""
    lines = ["scheduler: {state_dir: state, log_dir: logs, listen: 'off', retention: 9999d}", "jobs:"]
    lines += [f'  job-{n:04d}: {{command: "true", schedule: "{n % 60} {n // 60 % 24} * * *"}}' for n in range(jobs)]
    lines.append('  quick: {command: "true", schedule: manual, overlap: allow}')
    return "\n".join(lines) + "\n"


async def load(home: Path, consoles: int, rate: float, seconds: float) -> tuple[dict[str, float], dict[str, float]]:
    """Put a load on the service; returns what the client saw and how late the loop was."""
    arguments = (str(home / "state/api.sock"), str(consoles), str(rate), str(seconds))
    began = time.process_time()
    with Lateness() as lateness:
        client = await asyncio.create_subprocess_exec(sys.executable, "-c", CLIENT, *arguments, stdout=subprocess.PIPE)
        output, _ = await client.communicate()
    found: dict[str, float] = json.loads(output)
    used = {"cpu_percent": round((time.process_time() - began) / seconds * 100, 1)}
    return found, lateness.result() | used


async def measure(home: Path, consoles: int, rate: float, seconds: float) -> None:
    """Serve, measure the quiet and the busy service in turn, and say what changed."""
    ready, stop = asyncio.Event(), asyncio.Event()
    serving = asyncio.create_task(serve(home / "pysched.yaml", ready=ready, stop=stop))
    await asyncio.wait((serving, asyncio.create_task(ready.wait())), return_when=asyncio.FIRST_COMPLETED)
    assert ready.is_set(), "the service does not start"
    await load(home, 1, rate, 3.0)  # what is imported and made on first use is not what is asked about
    for _ in range(2):
        _, quiet = await load(home, 1, 0, seconds)
        seen, busy = await load(home, consoles, rate, seconds)
        emit(
            bench="streams",
            question=f"{consoles} consoles and {rate:g} requests a second",
            target="the loop's p99 lateness rises by <= 5 ms; a change is told within 1 s",
            rise_p99_ms=round(busy["loop_late_p99_ms"] - quiet["loop_late_p99_ms"], 2),
            quiet_p99_ms=quiet["loop_late_p99_ms"],
            quiet_worst_ms=quiet["loop_late_worst_ms"],
            quiet_cpu_percent=quiet["cpu_percent"],
            **busy,
            **seen,
            **create_fsync_ms(home),
        )
    stop.set()
    await serving


def main() -> None:
    """Build, serve, load."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--consoles", type=int, default=50)
    arguments.add_argument("--rate", type=float, default=100)
    arguments.add_argument("--seconds", type=float, default=20)
    arguments.add_argument("--jobs", type=int, default=1000)
    arguments.add_argument("--runs", type=int, default=20_000)
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as folder:
        home = Path(folder)
        (home / "pysched.yaml").write_text(text(asked.jobs))
        os.umask(0o077)
        build(home / "state", asked.runs, open_runs=100).close()
        asyncio.run(measure(home, asked.consoles, asked.rate, asked.seconds))


if __name__ == "__main__":
    main()
