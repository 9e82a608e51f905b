"""A second opinion on the timetable, written without a line of it.

Time goes by tick by tick in UTC, `zoneinfo` says what the wall shows, and an expression is matched against that as
plain sets. An expression is born twice, as text and as sets, so no parser is trusted. The policy for clock changes
stands here in one picture, the *high-water mark*: the latest wall time ever shown.

- A job with a wildcard minute or hour runs whenever the wall shows one of its times.
- Any other job runs when its time is passed by the mark: times that were jumped over are passed all at once, in the
  tick that shows the time behind the gap; while the wall shows times below the mark, nothing runs.
- Steps (`every`) count real seconds from the tick in which the mark first reaches the opening of their window, up to
  the one in which it reaches the end.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from pyscheduler.model.job import EverySpec

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")

Firing = tuple[datetime, date]
Tick = tuple[datetime, datetime]
"""An instant (aware UTC) and what the wall shows (naive)."""


# --------------------------------------------------------------------------- expressions, born twice


@dataclass(frozen=True)
class Field:
    """One field: its text, the numbers it names, and rules for days such as ("W", 15)."""

    text: str
    numbers: frozenset[int]
    rules: frozenset[tuple[str, int, int]] = frozenset()


@dataclass(frozen=True)
class Expression:
    """A cron expression as text and as sets. `seconds` is None for five fields."""

    seconds: Field | None
    minutes: Field
    hours: Field
    days: Field
    months: Field
    weekdays: Field

    @property
    def text(self) -> str:
        fields = [self.minutes, self.hours, self.days, self.months, self.weekdays]
        return " ".join(field.text for field in ([self.seconds] if self.seconds else []) + fields)

    @property
    def is_wildcard(self) -> bool:
        return self.minutes.text[0] == "*" or self.hours.text[0] == "*"

    def shows(self, wall: datetime) -> bool:
        """Whether a wall time's clock part is named."""
        seconds = self.seconds.numbers if self.seconds else {0}
        return wall.minute in self.minutes.numbers and wall.hour in self.hours.numbers and wall.second in seconds

    def lands_on(self, day: date, star: str) -> bool:
        """Whether a date is named; `star` as in the configuration."""
        if day.month not in self.months.numbers:
            return False
        by_date, by_weekday = self._by_date(day), self._by_weekday(day)
        stars = [f.text == "*" if star == "lone" else f.text[0] == "*" for f in (self.days, self.weekdays)]
        return (by_date and by_weekday) if any(stars) else (by_date or by_weekday)

    def _by_date(self, day: date) -> bool:
        last = calendar.monthrange(day.year, day.month)[1]
        weekdays = [number for number in range(1, last + 1) if date(day.year, day.month, number).weekday() < 5]

        def meant(kind: str, n: int) -> int | None:
            if kind == "L":
                return last - n
            if kind == "LW":
                return weekdays[-1]
            return min(weekdays, key=lambda d: (abs(d - n), d)) if n <= last else None

        return day.day in self.days.numbers or any(meant(kind, n) == day.day for kind, n, _ in self.days.rules)

    def _by_weekday(self, day: date) -> bool:
        weekday = day.isoweekday() % 7
        if weekday in {number % 7 for number in self.weekdays.numbers}:
            return True
        last = calendar.monthrange(day.year, day.month)[1]
        of_month = [n for n in range(1, last + 1) if date(day.year, day.month, n).isoweekday() % 7 == weekday]
        return any(
            number % 7 == weekday
            and (of_month[-1] == day.day if kind == "last" else of_month[nth - 1 : nth] == [day.day])
            for kind, number, nth in self.weekdays.rules
        )


def _terms(low: int, high: int, names: tuple[str, ...] = (), first_name: int = 0) -> st.SearchStrategy[Field]:
    """One entry of a field within bounds."""

    def word(number: int, named: bool) -> str:
        return names[number - first_name] if named and 0 <= number - first_name < len(names) else str(number)

    @st.composite
    def term(draw: st.DrawFn) -> Field:
        start = draw(st.integers(low, high))
        named = bool(names) and draw(st.booleans())
        shape = draw(st.sampled_from(["one", "one", "range", "range/step", "*/step", "start/step", "*"]))
        step = draw(st.integers(1, high + 3))
        end = draw(st.integers(start, high))
        everything = range(low, high + 1)
        match shape:
            case "one":
                return Field(word(start, named), frozenset({start}))
            case "range":
                return Field(f"{word(start, named)}-{word(end, named)}", frozenset(range(start, end + 1)))
            case "range/step":
                return Field(f"{word(start, False)}-{word(end, False)}/{step}", frozenset(range(start, end + 1, step)))
            case "*/step":
                return Field(f"*/{step}", frozenset(everything[::step]))
            case "start/step":
                return Field(f"{word(start, named)}/{step}", frozenset(range(start, high + 1, step)))
            case _:
                return Field("*", frozenset(everything))

    return term()


def _field(terms: st.SearchStrategy[Field]) -> st.SearchStrategy[Field]:
    def join(parts: list[Field]) -> Field:
        return Field(
            ",".join(part.text for part in parts),
            frozenset().union(*(part.numbers for part in parts)),
            frozenset().union(*(part.rules for part in parts)),
        )

    return st.lists(terms, min_size=1, max_size=3).map(join) | st.just(Field("*", frozenset(range(60))))


