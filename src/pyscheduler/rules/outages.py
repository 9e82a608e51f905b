"""The same failure every minute: what has been told of a job's trouble, and what need not be told again. FC-094.

A job that says `alerts: {repeat_after: 24h}` is told of once: the first alert of a *signature* at once, the same one
again only after that time, a new one at once, and one `recovered` when it succeeds again. The signature is the kind and
the reason, numbers left out but for exit codes and signals: a pid or a port makes no new failure of an old one.

A job that goes on and off is told of a bounded number of times: each relapse within `repeat_after` doubles the number
of successes in a row that count as recovery. So the last word is always true in the end, and flapping for a day costs a
handful of messages. What has been told is kept with the engine's values, so a restart repeats nothing. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from pyscheduler.model.alert import Alert, AlertKind

KEY: Final = "outage:"
"""The engine value that holds a job's outage begins so; its name follows."""
STARTS_OUTAGE: Final = frozenset(
    {AlertKind.FAILED, AlertKind.LOST, AlertKind.BLOCKED, AlertKind.NEVER_STARTED, AlertKind.STALE}
)
"""Kinds after which a success is news."""
MOST_SIGNATURES: Final = 20
MOST_RELAPSES: Final = 6
_NUMBER: Final = re.compile(r"(?:\b(exit|signal) )?[0-9]+")


@dataclass(frozen=True, slots=True)
class Outage:
    """A job's trouble and what has been told of it.

    `since` is when the present trouble began, None where there is none; `failures` counts its alerts, `held_back` those
    that were not told since one was. `told` holds when each signature was told last. `relapses` counts how often it
    came back after a recovery that was told, `successes` those in a row since the last failure.
    """

    since: datetime | None = None
    failures: int = 0
    held_back: int = 0
    told: Mapping[str, datetime] = field(default_factory=dict)
    relapses: int = 0
    successes: int = 0

    def to_text(self) -> str:
        """Return it as an engine value."""
        return json.dumps(asdict(self), default=datetime.isoformat, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Outage:
        """Return what `to_text` wrote; anything else is no outage."""
        try:
            values = json.loads(text)
            since = values.pop("since")
            told = {name: datetime.fromisoformat(at) for name, at in values.pop("told").items()}
            return cls(since=since and datetime.fromisoformat(since), told=told, **values)
        except (ValueError, TypeError, KeyError, AttributeError):
            return cls()


def signature_of(alert: Alert) -> str:
    """Return what makes two alerts of a job the same news."""
    reason = alert.detail.get("reason")
    told = _NUMBER.sub(lambda match: match[0] if match[1] else "#", reason) if isinstance(reason, str) else ""
    return f"{alert.kind} {told}"[:200]


def after_alert(outage: Outage, alert: Alert, repeat_after_s: float | None) -> tuple[Outage, bool]:
    """Return what an alert makes of a job's outage, and whether people are told of it."""
    now, signature = alert.raised_at, signature_of(alert)
    fresh = _still_fresh(outage.told, now, repeat_after_s)
    begins = alert.kind in STARTS_OUTAGE
    relapse = begins and outage.since is None and bool(fresh)
    tell = signature not in fresh or relapse
    told = fresh if not tell else _with(fresh, signature, now)
    after = replace(outage, told=told, held_back=0 if tell else outage.held_back + 1)
    if begins:
        relapses = min(outage.relapses + relapse, MOST_RELAPSES) if fresh else 0
        since = outage.since or now
        after = replace(after, since=since, failures=outage.failures + 1, relapses=relapses, successes=0)
    return after, tell


def _with(told: Mapping[str, datetime], signature: str, now: datetime) -> Mapping[str, datetime]:
    latest_last = sorted({**told, signature: now}.items(), key=lambda each: each[1])
    return dict(latest_last[-MOST_SIGNATURES:])


def after_success(outage: Outage, now: datetime, repeat_after_s: float | None) -> tuple[Outage | None, bool]:
    """Return what is left of an outage after a success (None: nothing), and whether recovery is told."""
    told = _still_fresh(outage.told, now, repeat_after_s)
    if outage.since is None:
        return (replace(outage, told=told) if told else None), False
    successes = outage.successes + 1
    if successes < 2**outage.relapses:
        return replace(outage, told=told, successes=successes), False
    over = Outage(told=told, relapses=outage.relapses)
    return (over if told else None), True


def _still_fresh(told: Mapping[str, datetime], now: datetime, repeat_after_s: float | None) -> Mapping[str, datetime]:
    """Return what was told so lately that the same is held back."""
    if repeat_after_s is None:
        return {}
    horizon = now - timedelta(seconds=repeat_after_s)
    return {signature: at for signature, at in told.items() if at > horizon}
