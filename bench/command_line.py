"""How long does somebody wait for `pysched`? The board, a list, the help, and thirty simulated nights. CLI brief.

    python bench/command_line.py [--jobs 40] [--rounds 20]

A real service with so many jobs, half of which have run today; each command is a process of its own, as typed, with
Python's compiled files in place. One JSON line a command, best and median; beside it what a bare interpreter costs here
(`python -c pass`) and one that has imported click. `status` has 150 ms as its aim, the simulation 5 s.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.measure import emit
from tests.shell import Shell, shell

CHAIN = """
  extract: {command: "true", schedule: "30 2 * * *"}
  transform: {command: "true", depends_on: [extract]}
  load: {command: "true", depends_on: [transform]}
  report: {command: "true", depends_on: [load]}
  clean-up: {command: "true", depends_on: [{job: load, on: failure}]}
"""


def milliseconds(words: list[str], env: dict[str, str], folder: Path, rounds: int) -> list[float]:
    """Return how long the command took, each time, in order."""
    took = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        subprocess.run(words, env=env, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        took.append((time.perf_counter() - began) * 1000)
    return sorted(took[1:])


def tell(question: str, took: list[float], **more: object) -> None:
    """Print one line."""
    emit(
        bench="command_line",
        question=question,
        best_ms=round(took[0], 1),
        median_ms=round(took[len(took) // 2], 1),
        **more,
    )


def measure(pysched: Shell, rounds: int) -> None:
    """Ask each command."""
    for name, source in (("python -c pass", "pass"), ("python, click and http.client", "import click, http.client")):
        tell(name, milliseconds([sys.executable, "-c", source], pysched.env, pysched.home, rounds))
    for words in (["status"], ["runs"], ["why", "job-0"], ["--help"], ["next", "job-0"]):
        aim = {"aim_ms": 150} if words == ["status"] else {}
        tell(
            "pysched " + " ".join(words),
            milliseconds(pysched.command(*words), pysched.env, pysched.home, rounds),
            **aim,
        )
    chain = pysched.home / "chain.yaml"
    chain.write_text("jobs:" + CHAIN)
    words = ["simulate", str(chain), "--from", "2027-05-01", "--to", "2027-05-30"]
    took = milliseconds(pysched.command(*words), pysched.env, pysched.home, 3)
    tell("pysched simulate, 30 nights of 5 jobs", took, aim_ms=5000)


def main() -> None:
    """Serve, run some jobs, ask."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--jobs", type=int, default=40)
    arguments.add_argument("--rounds", type=int, default=20)
    asked = arguments.parse_args()
    jobs = "\n".join(f'  job-{n}: {{command: "true", schedule: manual}}' for n in range(asked.jobs))
    with tempfile.TemporaryDirectory() as folder, shell(Path(folder), f"jobs:\n{jobs}\n") as pysched:
        os.umask(0o077)
        pysched.serve()
        for n in range(0, asked.jobs, 2):
            pysched.trigger(f"job-{n}")
        measure(pysched, asked.rounds)


if __name__ == "__main__":
    main()
