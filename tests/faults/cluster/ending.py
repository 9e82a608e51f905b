"""What holds at the end of a history: executions against grants, late reports, and that everything due has ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Final

from tests.faults.cluster.history import Effect, History, detail_of
from tests.faults.cluster.world import FINAL, Broken, World

BITES: Final = ("lost_running", "lost_claimed", "start_refused", "superseded")
"""What no fault-free history has."""
ROBBED: Final = ("lost_running", "lost_claimed", "superseded")
"""What no history has in which nothing but the store was away: a late start may be refused, and is made again."""
LOST: Final = "lost_running"
TICK_S: Final = 0.02
"""How exactly a task knows the time."""


def of_end(history: History, world: World) -> Iterator[Broken]:
    yield from _executions(history, world)
    yield from _overlaps(history)
    yield from _superseded_twice(history, world)
    if history.promises.quiet:
        yield from _nobody_was_robbed(history, world)
    ended = {(run["job"], run["scheduled_at"]): run["state"] for run in world.runs.values()}
    for place in sorted(history.promises.wanted):
        if ended.get(place) not in FINAL:
            yield Broken("I15", f"the run of {place} is {ended.get(place, 'missing')}")


def _executions(history: History, world: World) -> Iterator[Broken]:
    begun = Counter((effect.run_id, effect.attempt, effect.key) for effect in history.effects if effect.what == "begin")
    started = {
        (change.row["run_id"], change.row["attempt"]): change.at_s
        for change in history.changes
        if change.table == "attempts" and change.old is None
    }
    for (name, number, key), times in begun.items():
        attempt = world.attempts.get((name, number))
        if attempt is None or attempt["key"] != key:
            yield Broken("I7", f"{name} attempt {number} ({key}) was executed and has no committed start")
        elif (
            attempt["inc_id"] is not None and (early := _began(history, name, number) - started[name, number]) < -TICK_S
        ):
            yield Broken("I7", f"{name} attempt {number} was executed {-early:.3f} s before its start was committed")
        if times > 1:
            yield Broken("I7", f"{name} attempt {number} was executed {times} times")
    lost = Counter(event["run_id"] for event in history.events(LOST))
    for name, times in Counter(name for name, _, _ in begun.elements()).items():
        allowed = 1 + lost[name] + world.ended_runs[name]
        if times > allowed:
            yield Broken("I8", f"{name} was executed {times} times, and {allowed} are accounted for")


def _superseded_twice(history: History, world: World) -> Iterator[Broken]:
    late = {(event["run_id"], detail_of(event).get("token")) for event in history.events("superseded")}
    for (name, number), way in world.ends.items():
        attempt = world.attempts.get((name, number))
        if way == "applied" and attempt is not None and (name, attempt["token"]) in late:
            yield Broken("I10", f"{name}: the end of token {attempt['token']} is both applied and superseded")


def _nobody_was_robbed(history: History, world: World) -> Iterator[Broken]:
    for event in history.events(*ROBBED):
        yield Broken("I14", f"nothing was wrong, and {event['run_id']} has the line {event['action']}")
    for node in world.nodes.values():
        if node["fenced_at"] is not None and node["fence_reason"] != "exit":
            yield Broken("I14", f"nothing was wrong, and {node['name']} was fenced: {node['fence_reason']}")


def _began(history: History, name: str, number: int) -> float:
    return min(
        effect.uptime_s
        for effect in history.effects
        if (effect.what, effect.run_id, effect.attempt) == ("begin", name, number)
    )


def _overlaps(history: History) -> Iterator[Broken]:
    """Two executions of a run at once are possible after its window, or by a hand; never by proof (claims.md C12)."""
    unproved = {event["run_id"] for event in history.events(LOST) if detail_of(event).get("proof") != "dead"}
    for name, spans in _spans(history).items():
        for (one, ended), (other, _) in combinations(sorted(spans), 2):
            if other < ended and name not in unproved:
                yield Broken("overlap", f"{name} was executed at {one:.2f} until {ended:.2f} and at {other:.2f}")


def _spans(history: History) -> dict[str, list[tuple[float, float]]]:
    """Return from when until when each run was executed, where its task came to its own end."""
    begun: dict[int, Effect] = {}
    spans: dict[str, list[tuple[float, float]]] = {}
    for effect in sorted(history.effects, key=lambda effect: effect.uptime_s):
        if effect.what == "begin":
            begun[effect.pid] = effect
        elif effect.pid in begun:
            spans.setdefault(effect.run_id, []).append((begun.pop(effect.pid).uptime_s, effect.uptime_s))
    for effect in begun.values():  # killed, or still at it: it counts as a moment
        spans.setdefault(effect.run_id, []).append((effect.uptime_s, effect.uptime_s))
    return spans
