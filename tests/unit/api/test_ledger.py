"""What an entry of the audit log says of an error, and how long its texts may be."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pyscheduler.api.ledger import LONGEST, LONGEST_NAME, answered, bounded, result_of
from pyscheduler.errors import ConfigError, Conflict, PyschedError, StoreError, Unavailable
from pyscheduler.model.audit import AuditEntry
from pyscheduler.model.problem import Problem, Severity

NOON = datetime(2027, 5, 20, 12, tzinfo=UTC)
PROBLEM = Problem("pysched.yaml", 3, 1, "there is no job x", "", None, Severity.ERROR)


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (Conflict("it is running"), "refused 409 it is running"),
        (Unavailable("scheduler is stopping"), "failed 503 scheduler is stopping"),
        (StoreError("the disk is full"), "failed the disk is full"),
        (ConfigError([PROBLEM]), f"refused 400 the configuration has errors: {PROBLEM}"),
    ],
)
def test_an_error_says_whether_it_was_refused_or_failed(error: PyschedError, result: str) -> None:
    """Who asked is to blame, or we are."""
    assert result_of(error) == result


def test_an_answer_says_it_by_its_status() -> None:
    """Below 400 all is done."""
    assert answered(303, "") == "done"
    assert answered(403, "") == "refused 403"


def test_texts_are_cut() -> None:
    """A row stays small, whatever was typed."""
    long = "x" * 100_000
    entry = AuditEntry(
        at=NOON,
        actor=long,
        action=long,
        subject=long,
        reason=long,
        result=long,
        address=long,
        detail={"a": 1, "b": long},
    )
    found = bounded(entry)
    assert {len(text) for text in (found.actor, found.action, found.subject, found.address)} == {LONGEST_NAME}
    assert {len(text) for text in (found.reason, found.result)} == {LONGEST}
    assert found.detail == {"a": 1, "cut": True}
