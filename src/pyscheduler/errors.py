"""The whole error family, sorted by who must act.

```text
PyschedError                    where · what · how to mend
├── ConfigError                 the author of the text: `.problems` holds every complaint of every file
├── NaiveTime (ValueError)      the caller's code: an instant without a zone is never guessed at
├── BadSchedule (ValueError)    the caller's code: a schedule, a task or a trigger that makes no sense
├── ActionError                 the caller of an action; `.status` is the HTTP status it becomes
│   ├── BadRequest     400
│   ├── Unauthorised   401
│   ├── Forbidden      403
│   ├── NotFound       404
│   ├── Conflict       409
│   ├── CutShort       400      and these before anybody looks at what is asked for
│   ├── TooSlow        408
│   ├── TooLarge       413
│   ├── WrongType      415
│   ├── KeyReused      422
│   ├── TooMany        429      Throttled, where it is sign-ins
│   ├── HeadTooLarge   431
│   └── Unavailable    503      stopping, starting, or failed
├── StoreError                  the operator: the disk, the file, the server
│   ├── StoreLocked             another process has it
│   ├── StoreDamaged            the file is not what we wrote
│   ├── StoreForeign            a newer program wrote it, or it is somebody else's
│   └── StoreUnavailable        out of reach or out of room: may pass by itself
├── AuthorityLost               nobody: another scheduler leads now, and this one steps down
├── AlreadyServed               the operator: another scheduler is at home in this folder
├── LaunchError                 the operator: nothing could be started on this machine
├── NotifyError                 the operator: a notifier did not take a message
└── EngineFailedError           the operator: the engine has failed stop; `__cause__` says why
```

Each class has a `code`, and docs/reference/errors.md has a paragraph for each (a test holds it to that). An
impossible transition is no member of the family: it is our bug, so it is an AssertionError and stops the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyscheduler.model.problem import Problem


class PyschedError(Exception):
    """Something a person has to mend, said in three parts.

    `where` names the place (file:line:column, a run, a path), `what` the fault, `mend` the next step.
    Empty parts are left out of the text.
    """

    code: ClassVar[str] = "error"

    def __init__(self, what: str, *, where: str = "", mend: str = "") -> None:
        self.where, self.what, self.mend = where, what, mend
        super().__init__(what)

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}; {self.mend}" if self.mend else text


class ConfigError(PyschedError):
    """The configuration cannot be used; `.problems` holds all complaints, errors and warnings, in file order."""

    code = "config"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class NaiveTime(PyschedError, ValueError):
    """An instant came without a time zone, where guessing one would move a night's work by hours."""

    code = "naive-time"


class BadSchedule(PyschedError, ValueError):
    """A schedule, a task or a trigger of `pyscheduler.cluster` makes no sense: said when it is made, before any run."""

    code = "bad-schedule"


class ActionError(PyschedError):
    """An action was refused; `status` is the HTTP status for it."""

    code = "action"
    status: ClassVar[int] = 400


class BadRequest(ActionError):
    """The request makes no sense as it stands."""

    code = "bad-request"
    status = 400


class Unauthorised(ActionError):
    """Nobody can tell who the caller is, or what was shown as proof is none."""

    code = "unauthorised"
    status = 401


class Forbidden(ActionError):
    """The caller may not do this."""

    code = "forbidden"
    status = 403


class NotFound(ActionError):
    """No job, run or attempt of that name."""

    code = "not-found"
    status = 404


class CutShort(ActionError):
    """The connection ended before the request's body did."""

    code = "cut-short"
    status = 400


class TooSlow(ActionError):
    """The request's body did not come in time."""

    code = "too-slow"
    status = 408


class TooLarge(ActionError):
    """The request's body is larger than it may be."""

    code = "too-large"
    status = 413


class WrongType(ActionError):
    """What was posted is no JSON, or does not say so."""

    code = "wrong-type"
    status = 415


class KeyReused(ActionError):
    """An idempotency key came back with another request."""

    code = "key-reused"
    status = 422


class TooMany(ActionError):
    """The caller asks for more than its share; `wait_s` says after how many seconds to ask again."""

    code = "too-many"
    status = 429

    def __init__(self, what: str, *, where: str = "", mend: str = "", wait_s: float = 1) -> None:
        super().__init__(what, where=where, mend=mend)
        self.wait_s = wait_s


class Throttled(TooMany):
    """Too many sign-ins have failed: none is looked at for `wait_s` seconds."""

    code = "throttled"


class HeadTooLarge(ActionError):
    """The request's head is larger than it may be."""

    code = "head-too-large"
    status = 431


class Conflict(ActionError):
    """The run or job is in a state that does not allow it."""

    code = "conflict"
    status = 409


class Unavailable(ActionError):
    """The engine is starting, stopping or failed: nothing was done, ask again later."""

    code = "unavailable"
    status = 503


class StoreError(PyschedError):
    """The store cannot remember what it must.

    `outcome_unknown` is set where the error came from the commit itself: the change may be on disk or not, and only
    opening the store again and reading it back can tell.
    """

    code = "store"
    outcome_unknown: bool = False


class StoreLocked(StoreError):
    """Another process holds this store."""

    code = "store-locked"


class StoreDamaged(StoreError):
    """The store's file is not what we wrote: restore a backup. Never overwritten, never taken for a new one."""

    code = "store-damaged"


class StoreForeign(StoreError):
    """The store was written by a newer release or by another program."""

    code = "store-foreign"


class StoreUnavailable(StoreError):
    """The store is out of reach, read-only or out of room; it may pass by itself."""

    code = "store-unavailable"


class AuthorityLost(PyschedError):
    """Another scheduler is the authority by now; nothing was written."""

    code = "authority-lost"


class AlreadyServed(PyschedError):
    """Another process serves this state folder."""

    code = "already-served"


class LaunchError(PyschedError):
    """No attempt can be started on this machine."""

    code = "launch"


class NotifyError(PyschedError):
    """A notifier did not take a message; it is tried again as its `retries` say."""

    code = "notify"


class EngineFailedError(PyschedError):
    """The engine has failed stop: nothing more is started until a new one reads the store."""

    code = "engine-failed"
