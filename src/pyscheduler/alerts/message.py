"""What a notifier is given: the alert as a plain mapping, as JSON bytes, and as one line for people.

Reasons may hold any bytes that a job or a file system came up with; here they become text that every receiver can read:
valid UTF-8, and the line without anything that would start a second one (field case FC-048).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pyscheduler.model.alert import Alert, AlertKind

LONGEST_LINE: Final = 1000
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


@dataclass(frozen=True, slots=True)
class Message:
    """One alert, ready to be sent. `body` is `fields` as JSON."""

    fields: Mapping[str, Any]
    line: str

    @property
    def body(self) -> bytes:
        """The JSON that is posted, piped and mailed."""
        return _encode(self.fields).encode("utf-8", "replace")


def message_of(alert: Alert, scheduler: str, repeats: int = 0) -> Message:
    """Return an alert of a scheduler as a message. `repeats`: how often its like was held back since."""
    again = f" (and {repeats} times more since)" if repeats else ""
    text = one_line(alert.message)[:LONGEST_LINE] + again
    fields = {
        "alert_id": alert.alert_id,
        "kind": alert.kind.value,
        "criticality": alert.criticality,
        "job": alert.job,
        "run_id": alert.run_id,
        "run_date": None if alert.run_date is None else alert.run_date.isoformat(),
        "attempt": alert.attempt,
        "raised_at": _instant(alert.raised_at),
        "message": text,
        "scheduler": scheduler,
        "repeats": repeats,
        "detail": dict(alert.detail),
    }
    return Message(fields, f"[{alert.criticality}] {text}")


def test_message(notifier: str, actor: str, scheduler: str, now: datetime) -> Message:
    """Return a message that says it is a test: its kind is `test`, which no alert has."""
    alert = Alert(
        alert_id=f"_scheduler:test:{now:%Y%m%dT%H%M%S.%fZ}",
        kind=AlertKind.RECOVERED,
        criticality="low",
        raised_at=now,
        message=f"a test of notifier {notifier} by {actor}: nothing is wrong",
    )
    message = message_of(alert, scheduler)
    return Message({**message.fields, "kind": "test"}, message.line)


def one_line(text: str) -> str:
    """Return a text on one line, whatever it holds."""
    plain = text.encode("utf-8", "replace").decode("utf-8")
    return " ".join("".join(each if each.isprintable() else " " for each in plain).split())


def _instant(value: datetime) -> str:
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
