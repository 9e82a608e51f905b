"""One span a workflow: pipeline.md 16."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from pypepper.common import tracing
from pypepper.scheduler.spans import workflow_span
from pypepper.scheduler.workflow import Workflow
from tests.pipes import Flaky, job, once, returning, task, workflow


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    """Spans as they end."""
    kept = InMemorySpanExporter()
    tracing.setup_for_tests(kept)
    yield kept
    tracing.shutdown()


def test_one_span_a_run(exporter: InMemorySpanExporter) -> None:
    """pipeline.md 16: tracer, name, kind, no attributes, also for an empty workflow."""
    workflow(returning(), returning()).run()
    Workflow().run()
    spans = exporter.get_finished_spans()
    assert [span.name for span in spans] == ["scheduler.workflow.run"] * 2
    for span in spans:
        assert span.kind is SpanKind.INTERNAL
        assert not span.attributes
        assert span.instrumentation_scope is not None
        assert span.instrumentation_scope.name == "pypepper.scheduler"


def test_an_escaping_error_marks_the_span(exporter: InMemorySpanExporter) -> None:
    """pipeline.md 16: status error, and the exception recorded."""
    with pytest.raises(ValueError, match="failure"):
        workflow(Flaky(9)).run()
    (span,) = exporter.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert [event.name for event in span.events] == ["exception"]


@pytest.mark.parametrize("limit", [0, 20])
@pytest.mark.parametrize("awaited", [False, True])
def test_spans_of_executors_are_children(exporter: InMemorySpanExporter, limit: int, awaited: bool) -> None:
    """pipeline.md 16: children of the workflow's; done better, under `round_timeout` too, and on the loop."""

    def work(_task: Any, _context: Any) -> None:
        with tracing.get_tracer("mine").start_as_current_span("inner"):
            pass

    async def work_on_the_loop(given: Any, context: Any) -> None:
        work(given, context)

    made = job(workflow(task(work_on_the_loop if awaited else work, round_timeout=limit)))
    made.scheduled()
    once()
    inner, outer = exporter.get_finished_spans()
    assert inner.parent is not None
    assert outer.context is not None
    assert inner.parent.span_id == outer.context.span_id


def test_without_a_setup_there_is_no_span() -> None:
    """pipeline.md 16: no-op unless tracing is set up."""
    with workflow_span():
        assert not trace.get_current_span().get_span_context().is_valid


def test_without_opentelemetry_there_is_nothing_to_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can listen who has not imported it."""
    monkeypatch.delitem(sys.modules, "opentelemetry.trace")
    assert isinstance(workflow_span(), nullcontext)
