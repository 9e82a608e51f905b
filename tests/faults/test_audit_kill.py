"""Killed with −9 at any instant, no action that was done is without its row in the audit log.

Operators trigger runs through the API until the service is killed, several at once, round after round from a seed.
"""

from __future__ import annotations

import http.client
import random
import threading
from collections import Counter
from pathlib import Path

from pyscheduler.model.audit import DONE, INTERRUPTED
from pyscheduler.store import AuditQuery, LineQuery, Peek
from tests.serving import Served, served

TEXT = """
scheduler: {state_dir: state, log_dir: logs, max_running: 1}
jobs:
  one: {command: "true", schedule: manual, overlap: allow}
"""
ROUNDS, OPERATORS = 4, 6


def test_no_action_is_without_its_row(tmp_path: Path) -> None:
    """As many rows as runs, and no answer that the log does not know; the chain holds after every kill."""
    chance, answered = random.Random("audit"), 0
    with served(tmp_path, TEXT) as service:
        for _ in range(ROUNDS):
            service.start()
            answered += killed_after(chance.randrange(5, 40), service)
        service.start()
        service.until(lambda: not announced(service), "what was interrupted is written down")
        service.stop()
        peek = Peek.open(service.state)
        assert peek is not None
        with peek:
            made = peek.lines(LineQuery(action="trigger", limit=1000)).items
            rows = peek.audit_entries(AuditQuery(action="trigger", limit=1000)).items
            assert peek.verify_audit().broken is None
    results = Counter(row.result for row in rows)
    assert set(results) <= {DONE, INTERRUPTED}
    assert results[DONE] >= answered >= ROUNDS
    assert len(rows) >= len(made) >= results[DONE]
    assert Counter(row.reason for row in rows) >= Counter(str(line.detail["reason"]) for line in made)


def announced(service: Served) -> bool:
    peek = Peek.open(service.state)
    assert peek is not None
    with peek:
        return any(key.startswith("audit_announced") for key in peek.engine_values())


def killed_after(count: int, service: Served) -> int:
    """Trigger runs until so many were answered, and kill it; returns how many were answered in the end."""
    lock, enough, answers = threading.Lock(), threading.Event(), [0]

    def operate(name: int) -> None:
        number = 0
        while True:
            number += 1
            try:
                service.post("/api/jobs/one/trigger", reason=f"{service.pid} {name} {number}")
            except (OSError, http.client.HTTPException):
                return
            with lock:
                answers[0] += 1
                if answers[0] >= count:
                    enough.set()

    operators = [threading.Thread(target=operate, args=(name,)) for name in range(OPERATORS)]
    for operator in operators:
        operator.start()
    assert enough.wait(60)
    service.kill()
    for operator in operators:
        operator.join(60)
    return answers[0]
