"""What may be asked, and how it is read: dates and instants in one exact spelling, unknown names refused.

A parameter or body field that nobody knows is 400: a misspelt filter must not mean "everything". Spec: jobs.md 13.4.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

from pyscheduler.model.alert import AlertKind
from pyscheduler.model.ids import NAME
from pyscheduler.model.run import RunState, Trigger

REASON_CHARACTERS: Final = 1000
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_INSTANT: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})", re.IGNORECASE
)


class Format(StrEnum):
    """How a list is written."""

    JSON = "json"
    CSV = "csv"


class Order(StrEnum):
    """Which end of a list comes first."""

    NEWEST = "newest"
    OLDEST = "oldest"


def read_date(value: Any) -> Any:
    """Return the date that a text is; whatever is no text passes on. ValueError."""
    if not isinstance(value, str):
        return value
    try:
        if not _DATE.fullmatch(value):
            raise ValueError
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{value!r} is no date; write it like 2027-05-20") from None


def read_instant(value: Any) -> Any:
    """Return the instant that a text with a zone is; whatever is no text passes on. ValueError."""
    if not isinstance(value, str):
        return value
    try:
        if not _INSTANT.fullmatch(value):
            raise ValueError
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{value!r} is no instant with a zone; write it like 2027-05-20T04:05:00Z") from None


def read_since(value: Any) -> Any:
    """Return the instant that a date (its midnight, UTC) or an instant with a zone is. ValueError."""
    if isinstance(value, str) and _DATE.fullmatch(value):
        return datetime.combine(read_date(value), time(), UTC)
    return read_instant(value)


def read_name(value: Any) -> Any:
    """Return a job's name. ValueError."""
    if isinstance(value, str) and not NAME.fullmatch(value):
        raise ValueError(f"{value[:80]!r} can be no job: a name has letters, digits, _ and -, 64 at most")
    return value


