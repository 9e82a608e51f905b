"""The sections of the configuration and their keys; the JSON Schema that editors use. Spec: jobs.md 1.5 to 1.8, 1.14.

`ConfigKeys` describes a main file whole. It is never validated as one: each section is read by itself, so that one
fault hides no other. An included file may hold only `INCLUDED` sections.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from pydantic.json_schema import GenerateJsonSchema

from pyscheduler.config.fields import (
    AtLeastOne,
    Bool,
    Day,
    Duration,
    FullText,
    HostPort,
    LeftoversWord,
    Listen,
    Name,
    NameKey,
    Text,
    Weekday,
    Zone,
)
from pyscheduler.config.reading import Several
from pyscheduler.config.schema_alerts import Notifier, RouteKeys
from pyscheduler.config.schema_cluster import ClusterKeys
from pyscheduler.config.schema_job import JobDefaults, JobKeys, Shape, key
from pyscheduler.config.words import CronStar, HeartbeatUrl, LogRetention, StoreUrl

INCLUDED: Final = ("include", "calendars", "pools", "jobs")
MAIN_ONLY: Final = ("scheduler", "defaults", "notifiers", "routes", "agents")


class SchedulerKeys(Shape):
    """The scheduler itself."""

    name: FullText | None = key("Its name in alerts and logs.", default="pysched")
    timezone: Zone | None = key("The zone of jobs that name none, and of today.", default="UTC")
    state_dir: FullText | None = key("Where it remembers; relative to this file.", default="state")
    log_dir: FullText | None = key("Where jobs' output goes; relative to this file.", default="logs")
    store: StoreUrl | None = key(
        "sqlite, the file in state_dir; or postgresql+psycopg://USER:${NAME}@HOST/DATABASE.", default="sqlite"
    )
    max_running: AtLeastOne | None = key("How many attempts may run at once.", default=32)
    listen: Listen | None = key(
        "The address of API and pages, or off; port 0 is any free one.", default="127.0.0.1:8470"
    )
    api_tokens_file: FullText | None = key("The file of API tokens; relative to this file.")
    users_file: FullText | None = key("The file of web users; relative to this file.")
    kill_grace: Duration | None = key("From the polite signal to the last one.", default="10s")
    leftovers: LeftoversWord | None = key("What becomes of processes that outlive a normal end.", default="leave")
    retention: Duration | None = key(
        "How long final runs are kept, since their run date or their last change, the later of the two.", default="90d"
    )
    log_retention: LogRetention | None = key("How long jobs' output is kept: a duration, or keep.", default="keep")
    audit_retention: Duration | None = key("How long the audit log is kept.", default="365d")
    memory_days: AtLeastOne | None = key("How many run dates of final runs are kept in memory.", default=7)
    memory_runs: AtLeastOne | None = key("How many final runs are kept in memory at most.", default=100_000)
    watch_limit: AtLeastOne | None = key("How many file watchers may look at the disk at once.", default=8)
    pool_patience: Duration | None = key("A run passed over for so long reserves its slots.", default="10m")
    cron_star: CronStar | None = key(
        "Which day fields of cron are open: a lone * (lone), or all that begin with * (leading, as in Debian).",
        default="lone",
    )
    heartbeat_url: HeartbeatUrl | None = key("Asked regularly while all is well.")
    cluster: ClusterKeys | None = key("This scheduler's place among those that share its store.")
    secure_cookies: Bool | None = key("Whether cookies travel by HTTPS only; else as `listen` suggests.")


class CalendarKeys(Shape):
    """A business calendar: which days are working days."""

    weekdays: list[Weekday] | None = key("The working weekdays.", default=["mon", "tue", "wed", "thu", "fri"])
    holidays: list[Day] | None = key("Days that are never working days.", examples=[["2027-12-27"]])
    extra_days: list[Day] | None = key("Days that always are; they win over holidays and weekdays.")
    include: list[Name] | None = key("Calendars whose holidays count here too.")
    country: FullText | None = key("Public holidays of a country, by ISO 3166 code.", examples=["GB", "NO"])
    subdiv: FullText | None = key("The country's subdivision.", examples=["ENG"])
    file: FullText | None = key(
        "An iCalendar file whose all-day events are holidays; relative to this file.", examples=["uk.ics"]
    )
    ends: Day | None = key("The last day for which the calendar speaks; 60 days before it a warning is given.")


class AgentsKeys(Shape):
    """Remote agents."""

    listen: HostPort | None = key("Embed a broker at this address.")
    broker: HostPort | None = key("Use the broker at this address.")
    secrets_file: FullText | None = key("The agents' secrets; relative to this file.")
    agent_grace: Duration | None = key("Silence before an agent counts as offline.", default="60s")
    lost_after: Duration | None = key("Silence about an attempt before it is lost.", default="10m")


class ConfigKeys(Shape):
    """A PyScheduler configuration."""

    scheduler: SchedulerKeys | None = key("The scheduler itself (main file only).")
    include: Annotated[list[Text], Several()] | None = key(
        "Further files, by path or pattern, relative to this one.", examples=[["jobs/*.yaml"]]
    )
    calendars: dict[NameKey, CalendarKeys] | None = key("Business calendars by name.")
    pools: dict[NameKey, AtLeastOne] | None = key(
        "Limited resources by name: how many slots each has.", examples=[{"database": 4}]
    )
    defaults: JobDefaults | None = key("Keys for every job that does not say otherwise (main file only).")
    jobs: dict[NameKey, JobKeys] | None = key("The jobs by name.")
    notifiers: dict[NameKey, Notifier] | None = key("Ways to tell people, by name (main file only).")
    routes: list[RouteKeys] | None = key("Which alerts go where (main file only).")
    agents: AgentsKeys | None = key("Remote agents (main file only).")


class _Editors(GenerateJsonSchema):
    """No null and no null default where a key may simply be left out."""

    def default_schema(self, schema: Any) -> dict[str, Any]:
        inner = schema["schema"]
        return self.generate_inner(inner["schema"] if inner["type"] == "nullable" else inner)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a main file, with descriptions, defaults and examples."""
    schema = ConfigKeys.model_json_schema(by_alias=True, schema_generator=_Editors, mode="validation")
    _tidy(schema)
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": "PyScheduler configuration", **schema}


def _tidy(schema: Any, name: str = "") -> None:
    """Give titles that people can read, and let a map of names hold nothing but names."""
    if isinstance(schema, list):
        for part in schema:
            _tidy(part)
    elif isinstance(schema, dict):
        for key, part in schema.items():
            _tidy(part, key)
        if isinstance(schema.get("title"), str):
            schema["title"] = _title(name or schema["title"])
        if "patternProperties" in schema:
            schema.setdefault("additionalProperties", False)


def _title(name: str) -> str:
    """Return `EmailNotifier` as `Email notifier`, `JobKeys` as `Job`, and a key as it is."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.removesuffix("Keys"))
    return words[:1] + words[1:].lower()
