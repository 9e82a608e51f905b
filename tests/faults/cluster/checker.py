"""I1 to I16 of claims.md C11, over the whole history of a store and the effects of its tasks.

`broken(history)` replays every transaction and tells what does not hold, each with the invariant's name. The words of
claims.md are read as DESIGN 6 has them: *ready* is `queued` without owner, *claimed* is `queued` with one; a run that
waits for its authority to decide is `running` without owner, its attempt ended; a node is a row of `leases`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeVar

from pyscheduler.model.run import FINAL_STATES
from tests.faults.cluster.history import Change, History, Row, detail_of

FINAL: Final = frozenset(str(state) for state in FINAL_STATES)
DUE: Final = frozenset({"schedule", "catch_up", "backfill"})
LOST: Final = frozenset({"lost_running"})
REVOKED: Final = frozenset({"lost_running", "lost_claimed", "start_aborted"})
BITES: Final = ("lost_running", "lost_claimed", "start_refused", "superseded")
"""What no fault-free history has."""
Key = TypeVar("Key")


@dataclass(frozen=True)
class Broken:
    """One thing that must never be."""

    invariant: str
    words: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.words}"


@dataclass
class World:
    """The store as one transaction after the other leaves it."""

    runs: dict[str, Row] = field(default_factory=dict)
    attempts: dict[tuple[str, int], Row] = field(default_factory=dict)
    nodes: dict[str, Row] = field(default_factory=dict)
    grants: dict[tuple[str, int], str] = field(default_factory=dict)
    """(run, token) → who was granted it."""
    apps: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The incarnations that each process registered."""
    ends: dict[tuple[str, int], str] = field(default_factory=dict)
    """(run, attempt) → how its end came into the store: applied, superseded or revoked."""
    ended_runs: Counter[str] = field(default_factory=Counter)
    """Ends of tries that were applied and were no success."""

    def take(self, change: Change) -> None:
        row, gone = change.row, change.new is None
        if change.table == "runs":
            _put(self.runs, row["run_id"], row, gone=gone)
        elif change.table == "attempts":
            _put(self.attempts, (row["run_id"], row["attempt"]), row, gone=gone)
        elif change.table == "leases":
            _put(self.nodes, row["name"], row, gone=gone)
            if change.old is None and row["kind"] == "node":
                self.apps[change.app].add(row["name"])


def broken(history: History) -> list[Broken]:
    """Return all that does not hold; nothing, if all is well."""
    world, found = World(), list[Broken]()
    due: dict[tuple[str, int], str] = {}
    for transaction in history.transactions():
        for change in transaction:
            found += _of_row(change, transaction, world, due)
            world.take(change)
        found += _of_commit(transaction, world, history)
    return found + list(_of_end(history, world))


# ---------------------------------------------------------------- one row


def _of_row(
    change: Change, transaction: tuple[Change, ...], world: World, due: dict[tuple[str, int], str]
) -> Iterator[Broken]:
    if change.table == "runs" and change.new is not None:
        yield from _one_run_a_due_time(change.new, due)
        yield from _token(change, transaction, world)
        yield from _final(change)
    elif change.table == "attempts" and change.new is not None:
        yield from _attempt(change, world)
    elif change.table == "leases" and change.new is not None and change.new["name"] == "authority":
        yield from _epoch(change)


def _one_run_a_due_time(run: Row, due: dict[tuple[str, int], str]) -> Iterator[Broken]:
    if run["trigger"] in DUE:
        place = (run["job"], run["scheduled_at"])
        if due.setdefault(place, run["run_id"]) != run["run_id"]:
            yield Broken("I1", f"{run['run_id']} and {due[place]} are for the same due time {place}")


def _token(change: Change, transaction: tuple[Change, ...], world: World) -> Iterator[Broken]:
    run = change.new
    assert run is not None
    name, token, owner = run["run_id"], run["token"], run["owner_inc"]
    before, had = (change.was("token") or 0), change.was("owner_inc")
    if token < before or token > before + 1:
        yield Broken("I2", f"{name}: the token went from {before} to {token}")
    if (token % 2 == 1) != (owner is not None):
        yield Broken("I2", f"{name}: token {token} is owned by {owner}")
    if owner != had and token == before and not _said(transaction, name, "adopted"):
        yield Broken("I2", f"{name}: owner {had} became {owner} under the same token {token}")
    if owner is not None and (owner != had or token != before):
        granted = world.grants.get((name, token))
        if granted is not None and token != before:
            yield Broken("I2", f"{name}: token {token} is granted again, to {owner} after {granted}")
        world.grants[name, token] = owner


