"""One span a workflow, for whoever traces; without a tracer that listens it costs next to nothing.

Spec: pipeline.md 16: tracer `pypepper.scheduler`, name `scheduler.workflow.run`, internal kind, no attributes. An
exception that escapes marks the span as an error and is recorded.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from pypepper.common import tracing

TRACER: Final = "pypepper.scheduler"
WORKFLOW_RUN: Final = "scheduler.workflow.run"
_NOTHING: Final = nullcontext()


def workflow_span() -> AbstractContextManager[Any]:
    """Return the span to run a workflow under.

    A listener, the program's own or that of `tracing.setup_from_config`, must have imported OpenTelemetry.
    """
    if "opentelemetry.trace" not in sys.modules:
        return _NOTHING
    span: AbstractContextManager[Any] = tracing.get_tracer(TRACER).start_as_current_span(WORKFLOW_RUN)
    return span
