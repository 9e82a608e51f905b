"""From a job's keys, with the defaults laid under them, to a Job. Spec: jobs.md 1.9, 1.10; DESIGN 8.

What one job says must fit together: that is decided here and in `job_checks.py`. What it says of other jobs is
`check.py`'s business; a Draft carries what that needs beside the job itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pyscheduler.config.complaints import Spot
from pyscheduler.config.inactive import Inactive
from pyscheduler.config.job_checks import check_job
from pyscheduler.config.schedules import schedule_specs
from pyscheduler.config.schema_job import DependencyKeys, JobKeys, Shape
from pyscheduler.model.job import Dependency, Job, JobAlerts, JobKind, RetryPolicy, Settings, SourceRef

WATCHER_ONLY: Final = ("watch", "min_age", "poll", "give_up_after")
COMMAND_ONLY: Final = (
    *("command", "cwd", "env", "timeout", "pools", "stdout", "stderr"),
    *("inherit_env", "success_codes", "max_log", "leftovers", "user", "umask", "nice", "limits"),
)
NO_CALENDAR: Final = "none"
_REFERRING: Final = ("depends_on", "calendar", "pools", "enabled")


@dataclass(frozen=True, slots=True)
class Ground:
    """What lies under every job: the scheduler's settings, the defaults as read, and what is not active yet."""

    settings: Settings
    defaults: Mapping[str, Any]
    inactive: Inactive
    _known: dict[Any, Any] = field(default_factory=dict)

    def shared(self, value: Any) -> Any:
        """Return an equal value that another job has already: most of ten thousand jobs retry alike."""
        return self._known.setdefault((type(value), value), value) if isinstance(value, Hashable) else value


@dataclass(slots=True)
class Draft:
    """A job on its way to the whole-config checks.

    `spot` is its mapping; `numbers` says which item of `schedule` each specification came from; `names_calendar` is
    whether it says a calendar at all, `none` included: only one that does not may inherit one. `upstream_numbers` says
    which item of `depends_on` each dependency is, where not each in its turn.
    """

    job: Job
    spot: Spot
    numbers: tuple[int, ...] = ()
    names_calendar: bool = False
    upstream_numbers: Sequence[int] | None = None

    def upstream_loc(self, number: int) -> tuple[str, int]:
        """Return where a dependency, by its number in the job, is written."""
        return "depends_on", number if self.upstream_numbers is None else self.upstream_numbers[number]


def build_job(name: str, keys: JobKeys, spot: Spot, source: SourceRef, ground: Ground) -> Draft | None:
    """Return the job's draft, or None after complaining. `spot` is the job's mapping, its fallback the defaults."""
    before = spot.complaints.errors
    own = keys.given()
    kind = own.get("type", JobKind.COMMAND)
    _check_kind(kind, own, spot)
    merged = _merge(own, ground.defaults, WATCHER_ONLY if kind is JobKind.COMMAND else COMMAND_ONLY)
    values = _fields(merged, ground)
    sound = spot.complaints.errors
    numbered, values["manual"] = schedule_specs(merged.get("schedule", []), spot)
    sound_schedule = spot.complaints.errors == sound
    values["schedules"] = ground.shared(tuple(spec for _, spec in numbered))
    values["inactive"] = ground.inactive.reason(kind, merged, spot)
    job = Job(name=name, source=source, **values)
    check_job(job, spot, sound_schedule=sound_schedule)
    if spot.complaints.errors > before:
        return None
    return Draft(job, spot, tuple(number for number, _ in numbered), "calendar" in merged)


def sketch_job(
    name: str, keys: JobKeys, spot: Spot, source: SourceRef, ground: Ground, upstream_numbers: Sequence[int] | None
) -> Draft:
    """Return what a faulty job says of other jobs, calendars and pools: enough to check those names all the same."""
    merged = _merge(keys.given(), ground.defaults, ())
    named: dict[str, Any] = {key: value for key, value in merged.items() if key in _REFERRING}
    job = Job(name=name, source=source, **_fields(named, ground))
    return Draft(job, spot, upstream_numbers=upstream_numbers)