def _final(change: Change) -> Iterator[Broken]:
    if change.was("state") in FINAL and change.turned("state"):
        yield Broken("I9", f"{change.row['run_id']}: {change.was('state')} became {change.row['state']}")


def _attempt(change: Change, world: World) -> Iterator[Broken]:
    attempt = change.new
    assert attempt is not None
    name, token = attempt["run_id"], attempt["token"]
    if change.old is None:
        if any(row["token"] == token for (run, _), row in world.attempts.items() if run == name):
            yield Broken("I5", f"{name}: token {token} has two attempts")
        elif world.grants.get((name, token)) != attempt["inc_id"]:
            grantee = world.grants.get((name, token))
            yield Broken("I5", f"{name}: attempt {attempt['attempt']} of {attempt['inc_id']}, {token} is {grantee}'s")


def _epoch(change: Change) -> Iterator[Broken]:
    row = change.new
    assert row is not None
    before = change.was("epoch") or 0
    if row["epoch"] < before:
        yield Broken("I11", f"the epoch went from {before} to {row['epoch']}")
    if change.turned("holder_inc") and change.was("holder_inc") and row["epoch"] <= before:
        yield Broken("I11", f"{row['holder_inc']} took the authority in the epoch of {change.was('holder_inc')}")


# ---------------------------------------------------------------- one commit


def _of_commit(transaction: tuple[Change, ...], world: World, history: History) -> Iterator[Broken]:
    touched = {change.row["run_id"] for change in transaction if change.table in ("runs", "attempts")}
    for name in touched & world.runs.keys():
        yield from _owned(world.runs[name], world)
        yield from _succeeded(world.runs[name], world)
    fenced = {change.row["name"] for change in transaction if change.table == "leases" and change.turned("fenced_at")}
    if fenced:
        for run in world.runs.values():
            if run["owner_inc"] in fenced:
                yield from _owned(run, world)
    yield from _ends(transaction, world)
    yield from _written_by_authority(transaction, world)
    if touched:
        yield from _room(world, history)
    yield from _watermarks(transaction, history)


def _owned(run: Row, world: World) -> Iterator[Broken]:
    name, owner, state = run["run_id"], run["owner_inc"], run["state"]
    if state in FINAL:
        return
    if owner is None:
        attempt = world.attempts.get((name, run["attempt"]))
        if state == "running" and (attempt is None or attempt["ended_at"] is None):
            yield Broken("I3", f"{name} is running and nobody's")
        return
    if state not in ("queued", "running"):
        yield Broken("I3", f"{name} is {state} and {owner}'s")
    node = world.nodes.get(owner)
    if node is None or node["fenced_at"] is not None:
        yield Broken("I4", f"{name} is {state} and belongs to {owner}, who is {'fenced' if node else 'nobody'}")


def _succeeded(run: Row, world: World) -> Iterator[Broken]:
    if run["state"] != "succeeded":
        return
    attempt = world.attempts.get((run["run_id"], run["attempt"]))
    if attempt is None or attempt["ended_at"] is None or attempt["outcome"] != "succeeded":
        yield Broken("I6", f"{run['run_id']} succeeded and its attempt {run['attempt']} did not")
    elif world.grants.get((run["run_id"], attempt["token"])) != attempt["inc_id"]:
        yield Broken("I6", f"{run['run_id']} succeeded by {attempt['inc_id']}, who was not granted {attempt['token']}")


def _ends(transaction: tuple[Change, ...], world: World) -> Iterator[Broken]:
    """I10: an end is applied, or kept as superseded, or the end was a revocation; never two of them, never none."""
    for change in transaction:
        if change.table != "attempts" or change.new is None or change.was("ended_at") is not None:
            continue
        attempt = change.new
        if attempt["ended_at"] is None:
            continue
        name, token = attempt["run_id"], attempt["token"]
        ways = [
            *(["applied"] if _ended_by_owner(transaction, name, token) else []),
            *(["superseded"] if _said(transaction, name, "superseded") else []),
            *(["revoked"] if any(_said(transaction, name, word) for word in REVOKED) else []),
        ]
        if "revoked" in ways and "applied" in ways:
            ways.remove("applied")  # a revocation changes the owner's row, too
        if len(ways) != 1:
            yield Broken("I10", f"{name}: the end of token {token} came in as {ways or 'nothing'}")
        world.ends[name, attempt["attempt"]] = ways[0] if ways else "nothing"
        if ways == ["applied"] and attempt["outcome"] != "succeeded":
            world.ended_runs[name] += 1


