"""Record ↔ row. Spec: pipeline.md 13."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypepper.scheduler.status import Status
from pypepper.scheduler.store.interfaces import JobRecord
from pypepper.scheduler.store.rows import to_record, to_row

PLAIN = JobRecord("a", None, "c", "Scheduled", "born", "born")
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3))


@given(
    payload=st.none() | st.dictionaries(st.text(), JSON),
    results=st.none() | st.lists(JSON),
    error=st.none() | st.text(),
)
def test_there_and_back(payload: dict[str, object] | None, results: list[object] | None, error: str | None) -> None:
    """What JSON can say comes back the same; an empty payload stays empty, None stays None."""
    record = replace(PLAIN, payload=payload, results=results, error=error)
    assert to_record(to_row(record)) == record


def test_a_row_has_every_field_of_a_record() -> None:
    """No field is forgotten, and the status is written as plain text."""
    row = to_row(replace(PLAIN, status=Status.FAILED, version=4, workflow_count=2, category="k"))
    assert row == asdict(replace(PLAIN, status="Failed", version=4, workflow_count=2, category="k"))
    assert type(row["status"]) is str


def test_what_none_means() -> None:
    """None is null, not the JSON word."""
    assert (to_row(PLAIN)["payload"], to_row(PLAIN)["results"]) == (None, None)
    assert to_row(replace(PLAIN, payload={}))["payload"] == "{}"


def test_version_0_reads_as_1() -> None:
    """pipeline.md 13: rows of the first releases."""
    assert to_record(to_row(replace(PLAIN, version=0))) == PLAIN


def test_what_json_cannot_say_is_the_callers_fault() -> None:
    """TypeError, before anything is written."""
    with pytest.raises(TypeError):
        to_row(replace(PLAIN, results=[object()]))
