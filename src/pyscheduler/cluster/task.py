"""What a schedule is made of: a task, and what its payload and its hooks are told of one run. Spec: claims.md A1, A6.

What must always hold: ids are explicit, stable and unique (a derived id changes with the file it is derived from); a
task says nothing of when it last ran, which only the store knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final, Literal

from pyscheduler.cluster.durations import seconds_of
from pyscheduler.cluster.triggers import Trigger, trigger_of
from pyscheduler.errors import BadSchedule
from pyscheduler.model.ids import NAME, SCHEDULER
from pyscheduler.model.job import OnUncertain, Overlap

OnLost = Literal["rerun", "fail"]
ON_LOST: Final = ("rerun", "fail")


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One run, as payloads and hooks see it. `token` is the fencing token of this claim (docs/concepts/claims.md)."""

    task: str
    run_id: str
    scheduled_at: datetime
    run_date: date
    attempt: int
    token: int


Payload = Callable[..., object]
Command = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """A recurring task.

    `command` is text for `/bin/sh -c`, a list that is exec'd as it stands, or a callable, which runs in a child process
    of its own (`callables.py`): it gets the Context if it takes an argument, what it returns is not looked at, an
    exception makes the run `failed`. `trigger` is cron text (read in `timezone`), a timedelta, `every(…)` or
    `callback(…)`. `overlap` says what a due run does while a run of an earlier pass still goes: `skip` it, `queue` for
    its turn, `allow` both. `timeout` and `kill_grace` are seconds, timedeltas or texts. `on_lost` forbids (`fail`) or
    lets (`rerun`) a run be tried again whose attempt is lost; `reclaim_after` is this task's own window, else the
    schedule's counts. `on_uncertain` lets an attempt go on (`continue`) or ends it (`stop`) where its scheduler could
    not renew its lease. Raises BadSchedule.
    """

    id: str
    trigger: Trigger
    command: Command | Payload
    timezone: str = "UTC"
    overlap: Overlap = Overlap.SKIP
    timeout_s: float | None = None
    kill_grace_s: float = 10.0
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    success_codes: frozenset[int] = frozenset({0})
    on_lost: OnLost = "rerun"
    reclaim_after_s: float | None = None
    on_uncertain: OnUncertain = OnUncertain.CONTINUE

    def __init__(
        self,
        id: str,  # noqa: A002 - the word of the documents
        trigger: object,
        command: str | Sequence[str] | Payload,
        *,
        timezone: str = "UTC",
        overlap: Overlap | str = Overlap.SKIP,
        timeout: object = None,
        kill_grace: object = 10.0,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        success_codes: Sequence[int] = (0,),
        on_lost: OnLost = "rerun",
        reclaim_after: object = None,
        on_uncertain: OnUncertain | str = OnUncertain.CONTINUE,
    ) -> None:
        values: dict[str, object] = {
            "id": _checked_id(id),
            "trigger": trigger_of(trigger, timezone=timezone),
            "command": _checked_command(id, command),
            "timezone": timezone,
            "overlap": _checked_overlap(overlap),
            "timeout_s": None if timeout is None else seconds_of(timeout, "The timeout"),
            "kill_grace_s": seconds_of(kill_grace, "The kill grace"),
            "env": dict(env or {}),
            "cwd": cwd,
            "success_codes": frozenset(success_codes),
            "on_lost": _checked_on_lost(on_lost),
            "reclaim_after_s": None if reclaim_after is None else seconds_of(reclaim_after, "The reclaim window"),
            "on_uncertain": _checked_on_uncertain(on_uncertain),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def is_callable(self) -> bool:
        """Whether the payload is a function of this program."""
        return callable(self.command)


def _checked_id(given: object) -> str:
    if not isinstance(given, str) or not NAME.fullmatch(given) or given == SCHEDULER:
        raise BadSchedule(f"A task's id holds letters, digits, _ and -, 64 at most, and {given!r} does not.")
    return given


def _checked_command(task: object, given: str | Sequence[str] | Payload) -> Command | Payload:
    if callable(given):
        return given
    command: Command = given if isinstance(given, str) else tuple(given)
    if not command or any(not isinstance(part, str) for part in command):
        raise BadSchedule(f"Task {task} needs a command: a text, a list of texts, or a callable.")
    return command


def _checked_overlap(given: Overlap | str) -> Overlap:
    try:
        return Overlap(given)
    except ValueError:
        raise BadSchedule(f"Overlap is skip, queue or allow, and {given!r} is none of them.") from None


def _checked_on_uncertain(given: OnUncertain | str) -> OnUncertain:
    try:
        return OnUncertain(given)
    except ValueError:
        raise BadSchedule(f"on_uncertain is continue or stop, and {given!r} is neither.") from None


def _checked_on_lost(given: str) -> str:
    if given not in ON_LOST:
        raise BadSchedule(f"on_lost is rerun or fail, and {given!r} is neither.")
    return given
