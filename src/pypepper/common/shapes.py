"""What a settings file may say, as annotations for readers and type checkers. Spec: pipeline.md 14.1 and 16.

Nothing here holds a value: `Config.get_yml_config()` returns a plain view with the same attributes, and only those that
the file names.
"""

from __future__ import annotations


class ConfLog:
    """`log`: what is shown, and whether in colour. A file that gives a level gives both."""

    level: str
    colorize: bool


class ConfServiceInfo:
    """`serviceInfo`: who this program is."""

    serviceName: str  # noqa: N815 — the file's own spelling
    serviceID: str  # noqa: N815


class ConfTracingOtlp:
    """`tracing.otlp`: where spans are sent; `/v1/traces` is added to the endpoint."""

    enabled: bool
    endpoint: str


class ConfTracing:
    """`tracing`: off unless `enabled`."""

    enabled: bool
    serviceName: str  # noqa: N815
    console: bool
    otlp: ConfTracingOtlp


class ConfSchedulerJobStore:
    """`scheduler.jobStore`: the backend and either `uri` or the discrete settings (`user` stands for `username`)."""

    backend: str
    uri: str
    host: str
    port: int
    user: str
    username: str
    password: str
    db: str
    sslmode: str
    charset: str
    auth_source: str


class ConfScheduler:
    """`scheduler`: the pipeline."""

    jobStore: ConfSchedulerJobStore  # noqa: N815


class YmlConfig:
    """A whole settings file."""

    serviceInfo: ConfServiceInfo  # noqa: N815
    log: ConfLog
    tracing: ConfTracing
    scheduler: ConfScheduler
