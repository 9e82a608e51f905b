"""How long a lease is believed in, and when another's may be taken for over. Spec: claims.md C3, DESIGN 6.

What must always hold: safety never rests on a clock; the clocks here only decide when somebody *may try*. They err to
the safe side: my own trust counts from before the heartbeat was sent, what I see of others from after it was answered,
both on the boot clock, which counts while the machine sleeps and is never set. A store that did not answer once makes
everything seen before worth nothing, and time in which I was blind (an answer that waited through an outage, a machine
that slept) counts for a fraction only: after an outage an owner gets the time to renew.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Final

from pyscheduler.model.job import OnUncertain
from pyscheduler.model.lease import DAY_S, Seen, Timing
from pyscheduler.timetable.wording import duration_s

__all__ = ["LONGEST_S", "Observer", "Timing", "Trust", "seconds", "timing", "window_of"]

LONGEST_S: Final = 10 * 366 * DAY_S
"""Ten years: more is a slip of the pen."""
_NAMES: Final = {
    "heartbeat": "heartbeat",
    "lease": "lease",
    "kill_grace": "kill grace",
    "margin": "margin",
    "observe": "observation time",
    "sweep": "sweep",
    "authority_lease": "authority's lease",
    "authority_heartbeat": "authority's heartbeat",
    "authority_observe": "authority's observation time",
    "authority_margin": "authority's margin",
    "wedge": "wedge time",
    "heartbeat_timeout": "heartbeat's time-out",
    "statement_timeout": "statement's time-out",
    "lock_timeout": "lock's time-out",
    "idle_timeout": "idle transaction's time-out",
    "reclaim_after": "reclaim window",
}
_HAIR: Final = 1e-9
"""What sums of decimals are off by."""


def seconds(length: object, what: str) -> float:
    """Return a length of time in seconds: a number of them, a timedelta, a text such as `1h30m` or `0.2`.

    One rule for every form: a truth value, NaN, infinity, zero, less than zero, and more than ten years are refused.
    `what` is the subject of the refusal: `The reclaim window`. Raises ValueError.
    """
    number = _number(length, what)
    if math.isnan(number) or number <= 0 or math.isinf(number):
        raise ValueError(f"{what} must be greater than zero.")
    if number > LONGEST_S:
        raise ValueError(f"{what} must be ten years at most.")
    return number


def _number(length: object, what: str) -> float:
    match length:
        case bool():
            raise ValueError(f"{what} must be a length of time, and {length} is none.")
        case timedelta():
            return length.total_seconds()
        case int():
            return float(max(-1, min(length, int(LONGEST_S) + 1)))  # a larger one may be no float at all
        case float():
            return length
        case str():
            return _read(length.strip(), what)
        case _:
            raise ValueError(f"{what} must be a number of seconds, a timedelta or a text such as 1h30m.")


def _read(text: str, what: str) -> float:
    found = duration_s(text)
    if found is not None:
        return float(found)
    try:
        return float(text.removesuffix("s"))
    except ValueError:
        raise ValueError(f"{what} must be a length of time such as 1h30m, and {text!r} is none.") from None


def timing(**given: object) -> Timing:
    """Return the times that hold, from those that are given (`heartbeat=5, lease="45s"` …) and the rest's defaults.

    A default that depends on another follows it: the heartbeat's time-out is the heartbeat's interval, the observation
    time never less than two of them and that, the authority's times are parts of its lease. Raises ValueError with the
    first thing that does not hold together, as a sentence. Spec: claims.md C3.
    """
    unknown = sorted(given.keys() - _NAMES.keys())
    if unknown:
        raise ValueError(f"There is no time called {unknown[0]}.")
    said = {name: seconds(value, f"The {_NAMES[name]}") for name, value in given.items()}
    standard = {field.name.removesuffix("_s"): float(str(field.default)) for field in fields(Timing)}
    times = standard | _following(standard | said, said) | said
    for holds, sentence in _RELATIONS:
        if not holds(times):
            raise ValueError(sentence)
    return Timing(**{f"{name}_s": value for name, value in times.items()})


def _following(times: dict[str, float], said: dict[str, float]) -> dict[str, float]:
    """Return the defaults that follow what was said."""
    heartbeat, lease = times["heartbeat"], times["authority_lease"]
    timeout = said.get("heartbeat_timeout", heartbeat)
    beat = said.get("authority_heartbeat", lease / 5)
    return {
        "heartbeat_timeout": timeout,
        "observe": max(times["observe"], 2 * heartbeat + timeout),
        "sweep": min(times["sweep"], heartbeat),
        "authority_heartbeat": beat,
        "authority_observe": max(3 * lease / 5, 3 * beat),
        "authority_margin": lease / 5,
    }


_Times = dict[str, float]
_RELATIONS: Final[tuple[tuple[Callable[[_Times], bool], str], ...]] = (
    (lambda t: 0.2 <= t["heartbeat"] <= 60, "The heartbeat must be between 0.2 s and 60 s."),
    (
        lambda t: t["lease"] - t["margin"] >= 3 * t["heartbeat"] - _HAIR,
        "The lease without the margin must be three heartbeats at least.",
    ),
    (
        lambda t: t["margin"] >= t["kill_grace"] + 1 + 0.02 * t["lease"] - _HAIR,
        "The margin must be one second and a fiftieth of the lease more than the kill grace.",
    ),
    (
        lambda t: t["observe"] >= 2 * t["heartbeat"] + t["heartbeat_timeout"] - _HAIR,
        "The observation time must be two heartbeats and the heartbeat's time-out at least.",
    ),
    (lambda t: t["sweep"] <= t["heartbeat"] + _HAIR, "The sweep must not be longer than the heartbeat."),
    (
        lambda t: t["authority_lease"] - t["authority_margin"] >= 3 * t["authority_heartbeat"] - _HAIR,
        "The authority's lease without its margin must be three of its heartbeats at least.",
    ),
    (
        lambda t: t["authority_observe"] >= 3 * t["authority_heartbeat"] - _HAIR,
        "The authority's observation time must be three of its heartbeats at least.",
    ),
    (lambda t: t["wedge"] >= t["heartbeat"], "The wedge time must not be shorter than the heartbeat."),
)


def window_of(reclaim_after_s: float | None, on_uncertain: OnUncertain, times: Timing) -> float:
    """Return how long a silent owner keeps a run's started attempt, 0 for as long as the scheduler says. DESIGN 6.

    One that is ended when its owner's lease is in doubt needs no longer than that takes.
    """
    if reclaim_after_s is not None:
        return reclaim_after_s
    return times.lease_s + times.kill_grace_s if on_uncertain is OnUncertain.STOP else 0.0


class Trust:
    """Until when I may act on my own lease: T of claims.md C3. All instants are seconds of the boot clock."""

    def __init__(self, lease_s: float, margin_s: float) -> None:
        self._good_for_s = lease_s - margin_s
        self.until = -math.inf

    def renewed(self, sent_at: float) -> None:
        """A renewal that was sent then has been confirmed. One without an answer changes nothing."""
        self.until = max(self.until, sent_at + self._good_for_s)

    def ended(self) -> None:
        """I am fenced, or the lease was given up."""
        self.until = -math.inf

    def holds(self, now: float) -> bool:
        """Whether I may claim, start and lead at this instant."""
        return now < self.until


@dataclass(slots=True)
class _Sight:
    """One row as it has stood: for `seen_s` seconds in sum, up to `last`, the question (at first the answer)."""

    hb_seq: int
    epoch: int
    last: float
    seen_s: float = 0.0


class Observer:
    """What one process has itself seen of others' leases, on its own boot clock: the observation rule of claims.md C3.

    Feed it every row of every sweep, in order; tell it of every store operation that failed. Of the time between two
    looks `blink_s` seconds count at most.
    """

    def __init__(self, observe_s: float, blink_s: float = math.inf) -> None:
        self._observe_s, self._blink_s = observe_s, blink_s
        self._sights: dict[str, _Sight] = {}

    def saw(self, name: str, hb_seq: int, asked_at: float, answered_at: float | None = None, *, epoch: int = 0) -> None:
        """Note a row that was asked for at one instant and answered at another (the same, where that is not known)."""
        sight = self._sights.get(name)
        if sight is None or (sight.hb_seq, sight.epoch) != (hb_seq, epoch):
            since = asked_at if answered_at is None else answered_at
            self._sights[name] = _Sight(hb_seq, epoch, since)
        elif asked_at > sight.last:
            sight.seen_s += min(asked_at - sight.last, self._blink_s)
            sight.last = asked_at

    def failed(self) -> None:
        """A store operation has failed: nothing seen before it counts any more."""
        self._sights.clear()

    def keep(self, names: frozenset[str]) -> None:
        """Forget everybody else: they are gone."""
        self._sights = {name: sight for name, sight in self._sights.items() if name in names}

    def stood_still(self, name: str) -> Seen | None:
        """Return what was seen, where the row has stood still for the observation time, as far as it was looked at."""
        sight = self._sights.get(name)
        if sight is None or sight.seen_s < self._observe_s - _HAIR:
            return None
        return Seen(name, sight.hb_seq, sight.epoch)