def _fields(merged: Mapping[str, Any], ground: Ground) -> dict[str, Any]:
    """Return the job's fields but for its schedules, each as the model has it."""
    values: dict[str, Any] = {
        "timezone": ground.settings.timezone,
        "kill_grace_s": ground.settings.kill_grace_s,
        "leftovers": ground.settings.leftovers,
    }
    for key, value in merged.items():
        name, convert = _FIELDS.get(key, (key, None))
        if name is not None:
            values[name] = value if convert is None else ground.shared(convert(value))
    return values


def _check_kind(kind: JobKind, own: Mapping[str, Any], spot: Spot) -> None:
    for key in WATCHER_ONLY if kind is JobKind.COMMAND else ():
        if key in own:
            spot.error((key,), "belongs to a file watcher", "add type: file_watcher, or remove it", at_key=True)
    for key in COMMAND_ONLY if kind is JobKind.FILE_WATCHER else ():
        if key in own:
            spot.error((key,), "belongs to a command job, and this is a file watcher", "remove it", at_key=True)


# --------------------------------------------------------------------------- defaults


def _merge(own: dict[str, Any], defaults: Mapping[str, Any], foreign: tuple[str, ...]) -> dict[str, Any]:
    """Lay the defaults under a job's keys: maps merge, lists and texts are replaced whole (spec 1.9)."""
    if not defaults:
        return own
    merged = {key: value for key, value in defaults.items() if key not in foreign}
    for key, value in own.items():
        merged[key] = _merged(merged[key], value) if key in merged else value
    return merged


def _merged(under: Any, over: Any) -> Any:
    if isinstance(under, dict) and isinstance(over, dict):
        return {**under, **over}
    if isinstance(under, Shape) and isinstance(over, Shape):
        return type(over).model_construct(**{**under.given(), **over.given()})
    return over


# --------------------------------------------------------------------------- from keys to fields


def _dependency(item: Any) -> Dependency:
    if isinstance(item, DependencyKeys):
        given = item.given()
        return Dependency(item.job, **{key: given[key] for key in ("on", "run_date") if key in given})
    return Dependency(item)


def _retries(keys: Any) -> RetryPolicy:
    given = keys.given()
    names = {"count": "count", "delay": "delay_s", "backoff": "backoff", "max_delay": "max_delay_s", "jitter": "jitter"}
    values: dict[str, Any] = {names[key]: value for key, value in given.items() if key in names}
    if "on" in given:
        values["on"] = tuple(dict.fromkeys(given["on"]))
    return RetryPolicy(**values)


def _alerts(keys: Any) -> JobAlerts:
    given = dict(keys.given())
    repeat_after = given.pop("repeat_after", None)
    lists = {key: tuple(dict.fromkeys(value)) for key, value in given.items()}
    return JobAlerts(repeat_after_s=None if repeat_after is None else float(repeat_after), **lists)


def _limits(keys: Any) -> dict[str, int]:
    return {key.rstrip("_"): value for key, value in keys.given().items()}


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _calendar(name: str) -> str | None:
    return None if name == NO_CALENDAR else name


def _unique(value: Any) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(value))


_FIELDS: Final[Mapping[str, tuple[str | None, Callable[[Any], Any] | None]]] = {
    "type": ("kind", None),
    "schedule": (None, None),
    "command": ("command", _frozen),
    "inherit_env": ("inherit_env", _frozen),
    "calendar": ("calendar", _calendar),
    "depends_on": ("depends_on", lambda items: tuple(_dependency(item) for item in items)),
    "max_wait": ("max_wait_s", float),
    "retries": ("retries", _retries),
    "success_codes": ("success_codes", frozenset),
    "timeout": ("timeout_s", float),
    "kill_grace": ("kill_grace_s", float),
    "max_log": ("max_log_bytes", None),
    "limits": ("limits", _limits),
    "min_runtime": ("min_runtime_s", float),
    "max_runtime": ("max_runtime_s", float),
    "max_silence": ("max_silence_s", float),
    "alerts": ("alerts", _alerts),
    "node_tags": ("node_tags", _unique),
    "reclaim_after": ("reclaim_after_s", None),
    "agent_tags": ("agent_tags", _unique),
    "tags": ("tags", _unique),
    "allow": ("allow", _unique),
    "min_age": ("min_age_s", float),
    "poll": ("poll_s", float),
    "give_up_after": ("give_up_after_s", float),
}
"""Keys whose field has another name or form; every other key's value is the field of the same name."""
