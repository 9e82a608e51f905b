"""What the addresses of pages may say: the API's own spellings, with an empty field of a form read as left out.

A form in a browser sends every field it has. An unknown parameter is 400 here as in the API: an old bookmark must not
show something else than it names.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from pydantic import BeforeValidator, Field

from pyscheduler.api.asking import Asked, Day, Instant, Name
from pyscheduler.web.timescale import Zoom

ROWS: Final = 200
"""Rows of one page, and never more."""


def none_if_blank(value: Any) -> Any:
    """Return None for an empty text, anything else as it is."""
    return None if isinstance(value, str) and not value.strip() else value


Blank = BeforeValidator(none_if_blank)
MaybeDay = Annotated[Day | None, Blank]
MaybeInstant = Annotated[Instant | None, Blank]
MaybeName = Annotated[Name | None, Blank]
MaybeTag = Annotated[Annotated[str, Field(max_length=64)] | None, Blank]
Text = Annotated[str, Field(max_length=100)]
PageNumber = Annotated[int, Field(ge=1, le=100_000)]


class JobsPage(Asked):
    """Which jobs, on which page."""

    q: Text = ""
    tag: MaybeTag = None
    show: Annotated[str, Field(pattern="^(|paused|disabled)$")] = ""
    page: PageNumber = 1


class PreviewAsked(Asked):
    """The run date that a trigger is meant for; without one the job's default."""

    run_date: MaybeDay = None


class WhyAsked(Asked):
    """The run date that is asked about; without one the job's oldest open run, or its default date."""

    run_date: MaybeDay = None


class BackfillAsked(Asked):
    """The range that a backfill is meant for, both dates included."""

    from_: Annotated[Day, Field(alias="from")]
    to: Day


class GraphPage(Asked):
    """Which jobs are drawn: those with a tag, or what a job hangs together with; and of which date states are shown."""

    run_date: MaybeDay = None
    tag: MaybeTag = None
    focus: MaybeName = None
    page: PageNumber = 1


class TimelinePage(Asked):
    """Which stretch of time, and whose lanes. `at` chooses the hour in the hour's zoom."""

    zoom: Zoom = Zoom.DAY
    date: Annotated[Day | None, Blank] = None
    at: MaybeInstant = None
    q: Text = ""
    tag: MaybeTag = None
    empty: Annotated[str, Field(pattern="^(|1)$")] = ""
    page: PageNumber = 1


class ForecastPage(Asked):
    """From when on and for how many days; of which jobs."""

    start: Annotated[Day | None, Blank] = None
    days: Annotated[int, Field(ge=1, le=31)] = 1
    q: Text = ""
    job: MaybeName = None
    tag: MaybeTag = None
    page: PageNumber = 1


class LogbookPage(Asked):
    """Which lines of the logbook. The dates are whole local days, both included."""

    q: Text = ""
    run: Annotated[Annotated[str, Field(max_length=100)] | None, Blank] = None
    job: MaybeName = None
    actor: Annotated[Annotated[str, Field(max_length=200)] | None, Blank] = None
    action: Annotated[Annotated[str, Field(max_length=64)] | None, Blank] = None
    since: Annotated[Day | None, Blank] = None
    until: Annotated[Day | None, Blank] = None
    cursor: Annotated[Annotated[str, Field(max_length=200)] | None, Blank] = None


class Paged:
    """One page of a list that is in memory: its rows, its number, how many pages there are."""

    __slots__ = ("count", "number", "pages", "rows")

    def __init__(self, items: list[Any], number: int) -> None:
        self.count = len(items)
        self.pages = max(1, -(-self.count // ROWS))
        self.number = min(number, self.pages)
        self.rows = items[(self.number - 1) * ROWS : self.number * ROWS]

    @property
    def first(self) -> int:
        """The number of the first row shown, 1-based; 0 where there is none."""
        return (self.number - 1) * ROWS + 1 if self.rows else 0

    @property
    def last(self) -> int:
        """The number of the last row shown."""
        return (self.number - 1) * ROWS + len(self.rows)


def link(path: str, **parameters: date | datetime | str | int | None) -> str:
    """Return an address with these parameters; what is None or empty is left out."""

    def written(value: date | datetime | str | int) -> str:
        return value.isoformat() if isinstance(value, date) else str(value)

    said = {name: written(value) for name, value in parameters.items() if value is not None and value != ""}
    return f"{path}?{urlencode(said)}" if said else path