Day = Annotated[date, BeforeValidator(read_date), WithJsonSchema({"type": "string", "format": "date"})]
Instant = Annotated[
    datetime,
    BeforeValidator(read_instant),
    PlainSerializer(lambda value: value.isoformat()),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
Since = Annotated[
    datetime,
    BeforeValidator(read_since),
    PlainSerializer(lambda value: value.isoformat()),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date"}, {"type": "string", "format": "date-time"}]}),
]
Name = Annotated[str, BeforeValidator(read_name)]
RunId = Annotated[str, Field(min_length=1, max_length=100)]
DeedName = Literal["hold", "release", "kill", "force-start", "skip", "cancel", "mark-success", "mark-failed", "rerun"]
"""What may be done to a run."""
Reason = Annotated[str, Field(max_length=REASON_CHARACTERS, description="Why, for the logbook")]


class Asked(BaseModel):
    """Parameters or a body: exact types, nothing unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# --------------------------------------------------------------------------- parameters


class PageAsked(Asked):
    """One page of a list."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    cursor: Annotated[str | None, Field(max_length=200)] = None
    order: Order = Order.NEWEST
    format: Format = Format.JSON


class RunsAsked(PageAsked):
    """Which runs. All that is given must hold; `since` is included, `until` is not, both speak of `scheduled_at`."""

    run_date: Day | None = None
    job: Name | None = None
    tag: Annotated[str | None, Field(max_length=64)] = None
    state: Annotated[list[RunState], Field(description="May be given several times")] = []
    trigger: Trigger | None = None
    since: Instant | None = None
    until: Instant | None = None
    q: Annotated[str, Field(max_length=100, description="In job names, tags, run ids; in reasons within dates")] = ""


class EventsAsked(PageAsked):
    """Which logbook lines."""

    run: Annotated[str | None, Field(max_length=100)] = None
    job: Name | None = None
    actor: Annotated[str | None, Field(max_length=200)] = None
    action: Annotated[str | None, Field(max_length=64)] = None
    since: Instant | None = None
    until: Instant | None = None
    q: Annotated[str, Field(max_length=100, description="In actor, action, run id and what the line says")] = ""


class AlertsAsked(Asked):
    """Which alerts, newest first."""

    kind: AlertKind | None = None
    job: Name | None = None
    since: Since | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    cursor: Annotated[str | None, Field(max_length=300)] = None
    format: Format = Format.JSON


class DeadAsked(Asked):
    """How many dead deliveries, oldest first."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 100


class AuditAsked(PageAsked):
    """Which rows of the audit log; `since` is included, `until` is not."""

    actor: Annotated[str | None, Field(max_length=200)] = None
    action: Annotated[str | None, Field(max_length=200)] = None
    subject: Annotated[str | None, Field(max_length=200, description="A run's id, a job's or a user's name")] = None
    since: Instant | None = None
    until: Instant | None = None
    q: Annotated[str, Field(max_length=100, description="In everything that people read of a row")] = ""


class VerifyAsked(Asked):
    """A row that is known from elsewhere, as `ID:HASH`: the chain must have it."""

    head: Annotated[str | None, Field(pattern=r"^\d{1,18}:[0-9a-f]{64}$")] = None


class JobsAsked(Asked):
    """Which jobs, by name. Without `limit` all of them."""

    tag: Annotated[str | None, Field(max_length=64)] = None
    q: Annotated[str, Field(max_length=100, description="In names, tags, owner and description")] = ""
    limit: Annotated[int | None, Field(ge=1, le=1000)] = None
    cursor: Annotated[str | None, Field(max_length=64, description="The name after which the page begins")] = None
    format: Format = Format.JSON


class ForecastAsked(Asked):
    """A window, (from, to]: now and 24 hours unless given."""

    from_: Annotated[Instant | None, Field(alias="from")] = None
    to: Instant | None = None
    job: Name | None = None
    format: Format = Format.JSON


class LogAsked(Asked):
    """Which part of an attempt's log: its last lines (`tail`), or bytes from `offset` on."""

    stream: Literal["stdout", "stderr"] = "stdout"
    attempt: Annotated[int | None, Field(ge=1)] = None
    tail: Annotated[int | None, Field(ge=1, le=5000)] = None
    offset: Annotated[int | None, Field(ge=0)] = None
    limit: Annotated[int, Field(ge=1, le=65536)] = 65536
    raw: Literal["0", "1"] = "0"


class EventStreamAsked(Asked):
    """What to hear of, after which event (`Last-Event-ID` wins); `ping` seconds without news bring a `ping` event."""

    after: Annotated[str | None, Field(max_length=100)] = None
    run_date: Day | None = None
    job: Name | None = None
    run: Annotated[str | None, Field(max_length=100)] = None
    ping: Annotated[int | None, Field(ge=1, le=60)] = None


class LogStreamAsked(Asked):
    """Which log: of the latest attempt unless named."""

    stream: Literal["stdout", "stderr"] = "stdout"
    attempt: Annotated[int | None, Field(ge=1)] = None


class WhyAsked(Asked):
    """About a job's run date, or about one run."""

    job: Name | None = None
    run_date: Day | None = None
    run: Annotated[str | None, Field(max_length=100)] = None


class NextAsked(Asked):
    """A job's coming firings (`count`: 5 unless given), or without `job` the next one of each, `limit` jobs a page."""

    job: Name | None = None
    count: Annotated[int | None, Field(ge=1, le=100)] = None
    limit: Annotated[int | None, Field(ge=1, le=1000)] = None
    cursor: Annotated[str | None, Field(max_length=64, description="The name after which the page begins")] = None
    after: Instant | None = None
    format: Format = Format.JSON


class DiffAsked(Asked):
    """How far ahead firings are compared, in days; 0 compares what is written only."""

    days: Annotated[int, Field(ge=0, le=366)] = 0


# --------------------------------------------------------------------------- bodies


class Act(Asked):
    """Any action."""

    reason: Reason = ""


class DrainAct(Act):
    """A drain of a node, or its undoing."""

    undo: bool = False


class FenceAct(Act):
    """A fence of a node: its name is given once more."""

    confirm: str = ""


class TriggerAct(Act):
    """A trigger."""

    run_date: Day | None = None


class BackfillAct(Act):
    """A backfill: both dates are included."""

    from_: Annotated[Day, Field(alias="from")]
    to: Day


class ReplayAct(Act):
    """A replay: of one notifier's delivery, or of every dead one."""

    notifier: Name | None = None


class Selection(Asked):
    """Which runs, by the filters of `GET /api/runs`; at least one must be given."""

    run_date: Day | None = None
    job: Name | None = None
    tag: Annotated[str | None, Field(max_length=64)] = None
    state: Annotated[list[RunState], Field(max_length=20)] = []
    trigger: Trigger | None = None
    since: Instant | None = None
    until: Instant | None = None
    q: Annotated[str, Field(max_length=100)] = ""


class BulkAsked(Asked):
    """One action for many runs: those of `run_ids`, or all that `selection` matches."""

    action: DeedName
    run_ids: Annotated[list[RunId] | None, Field(min_length=1, max_length=1000)] = None
    selection: Selection | None = None
    downstream: Annotated[bool, Field(strict=True, description="For rerun: those that depend on them too")] = False


class BulkAct(BulkAsked):
    """The action is taken; with `expected` only where the selection matches so many runs, as a preview said."""

    reason: Reason = ""
    expected: Annotated[int | None, Field(ge=0, le=1000)] = None


class RunPreviewAsked(Asked):
    """What to do to the run."""

    action: DeedName
    downstream: bool = False


class JobPreviewAsked(Asked):
    """What to do to the job: `trigger` (perhaps with `run_date`) or `backfill` (with `from` and `to`)."""

    action: Literal["trigger", "backfill"]
    run_date: Day | None = None
    from_: Annotated[Day | None, Field(alias="from")] = None
    to: Day | None = None


class RerunAct(Act):
    """A rerun."""

    downstream: Annotated[bool, Field(strict=True)] = False


class ResumeAct(Act):
    """The end of a pause; with `catch_up` each job's rule is applied to the firings it missed."""

    catch_up: Annotated[bool, Field(strict=True)] = False


class CatchUpAct(Act):
    """What becomes of a held catch-up."""

    decision: Literal["accept", "skip"]
