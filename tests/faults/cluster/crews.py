"""The kinds of schedulers that these tests run, and the jobs that they give them."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.faults.cluster import editions
from tests.faults.cluster.fleet import LOG, STORE, Crew
from tests.faults.cluster.history import Room
from tests.faults.cluster.pretence import TIMING

SHORT: Final[dict[str, float]] = {
    "heartbeat": 0.2, "lease": 2.0, "observe": 0.6, "authority_lease": 1.0, "authority_heartbeat": 0.2,
    "authority_observe": 0.6, "authority_margin": 0.3, "kill_grace": 0.3, "margin": 1.4, "sweep": 0.2,
    "heartbeat_timeout": 0.2, "reclaim_after": 2.0,
}  # fmt: skip
"""claims.md C14."""
PATIENT: Final[dict[str, float]] = SHORT | {
    "lease": 4.0, "margin": 1.5, "observe": 3.0, "heartbeat_timeout": 0.8, "reclaim_after": 4.0,
}  # fmt: skip
"""The same for who must not lose anything, on a machine that is busy with other things."""

WORK_JOBS: Final = f"""
scheduler:
  state_dir: "@STATE@"
  log_dir: "@STATE@/logs"
  store: "${{{STORE}}}"
  max_running: 4
defaults: {{catch_up: all, overlap: allow, schedule: "* * * * * *"}}
jobs:
  quick: {{command: "sh @FOLDER@/task.sh ${{{LOG}}} 0.1 0"}}
  quick2: {{command: "sh @FOLDER@/task.sh ${{{LOG}}} 0.1 0"}}
  quick3: {{command: "sh @FOLDER@/task.sh ${{{LOG}}} 0.3 0"}}
  longer: {{command: "sh @FOLDER@/task.sh ${{{LOG}}} 1.2 0"}}
  slow: {{command: "sh @FOLDER@/task.sh ${{{LOG}}} 2.0 0", schedule: "*/2 * * * * *"}}
  again:
    command: "sh @FOLDER@/task.sh ${{{LOG}}} 0.2 3"
    schedule: "*/3 * * * * *"
    retries: {{count: 1, delay: 1s}}
  single: {{command: "sh @FOLDER@/task.sh ${{{LOG}}} 0.1 0", overlap: queue, schedule: "*/5 * * * * *"}}
  {editions.PLACE}
"""
SERVE_JOBS: Final = f"""{WORK_JOBS}
  heavy: {{command: "sh @FOLDER@/task.sh ${{{LOG}}} 0.3 0", pools: {{disk: 2}}, schedule: "*/2 * * * * *"}}
  light: {{command: "sh @FOLDER@/task.sh ${{{LOG}}} 0.3 0", pools: {{disk: 1}}, schedule: "*/2 * * * * *"}}
pools: {{disk: 3}}
"""

WORK_STEPS: Final = (
    ("quick", 1), ("quick2", 1), ("quick3", 1), ("longer", 1), ("slow", 2), ("again", 3), ("single", 5),
    (editions.NAME, editions.EVERY_S),
)  # fmt: skip
SERVE_STEPS: Final = (*WORK_STEPS, ("heavy", 2), ("light", 2))
ONE_AT_A_TIME: Final = Room(max_active={"single": 1})
ROOM: Final = Room({"heavy": ("disk", 2), "light": ("disk", 1)}, {"disk": 3}, {"single": 1})


def work(timing: dict[str, float], config: str = WORK_JOBS, **more: Any) -> Crew:
    """`pysched work`, on three hosts and two on each unless `more` says otherwise."""
    env = ((TIMING, json.dumps(timing)),)
    return Crew(("work", "--sleep", "0.2"), config, env=env, **{"steps": WORK_STEPS, "room": ONE_AT_A_TIME, **more})


def narrow(timing: dict[str, float]) -> Crew:
    """`pysched work` on three hosts with room for one attempt each: where one does nothing, runs wait in line."""
    head = _HEAD.replace("max_running: 4", "max_running: 1").replace('"* * * * * *"', '"*/4 * * * * *"')
    return work(timing, head + _job("one", 3.5) + _job("two", 3.5), processes=1, steps=(("one", 4), ("two", 4)))


def steady(timing: dict[str, float]) -> Crew:
    """`pysched work` on three hosts with less to do than they can."""
    jobs = _HEAD + _job("one", 0.1) + _job("two", 0.5)
    return work(timing, jobs, processes=1, steps=(("one", 1), ("two", 1)))


def lengthy(timing: dict[str, float]) -> Crew:
    """`pysched work` whose every run takes three seconds: longer than a lease, and than its owner's stop."""
    return work(timing, _HEAD + _job("slow", 3), steps=(("slow", 1),))


def _job(name: str, seconds: float) -> str:
    return f'  {name}: {{command: "sh @FOLDER@/task.sh ${{{LOG}}} {seconds} 0"}}\n'


_HEAD: Final = WORK_JOBS.partition("jobs:\n")[0] + "jobs:\n"


def serve(timing: dict[str, float], **more: Any) -> Crew:
    """`pysched serve` with the same jobs: one leads, all run them, four each (`max_running` is the whole cluster's)."""
    times = "".join(f"    {name}: {seconds}s\n" for name, seconds in timing.items() if name not in _DERIVED)
    place = (
        "  listen: 127.0.0.1:0\n  cluster:\n    node: @NODE@\n    capacity: 4\n    secret: sixteen letters and more\n"
    )
    config = SERVE_JOBS.replace("defaults:", f"{place}{times}defaults:", 1).replace("max_running: 4", "max_running: 24")
    return Crew(("serve",), config, **{"steps": SERVE_STEPS, "room": ROOM, **more})


_DERIVED: Final = ("authority_margin", "heartbeat_timeout")
"""Times that the configuration does not name."""
