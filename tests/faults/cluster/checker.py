"""I1 to I16 of claims.md C11, over the whole history of a store and the effects of its tasks.

`broken(history)` replays every transaction and tells what does not hold, each with the invariant's name. The words of
claims.md are read as DESIGN 6 has them: *ready* is `queued` without owner, *claimed* is `queued` with one; a run that
waits for its authority to decide is `running` without owner, its attempt ended; a node is a row of `leases`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from tests.faults.cluster.ending import of_end
from tests.faults.cluster.history import Change, History, Row
from tests.faults.cluster.world import DUE, FINAL, Broken, World

REVOKED: Final = frozenset({"lost_running", "lost_claimed", "start_aborted"})


def broken(history: History) -> list[Broken]:
    """Return all that does not hold; nothing, if all is well."""
    world, found = World(), list[Broken]()
    due: dict[tuple[str, int], str] = {}
    for transaction in history.transactions():
        for change in transaction:
            found += _of_row(change, transaction, world, due)
            world.take(change)
        found += _of_commit(transaction, world, history)
    return found + list(of_end(history, world))


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
    yield from _starts(transaction, world)
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


def _starts(transaction: tuple[Change, ...], world: World) -> Iterator[Broken]:
    """I5, too: an attempt is started under the token that its run has."""
    for change in transaction:
        if change.table == "attempts" and change.old is None and change.row["inc_id"] is not None:
            name, token = change.row["run_id"], change.row["token"]
            run = world.runs.get(name)
            if run is None or (run["token"], run["state"]) != (token, "running"):
                yield Broken("I5", f"{name} was started under {token}, and is {run and (run['state'], run['token'])}")


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
        mine = world.apps.get(change.app)
        if _is_authoritys(change) and change.holder is not None and mine is not None and change.holder not in mine:
            what = change.row.get("run_id") or change.row.get("key")
            yield Broken("I11", f"{change.app} wrote {what} in epoch {change.epoch} of {change.holder}")


def _is_authoritys(change: Change) -> bool:
    """Whether nobody but the authority may do this: make a run, move a watermark, let a retry come due."""
    if change.table == "engine":
        return bool(change.row["key"].startswith("watermark."))
    if change.table != "runs":
        return False
    return (change.old is None and change.row["trigger"] in DUE) or (
        change.was("state") == "retry_wait" and change.turned("state")
    )


def _room(world: World, history: History) -> Iterator[Broken]:
    room = history.promises.room
    if not room.pools and not room.max_active:
        return
    active = Counter(run["job"] for run in world.runs.values() if _takes_room(run))
    for job, most in room.max_active.items():
        if active[job] > most:
            yield Broken("I13", f"{active[job]} runs of {job} are active, of {most}")
    used: Counter[str] = Counter()
    for job, (pool, weight) in room.pools.items():
        used[pool] += active[job] * weight
    for pool, size in room.sizes.items():
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


def _said(transaction: tuple[Change, ...], run_id: str, action: str) -> bool:
    return any(
        change.table == "events" and change.row["run_id"] == run_id and change.row["action"] == action
        for change in transaction
    )
