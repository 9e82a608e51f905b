"""The jobs of the crash test, and what each attempt of them must have done: both sides are computed from its run id.

Every attempt appends to a ledger of its own (`ledger/<run id>.<attempt>`): `start KEY UPTIME` as its first act and
`end CODE UPTIME` as its last, uptime in seconds since boot. Between them it prints numbered lines, in two halves with a
pause between, each line with the attempt's own name in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HALF = 120
"""Lines of each half of the output."""

SCRIPT = f"""#!/bin/sh
# One attempt: note the start, print, work, print, note the end, leave with the code that the run's number asks for.
id=$PYSCHED_RUN_ID.$PYSCHED_ATTEMPT
seq=${{PYSCHED_RUN_ID##*.}}
read -r up rest </proc/uptime
echo "start $PYSCHED_ATTEMPT_KEY $up" >>"ledger/$id"
seq -f "$id %g" 1 {HALF}
code=$((seq % 7))
case $1 in
quick) ;;
late) trap 'exit 0' TERM; sleep 20 & wait $! ;;
doomed) trap 'exit 0' TERM; sleep 10 & wait $! ;;
again) sleep 0.1; code=$((PYSCHED_ATTEMPT > seq % 4 ? 0 : 3)) ;;
parent) (sleep 0.5) & sleep 0.2 ;;
*) sleep 0.$((seq % 8 + 1)) ;;
esac
seq -f "$id %g" {HALF + 1} {2 * HALF}
read -r up rest </proc/uptime
echo "end $code $up" >>"ledger/$id"
exit $code
"""

CONFIG = """
scheduler:
  state_dir: state
  log_dir: logs
  max_running: 24
  kill_grace: 1s
defaults: {command: "sh job.sh {job}", overlap: allow, schedule: manual}
jobs:
  quick: {}
  medium: {}
  again: {retries: {count: 2, delay: 1s, backoff: 1}}
  late: {timeout: 1s}
  doomed: {}
  noisy: {max_log: 1M}
  nice: {nice: 3}
  parent: {}
  bell: {schedule: "*/2 * * * * *", catch_up: all}
"""

KINDS = {"quick": 4, "medium": 6, "again": 4, "late": 1, "doomed": 1, "noisy": 2, "nice": 2, "parent": 1}
"""What is triggered, and how often."""
RETRIES = {"again": 2}
DELAY_S = 1.0
BELL_S = 2


def code_of(job: str, seq: int, attempt: int) -> int:
    """Return the exit code that an attempt chooses when it comes to its own end."""
    if job == "again":
        return 0 if attempt > seq % 4 else 3
    return seq % 7


def output_of(run_id: str, attempt: int, lines: int = 2 * HALF) -> str:
    """Return what the attempt prints, or its beginning."""
    return "".join(f"{run_id}.{attempt} {number}\n" for number in range(1, lines + 1))


@dataclass(frozen=True)
class Page:
    """What one attempt's ledger says. `ended_at` is None where the attempt did not come to its own end."""

    keys: tuple[str, ...]
    started_at: float
    code: int | None
    ended_at: float | None


def read_page(path: Path) -> Page | None:
    """Return the ledger of an attempt, None where it has none: it never ran."""
    if not path.exists():
        return None
    lines = [line.split() for line in path.read_text().splitlines()]
    starts = [line for line in lines if line[0] == "start"]
    ends = [line for line in lines if line[0] == "end"]
    assert starts, f"{path.name} has no start: {lines}"
    code, ended_at = (int(ends[0][1]), float(ends[0][2])) if ends else (None, None)
    return Page(tuple(line[1] for line in starts), float(starts[0][2]), code, ended_at)
