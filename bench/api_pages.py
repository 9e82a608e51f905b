"""How long do the API's pages take, and how late is the loop meanwhile? Promise P6, DESIGN 10.

    python bench/api_pages.py [--jobs 10000] [--runs 20000] [--rounds 20] [--only TEXT]

A real service in this process, on its Unix socket, with so many jobs and a history; a client in another process asks
for one thing after the other, while a 10 ms timer on the service's loop notes how late it rings. One JSON line for
each question with the median and worst time of an answer as the client sees it; then one with the lateness over all.
Pages of 200 rows are the hot ones: 10 ms are the aim.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.history import build
from bench.measure import Lateness, create_fsync_ms, emit
from pyscheduler.service import serve

LOG_LINES = 5_000_000
QUESTIONS = (
    ("health", "/api/health"),
    ("runs, 200 rows", "/api/runs?limit=200"),
    ("runs of a job, 200 rows", "/api/runs?job=job-0000&limit=200"),
    ("runs, 1,000 rows as CSV", "/api/runs?limit=1000&format=csv"),
    ("attempts of 200 runs", "/api/attempts?limit=200"),
    ("logbook, 200 lines", "/api/events?limit=200"),
    ("all jobs", "/api/jobs"),
    ("a job", "/api/jobs/job-0000"),
    ("why", "/api/why?job=job-0000"),
    ("forecast, 24 h", "/api/forecast"),
    ("log, last 200 lines of 39 MB", "/api/runs/{run}/log"),
    ("log, 64 KiB of 39 MB", "/api/runs/{run}/log?offset=20000000"),
    ("log, 39 MB of bytes", "/api/runs/{run}/log?raw=1"),
    ("validate", "/api/config/validate"),
    ("diff", "/api/diff"),
    ("reload", "POST /api/reload"),
)
CLIENT = """
import http.client, json, socket, sys, time
path, rounds, questions = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(path)
for name, question in questions:
    method, _, target = question.rpartition(" ")
    took, size = [], 0
    for _ in range(rounds if method != "POST" else 3):
        connection = Connection("x")
        began = time.perf_counter()
        connection.request(method or "GET", target, headers={"Content-Type": "application/json"})
        answer = connection.getresponse()
        size = len(answer.read())
        took.append((time.perf_counter() - began) * 1000)
        connection.close()
    took.sort()
    print(json.dumps([name, answer.status, size, took[len(took) // 2], took[-1]]), flush=True)
"""


def text(jobs: int) -> str:
    """Return a configuration of so many jobs, each at a minute of its own."""
    lines = ["scheduler: {state_dir: state, log_dir: logs, retention: 9999d}", "jobs:"]
    lines += [f'  job-{n:04d}: {{command: "true", schedule: "{n % 60} {n // 60 % 24} * * *"}}' for n in range(jobs)]
    lines.append(f'  big: {{command: "seq 1 {LOG_LINES}", schedule: manual}}')
    return "\n".join(lines) + "\n"


async def measure(home: Path, rounds: int, only: str) -> None:
    """Serve, ask, and say how long it took."""
    ready, stop = asyncio.Event(), asyncio.Event()
    serving = asyncio.create_task(serve(home / "pysched.yaml", ready=ready, stop=stop))
    await asyncio.wait((serving, asyncio.create_task(ready.wait())), return_when=asyncio.FIRST_COMPLETED)
    assert ready.is_set(), "the service does not start"
    run = await asyncio.to_thread(write_big_log, home)
    with Lateness() as lateness:
        for name, question in QUESTIONS:
            if only not in name:
                continue
            with Lateness() as of_this:
                status, size, median, worst = await ask(home, rounds, name, question.replace("{run}", run))
            emit(
                bench="api_pages",
                question=name,
                status=status,
                bytes=size,
                median_ms=round(median, 2),
                worst_ms=round(worst, 2),
                **of_this.result(),
            )
        emit(bench="api_pages", question="all of it", **lateness.result(), **create_fsync_ms(home))
    stop.set()
    await serving


async def ask(home: Path, rounds: int, name: str, question: str) -> tuple[int, int, float, float]:
    """Let the client ask one question; returns status, bytes, median and worst milliseconds."""
    arguments = (str(home / "state/api.sock"), str(rounds), json.dumps([[name, question]]))
    client = await asyncio.create_subprocess_exec(sys.executable, "-c", CLIENT, *arguments, stdout=subprocess.PIPE)
    output, _ = await client.communicate()
    _, status, size, median, worst = json.loads(output)
    return status, size, median, worst


def write_big_log(home: Path) -> str:
    """Run the job with the big log; returns its run's id."""
    script = """
import http.client, json, socket, sys, time
class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(sys.argv[1])
def ask(method, target):
    connection = Connection("x")
    connection.request(method, target, headers={"Content-Type": "application/json"})
    return json.loads(connection.getresponse().read())
run = ask("POST", "/api/jobs/big/trigger")["run"]["run_id"]
while ask("GET", f"/api/runs/{run}")["run"]["state"] != "succeeded":
    time.sleep(0.1)
print(run)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(home / "state/api.sock")], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def main() -> None:
    """Build, serve, ask."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--jobs", type=int, default=10_000)
    arguments.add_argument("--runs", type=int, default=20_000)
    arguments.add_argument("--rounds", type=int, default=20)
    arguments.add_argument("--only", default="", help="ask only questions whose name contains this")
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "pysched.yaml").write_text(text(asked.jobs))
        os.umask(0o077)
        build(home / "state", asked.runs, open_runs=1000).close()
        asyncio.run(measure(home, asked.rounds, asked.only))


if __name__ == "__main__":
    main()