def _ended_by_owner(transaction: tuple[Change, ...], run_id: str, token: int) -> bool:
    """Whether the run was its attempt's until this transaction changed it."""
    return any(
        change.table == "runs" and change.row["run_id"] == run_id and change.was("token") == token
        and change.was("state") == "running" and (change.turned("state") or change.turned("owner_inc"))
        for change in transaction
    )  # fmt: skip


def _written_by_authority(transaction: tuple[Change, ...], world: World) -> Iterator[Broken]:
    for change in transaction:
        if change.table == "runs" and change.old is None and change.row["trigger"] in DUE and change.holder is not None:
            mine = world.apps.get(change.app)
            if mine is not None and change.holder not in mine:
                name, epoch = change.row["run_id"], change.epoch
                yield Broken("I11", f"{change.app} created {name} in epoch {epoch} of {change.holder}")


def _room(world: World, history: History) -> Iterator[Broken]:
    promises = history.promises
    if not promises.pools and not promises.max_active:
        return
    active = Counter(run["job"] for run in world.runs.values() if _takes_room(run))
    for job, most in promises.max_active.items():
        if active[job] > most:
            yield Broken("I13", f"{active[job]} runs of {job} are active, of {most}")
    used: Counter[str] = Counter()
    for job, (pool, weight) in promises.pools.items():
        used[pool] += active[job] * weight
    for pool, size in promises.sizes.items():
        if used[pool] > size:
            yield Broken("I12", f"{used[pool]} places of {size} are used in {pool}")


def _takes_room(run: Row) -> bool:
    if run["state"] == "running":
        return True
    return bool(run["state"] == "queued" and (run["owner_inc"] is not None or run["offered_at"] is not None))


def _watermarks(transaction: tuple[Change, ...], history: History) -> Iterator[Broken]:
    for change in transaction:
        if change.table == "engine" and change.row["key"].startswith(history.promises.watermarks):
            before, now = change.was("value"), None if change.new is None else change.new["value"]
            if before is not None and (now is None or _instant(now) < _instant(before)):
                yield Broken("I16", f"{change.row['key']} went from {before} to {now}")


def _instant(value: str) -> tuple[int, str]:
    """Order instants whether they are written as a number or as a date."""
    return (int(value), "") if value.lstrip("-").isdigit() else (0, value)


# ---------------------------------------------------------------- the end


def _of_end(history: History, world: World) -> Iterator[Broken]:
    yield from _executions(history, world)
    yield from _superseded_twice(history, world)
    if history.promises.quiet:
        yield from _nobody_was_robbed(history, world)
    ended = {(run["job"], run["scheduled_at"]): run["state"] for run in world.runs.values()}
    for place in sorted(history.promises.wanted):
        if ended.get(place) not in FINAL:
            yield Broken("I15", f"the run of {place} is {ended.get(place, 'missing')}")


def _executions(history: History, world: World) -> Iterator[Broken]:
    begun = Counter((effect.run_id, effect.attempt, effect.key) for effect in history.effects if effect.what == "begin")
    for (name, number, key), times in begun.items():
        attempt = world.attempts.get((name, number))
        if attempt is None or attempt["key"] != key:
            yield Broken("I7", f"{name} attempt {number} ({key}) was executed and has no committed start")
        if times > 1:
            yield Broken("I7", f"{name} attempt {number} was executed {times} times")
    lost = Counter(event["run_id"] for event in history.events(*LOST))
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
    for event in history.events(*BITES):
        yield Broken("I14", f"nothing was wrong, and {event['run_id']} has the line {event['action']}")
    for node in world.nodes.values():
        if node["fenced_at"] is not None and node["fence_reason"] != "exit":
            yield Broken("I14", f"nothing was wrong, and {node['name']} was fenced: {node['fence_reason']}")


def _said(transaction: tuple[Change, ...], run_id: str, action: str) -> bool:
    return any(
        change.table == "events" and change.row["run_id"] == run_id and change.row["action"] == action
        for change in transaction
    )


def _put(rows: dict[Key, Row], key: Key, row: Row, *, gone: bool) -> None:
    if gone:
        rows.pop(key, None)
    else:
        rows[key] = row
