"""Spans through OpenTelemetry. Spec: pipeline.md 16."""

from __future__ import annotations

import builtins
import importlib.util
import logging
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pypepper.common import tracing


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """No provider is left behind."""
    yield
    tracing.shutdown()


def settings(**section: Any) -> SimpleNamespace:
    """Return settings with a section `tracing`."""
    return SimpleNamespace(tracing=SimpleNamespace(**section), serviceInfo=SimpleNamespace(serviceName="mine"))


def test_spans_of_a_test_setup() -> None:
    """pipeline.md 1.2: `setup_for_tests(exporter, service_name=…)`, `get_tracer`, `shutdown`."""
    exporter = InMemorySpanExporter()
    tracing.setup_for_tests(exporter, service_name="tests")
    with tracing.get_tracer("pypepper.scheduler").start_as_current_span("one"):
        pass
    (span,) = exporter.get_finished_spans()
    assert span.name == "one"
    assert span.resource.attributes["service.name"] == "tests"
    assert span.instrumentation_scope is not None
    assert span.instrumentation_scope.name == "pypepper.scheduler"
    tracing.shutdown()
    tracing.shutdown()
    with tracing.get_tracer("x").start_as_current_span("two"):
        pass
    assert len(exporter.get_finished_spans()) == 1


@pytest.mark.parametrize("yml", [None, SimpleNamespace(), SimpleNamespace(tracing=None), settings(enabled=False)])
def test_off_unless_enabled(yml: Any) -> None:
    """pipeline.md 16: `tracing.enabled` is false by default; nothing is recorded then."""
    tracing.setup_from_config(yml)
    with tracing.get_tracer("x").start_as_current_span("nobody sees it") as span:
        assert not span.is_recording()


def test_console(capsys: pytest.CaptureFixture[str]) -> None:
    """pipeline.md 16: `.console`; the service is `tracing.serviceName`, else `serviceInfo.serviceName`."""
    tracing.setup_from_config(settings(enabled=True, console=True))
    with tracing.get_tracer("x").start_as_current_span("shown"):
        pass
    tracing.shutdown()
    out = capsys.readouterr().out
    assert '"name": "shown"' in out
    assert '"service.name": "mine"' in out


def test_service_names(capsys: pytest.CaptureFixture[str]) -> None:
    """pipeline.md 16: its own name first; `pypepper` when nobody says."""
    for section, name in (
        (settings(enabled=True, console=True, serviceName="own"), "own"),
        (SimpleNamespace(tracing=SimpleNamespace(enabled=True, console=True)), "pypepper"),
    ):
        tracing.setup_from_config(section)
        with tracing.get_tracer("x").start_as_current_span("shown"):
            pass
        tracing.shutdown()
        assert f'"service.name": "{name}"' in capsys.readouterr().out


def test_otlp() -> None:
    """pipeline.md 16: `.otlp.endpoint`, with `/v1/traces` added."""
    asked: list[str] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_args: Any) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_port}/"
        tracing.setup_from_config(settings(enabled=True, otlp=SimpleNamespace(enabled=True, endpoint=endpoint)))
        with tracing.get_tracer("x").start_as_current_span("sent"):
            pass
        tracing.shutdown()
        server.shutdown()
    assert asked == ["/v1/traces"]


def test_otlp_has_a_default_endpoint() -> None:
    """pipeline.md 16: `http://127.0.0.1:4318`."""
    (exporter,) = tracing._exporters(SimpleNamespace(otlp=SimpleNamespace(enabled=True)))
    assert exporter._endpoint == "http://127.0.0.1:4318/v1/traces"
    exporter.shutdown()


def test_enabled_with_nowhere_to_go(caplog: pytest.LogCaptureFixture) -> None:
    """Said once, since somebody is waiting for spans."""
    with caplog.at_level(logging.WARNING):
        tracing.setup_from_config(settings(enabled=True))
    assert "spans go nowhere" in caplog.text


def test_without_opentelemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is not installed: spans are silent, and enabling them says what to install."""
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "opentelemetry" else real(name))
    with tracing.get_tracer("x").start_as_current_span("nobody sees it", kind=builtins.object()) as span:
        span.set_attribute("k", 1)
    with pytest.raises(ModuleNotFoundError, match=r"pyscheduler\[otel\]"):
        tracing.setup_from_config(settings(enabled=True))
