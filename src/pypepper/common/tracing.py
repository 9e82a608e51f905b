"""Spans for whoever watches from outside: OpenTelemetry where the extra `otel` is installed, nothing otherwise.

Spec: pipeline.md 16. The provider is ours and is never made the process's global one, so a program that traces by
itself is not disturbed; until a setup is asked for, `get_tracer` gives the global tracer, which costs next to nothing.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pypepper.common.log import log

DEFAULT_ENDPOINT: Final = "http://127.0.0.1:4318"
_MISSING: Final = "tracing is enabled, but OpenTelemetry is not installed: pip install 'pyscheduler[otel]'"


class _Silent:
    """A tracer and a span that do nothing, for when OpenTelemetry is not installed."""

    @contextmanager
    def start_as_current_span(self, _name: str, **_options: Any) -> Iterator[_Silent]:
        yield self

    def set_attribute(self, _key: str, _value: Any) -> None:
        """Nobody is listening."""


_provider: Any = None
"""The TracerProvider that a setup made, or None."""


def get_tracer(name: str) -> Any:
    """Return a tracer with OpenTelemetry's `start_as_current_span`; a silent one where there is nothing to tell."""
    if _provider is not None:
        return _provider.get_tracer(name)
    if importlib.util.find_spec("opentelemetry") is None:
        return _Silent()
    from opentelemetry import trace

    return trace.get_tracer(name)


def setup_from_config(yml_config: Any = None) -> None:
    """Trace as the section `tracing` says; without it, or without `enabled: true`, nothing changes.

    Raises ModuleNotFoundError, naming the extra, when tracing is enabled and OpenTelemetry is missing.
    """
    section = getattr(yml_config, "tracing", None)
    if not getattr(section, "enabled", False):
        return
    service = getattr(section, "serviceName", None) or getattr(
        getattr(yml_config, "serviceInfo", None), "serviceName", None
    )
    _install([_batched(exporter) for exporter in _exporters(section)], service or "pypepper")


def setup_for_tests(exporter: Any, service_name: str = "pypepper") -> None:
    """Hand every span to `exporter` the moment it ends; a setup from before is shut down."""
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    _install([SimpleSpanProcessor(exporter)], service_name)


def shutdown() -> None:
    """Send what is pending and trace no more; without a setup, nothing happens."""
    global _provider
    provider, _provider = _provider, None
    if provider is not None:
        provider.shutdown()


def _install(processors: list[Any], service: str) -> None:
    global _provider
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    shutdown()
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    for processor in processors:
        provider.add_span_processor(processor)
    _provider = provider


def _exporters(section: Any) -> list[Any]:
    if importlib.util.find_spec("opentelemetry") is None or importlib.util.find_spec("opentelemetry.sdk") is None:
        raise ModuleNotFoundError(_MISSING)
    exporters: list[Any] = []
    if getattr(section, "console", False):
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        exporters.append(ConsoleSpanExporter(out=sys.stdout))
    otlp = getattr(section, "otlp", None)
    if getattr(otlp, "enabled", False):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        endpoint = getattr(otlp, "endpoint", None) or DEFAULT_ENDPOINT
        exporters.append(OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces"))
    if not exporters:
        log.warn("tracing is enabled, but neither tracing.console nor tracing.otlp.enabled: spans go nowhere")
    return exporters


def _batched(exporter: Any) -> Any:
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    return BatchSpanProcessor(exporter)