_SPECIAL_DAYS = st.one_of(
    st.just(Field("L", frozenset(), frozenset({("L", 0, 0)}))),
    st.just(Field("LW", frozenset(), frozenset({("LW", 0, 0)}))),
    st.integers(1, 31).map(lambda n: Field(f"{n}W", frozenset(), frozenset({("W", n, 0)}))),
    st.integers(1, 30).map(lambda n: Field(f"L-{n}", frozenset(), frozenset({("L", n, 0)}))),
)
_SPECIAL_WEEKDAYS = st.one_of(
    st.tuples(st.integers(0, 7), st.integers(1, 5)).map(
        lambda it: Field(f"{it[0]}#{it[1]}", frozenset(), frozenset({("nth", it[0], it[1])}))
    ),
    st.integers(0, 6).map(lambda n: Field(f"{WEEKDAYS[n]}L", frozenset(), frozenset({("last", n, 0)}))),
    st.integers(0, 7).map(lambda n: Field(f"{n}L", frozenset(), frozenset({("last", n, 0)}))),
)
_ANY_DAY = st.just(Field("*", frozenset(range(60))))

DAYS = _ANY_DAY | _field(_terms(1, 31) | _SPECIAL_DAYS)
MONTH_FIELDS = _ANY_DAY | _field(_terms(1, 12, MONTHS, 1))
WEEKDAY_FIELDS = _ANY_DAY | _field(_terms(0, 7, WEEKDAYS) | _SPECIAL_WEEKDAYS)


@st.composite
def expressions(draw: st.DrawFn, *, with_seconds: bool | None = False, any_day: bool = False) -> Expression:
    """Draw an expression; `any_day` leaves the day fields open, so that windows of a day or two are not empty."""
    seconds = draw(st.booleans()) if with_seconds is None else with_seconds
    return Expression(
        draw(_field(_terms(0, 59))) if seconds else None,
        draw(_field(_terms(0, 59))),
        draw(_field(_terms(0, 23))),
        draw(_ANY_DAY if any_day else DAYS),
        draw(_ANY_DAY if any_day else MONTH_FIELDS),
        draw(_ANY_DAY if any_day else WEEKDAY_FIELDS),
    )


# --------------------------------------------------------------------------- time going by


def ticks(zone: ZoneInfo, since: datetime, until: datetime, step: timedelta) -> Iterator[Tick]:
    """Yield every tick from `since` to `until`, both included."""
    at = since
    while at <= until:
        yield at, at.astimezone(zone).replace(tzinfo=None)
        at += step


def expected(expression: Expression, star: str, going_by: Iterable[Tick], since: datetime) -> list[Firing]:
    """Return the firings after `since` in ticks that begin well before it."""
    going_by = list(going_by)
    step = going_by[1][0] - going_by[0][0]
    lands: dict[date, bool] = {}

    def matches(wall: datetime) -> bool:
        if not expression.shows(wall):
            return False
        day = wall.date()
        if day not in lands:
            lands[day] = expression.lands_on(day, star)
        return lands[day]

    found: list[Firing] = []
    mark = going_by[0][1] - step
    for at, wall in going_by:
        if expression.is_wildcard:
            passed = [wall]
        else:
            passed = []
            while mark < wall:
                mark += step
                passed.append(mark)
        named = next((shown for shown in passed if matches(shown)), None)
        if named is not None and at > since:
            found.append((at, named.date()))
    return found


def expected_steps(
    opens: int, closes: int | None, every: int, going_by: Iterable[Tick], since: datetime
) -> list[Firing]:
    """Return what `every` fires two days and more after the first tick.

    `opens` and `closes` are minutes of the day, `closes` None for the whole day.
    """
    going_by = list(going_by)
    reached: list[Tick] = []
    for at, wall in going_by:
        if not reached or wall > reached[-1][1]:
            reached.append((at, wall))

    def first_at(wall: datetime) -> datetime | None:
        return next((at for at, shown in reached if shown >= wall), None)

    found: dict[datetime, date] = {}
    day = going_by[0][1].date() + timedelta(days=1)  # the first day's opening may lie before the first tick
    while day < going_by[-1][1].date():
        midnight = datetime(day.year, day.month, day.day)
        start = first_at(midnight + timedelta(minutes=opens))
        if closes is None:
            end = first_at(midnight + timedelta(days=1))
            end = end and end - timedelta(seconds=1)
        else:
            end = first_at(midnight + timedelta(minutes=closes, days=int(closes < opens)))
        while start is not None and start <= (end or going_by[-1][0]):
            if since < start <= going_by[-1][0]:
                found.setdefault(start, day)
            start += timedelta(seconds=every)
        day += timedelta(days=1)
    return sorted(found.items())


def steps_of(every: int, opens: int, closes: int | None) -> EverySpec:
    """Return the specification of what `expected_steps` is asked for."""
    if closes is None:
        return EverySpec(every_s=every)
    return EverySpec(every_s=every, opens=time(*divmod(opens, 60)), closes=time(*divmod(closes, 60)))


def changes(zone: ZoneInfo, since: datetime, until: datetime) -> list[datetime]:
    """Return the instants at which a zone's offset changes, to the second, by looking every six hours."""
    found = []
    at = since
    while at < until:
        before, at = at, min(at + timedelta(hours=6), until)
        if before.astimezone(zone).utcoffset() == at.astimezone(zone).utcoffset():
            continue
        low, high = before, at
        while high - low > timedelta(seconds=1):
            middle = low + timedelta(seconds=int((high - low).total_seconds()) // 2)
            same = middle.astimezone(zone).utcoffset() == before.astimezone(zone).utcoffset()
            low, high = (middle, high) if same else (low, middle)
        found.append(high)
    return found


def utc(text: str) -> datetime:
    """Return an instant of a text such as 2027-03-28T01:00."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
