"""The protocol of DESIGN 4 as a model small enough to search: one attempt, every interleaving, up to two kills.

A state is what files, locks and processes look like between two system calls; `steps` yields every next one. The real
code is held to the same rules by tests/faults; here the rules themselves are searched, and broken on purpose.

What is modelled: a scheduler that creates the file, orders, waits, gives a slow nursery up, resends, dies, recovers and
finally discards; two nurseries, the second started when the first is dead or given up, each with orders that may arrive
at any later time; three minders; the job between fork and exec, running, a zombie, reaped; one lock, shared between a
minder and its child until exec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

MINDERS = 3
LOOKS = 2
ALIVE, CLOSED, DEAD, NONE = "alive", "closed", "dead", "none"


@dataclass(frozen=True)
class Rules:
    """What can be broken on purpose. All True is the protocol."""

    find_unlinks: bool = True
    minder_never_creates: bool = True
    minder_checks_under_lock: bool = True
    identity_before_job: bool = True
    note_before_reap: bool = True
    child_keeps_lock: bool = True
    find_asks_for_the_note_first: bool = True
    find_asks_for_processes: bool = True
    nursery_takes_over: bool = True
    nursery_owes: bool = True
    strays_wait: bool = True
    kills: int = 2


class State(NamedTuple):
    """`content` is "" for empty, "0" the minder's number, "0j" with its job named. `lock` holds the holders' names."""

    sched: str = "new"
    link: int = 0
    looks: int = 0
    linked: bool = False
    content: str = ""
    lock: frozenset[str] = frozenset()
    note: str = ""
    orders: tuple[int, int] = (0, 0)
    nurseries: tuple[str, ...] = (ALIVE, NONE)
    wards: tuple[str, ...] = ("", "")
    minders: tuple[str, ...] = ("",) * MINDERS
    homes: tuple[int, ...] = (0,) * MINDERS
    job: str = ""
    parent: str = ""
    started: int = 0
    kills: int = 0
    minder_killed: bool = False
    nursery_killed: bool = False


class Broken(AssertionError):
    """An invariant does not hold."""


def put(values: tuple[str, ...], index: int, value: str) -> tuple[str, ...]:
    return (*values[:index], value, *values[index + 1 :])


def name(index: int) -> str:
    return f"m{index}"


class Model:
    """All steps under some rules."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def steps(self, state: State) -> Iterator[State]:
        """Yield every state that one step of anybody leads to."""
        yield from self._scheduler(state)
        for number in (0, 1):
            yield from self._nursery(state, number)
        for index in range(MINDERS):
            yield from self._minder(state, index)
        yield from self._job(state)
        if state.kills < self.rules.kills and not state.sched.startswith("done"):
            yield from self._kills(state)

    # ------------------------------------------------------------ the scheduler

    def _scheduler(self, s: State) -> Iterator[State]:
        if s.sched == "new":
            yield s._replace(sched="created", linked=True)
        elif s.sched == "created":
            yield self._send(s)._replace(sched="wait")
        elif s.sched == "down":  # restarted: what it knew is gone, the recovery looks
            yield s._replace(sched="look", looks=0)
        elif s.sched in ("wait", "live"):
            yield from self._await(s)
        elif s.sched in ("look", "opened", "locked"):
            yield from self._find(s)
        elif s.sched.startswith("done") and (s.linked or s.note):
            yield s._replace(linked=False, note="")  # discard

    def _send(self, s: State) -> State:
        return s._replace(orders=(s.orders[0] + (s.link == 0), s.orders[1] + (s.link == 1)))

    def _await(self, s: State) -> Iterator[State]:
        lost = s.nurseries[s.link] != ALIVE
        if s.sched == "wait":
            yield s._replace(sched="look", looks=0)  # ten seconds, or a minder said "not for you"
            if s.link == 0:  # lost, or given up after five: the same order to the next one
                old = CLOSED if s.nurseries[0] == ALIVE else s.nurseries[0]
                yield self._send(s._replace(link=1, nurseries=(old, ALIVE)))
            if not lost and any(self._begun(s, index) for index in range(MINDERS)):
                yield s._replace(sched="live")
        elif lost:
            yield s._replace(sched="look", looks=0)
        elif s.note:
            yield self._done(s, s.note)

    def _begun(self, s: State, index: int) -> bool:
        return s.homes[index] == s.link and s.minders[index] in ("named", "forked", "guard", "noted", "reaped")

    def _find(self, s: State) -> Iterator[State]:
        if s.sched == "look":
            if s.note and self.rules.find_asks_for_the_note_first:
                yield self._done(s, s.note)
            elif not s.linked:
                yield self._done(s, "never")
            else:
                yield s._replace(sched="opened")
        elif s.sched == "opened":
            if s.lock:
                yield s._replace(sched="look")  # a guardian lives: adopted, looked at again
            else:
                yield s._replace(sched="locked", lock=frozenset({"find"}))
        else:
            yield self._judge(s)

    def _judge(self, s: State) -> State:
        free = s._replace(lock=frozenset(), sched="look")
        if s.note and self.rules.find_asks_for_the_note_first:
            return self._done(free, s.note)
        if not s.linked:
            return self._done(free, "never")
        if s.content == "":
            return self._done(free._replace(linked=not self.rules.find_unlinks), "never")
        if self.rules.find_asks_for_processes and self._seen(s):
            return free  # minder gone, the process still runs: looked at again
        if self.rules.nursery_owes and s.nurseries[s.homes[int(s.content[0])]] in (ALIVE, CLOSED):
            return free
        if s.looks + 1 < LOOKS:
            return free._replace(looks=s.looks + 1)
        return self._done(free, "unknown")

    def _seen(self, s: State) -> bool:
        """Whether a census shows the job: by its key from exec on, by its name also as a zombie."""
        return s.job == "run" or (s.job == "zombie" and "j" in s.content)

    def _done(self, s: State, word: str) -> State:
        """Take the attempt's end for known, and say whether that may be."""
        if word == "unknown":
            if not (s.minder_killed and s.nursery_killed):
                raise Broken("an exit code was lost while a guardian lived")
            if s.job in ("fork", "run"):
                raise Broken("a live job was called lost")
        if word == "never" and s.started:
            raise Broken("called never started, but it was")
        if word == "code" and s.started != 1:
            raise Broken("an exit code of nothing")
        if word == "unstarted" and s.started:
            raise Broken("a start error of a job that ran")
        return s._replace(sched=f"done {word}")

    # ------------------------------------------------------------ nurseries

    def _nursery(self, s: State, number: int) -> Iterator[State]:
        if s.nurseries[number] not in (ALIVE, CLOSED):
            return
        if s.orders[number]:
            left = (s.orders[0] - (number == 0), s.orders[1] - (number == 1))
            yield from self._fork_minder(s._replace(orders=left), number)
        mourned = [index for index in range(MINDERS) if s.minders[index] == "killed" and s.homes[index] == number]
        if (
            s.job == "zombie"
            and s.parent == f"n{number}"
            and not (self.rules.strays_wait and (mourned or s.wards[number]))
        ):
            yield s._replace(job="gone")  # nobody's, as far as this nursery knows
        if s.wards[number]:
            yield from self._ward(s, number, s.wards[number])
            return
        for index in mourned:
            buried = s._replace(minders=put(s.minders, index, "buried"))
            ward = f"take {index}" if self.rules.nursery_takes_over else ""
            yield buried._replace(wards=put(s.wards, number, ward))

    def _fork_minder(self, s: State, number: int) -> Iterator[State]:
        free = [index for index in range(MINDERS) if s.minders[index] == ""]
        if not free:
            yield s  # no room: refused, as by a failed fork
            return
        homes = (*s.homes[: free[0]], number, *s.homes[free[0] + 1 :])
        yield s._replace(minders=put(s.minders, free[0], "order"), homes=homes)

    def _ward(self, s: State, number: int, ward: str) -> Iterator[State]:
        phase, index = ward.split()
        me, over = f"n{number}", s._replace(wards=put(s.wards, number, ""))

        def go(phase: str, **changes: Any) -> State:
            return s._replace(wards=put(s.wards, number, f"{phase} {index}"), **changes)

        if phase == "take":
            if s.note or not s.linked:
                yield over
            elif not s.lock:
                yield go("judge", lock=frozenset({me}))
            elif s.content and s.content[0] != index:
                yield over
        elif phase == "judge":
            yield from self._judge_ward(s, number, index, over)
        elif phase == "nothing":
            yield go("noted", note="unstarted")
        elif phase == "guard" and s.job == "zombie":
            yield go("noted", note="code")
        elif phase == "noted":
            yield go("reaped", job="gone" if s.job == "zombie" else s.job)
        elif phase == "reaped":
            yield over._replace(lock=frozenset())

    def _judge_ward(self, s: State, number: int, index: str, over: State) -> Iterator[State]:
        if not s.linked or (s.content and s.content[0] != index):
            yield over._replace(lock=frozenset())
        elif s.content == "":
            if "" in s.minders:
                yield from self._fork_minder(over._replace(lock=frozenset()), number)
            else:
                yield over._replace(lock=frozenset(), linked=False)
        else:
            found = "guard" if s.job in ("run", "zombie") else "nothing"  # between fork and exec it has no key
            yield s._replace(wards=put(s.wards, number, f"{found} {index}"))

    # ------------------------------------------------------------ minders

    def _minder(self, s: State, index: int) -> Iterator[State]:
        phase, me = s.minders[index], name(index)

        def go(phase: str, **changes: Any) -> State:
            return s._replace(minders=put(s.minders, index, phase), **changes)

        if phase in ("named", "forked", "guard", "noted", "reaped"):
            yield from self._watch(s, phase, me, index, go)
        elif phase == "order":
            if s.linked:
                yield go("opened")
            elif self.rules.minder_never_creates:
                yield go("done")
            else:
                yield go("opened", linked=True, content="")
        elif phase == "opened":
            if not s.lock:
                yield go("locked", lock=frozenset({me}))
            elif s.content:
                yield go("done")
        elif phase == "locked":
            if (s.linked and s.content == "") or not self.rules.minder_checks_under_lock:
                yield go("named", content=str(index)) if self.rules.identity_before_job else go("named")
            else:
                yield go("done", lock=frozenset())

    def _watch(self, s: State, phase: str, me: str, index: int, go: Callable[..., State]) -> Iterator[State]:
        if phase == "named":
            child = {me, "child"} if self.rules.child_keeps_lock else {me}
            yield go("forked", job="fork", parent=me, lock=frozenset(child))
        elif phase == "forked" and s.job != "fork":
            yield go("guard", content=f"{index}j")
        elif phase == "guard" and s.job == "zombie":
            yield go("noted", note="code") if self.rules.note_before_reap else go("noted", job="gone")
        elif phase == "noted":
            yield go("reaped", job="gone") if self.rules.note_before_reap else go("reaped", note="code")
        elif phase == "reaped":
            yield go("done", lock=s.lock - {me})

    # ------------------------------------------------------------ the job

    def _job(self, s: State) -> Iterator[State]:
        if s.job == "fork":
            if s.started:
                raise Broken("started twice")
            if s.sched in ("done never", "done unknown", "done unstarted") or s.note == "unstarted":
                raise Broken("started after it was called lost")
            yield s._replace(job="run", started=s.started + 1, lock=s.lock - {"child"})
        elif s.job == "run":
            yield s._replace(job="zombie")
        elif s.job == "zombie" and s.parent == "init":
            yield s._replace(job="gone")

    # ------------------------------------------------------------ kills

    def _kills(self, s: State) -> Iterator[State]:
        once = s._replace(kills=s.kills + 1)
        if s.sched != "down":
            closed = tuple(CLOSED if one == ALIVE else one for one in s.nurseries)
            yield once._replace(sched="down", lock=s.lock - {"find"}, nurseries=closed)
        for number in (0, 1):
            if s.nurseries[number] in (ALIVE, CLOSED):
                nurseries = put(s.nurseries, number, DEAD)
                minders = tuple(
                    "buried" if phase == "killed" and home == number else phase
                    for phase, home in zip(s.minders, s.homes, strict=True)
                )
                yield once._replace(
                    nurseries=nurseries,
                    minders=minders,
                    wards=put(s.wards, number, ""),
                    orders=(s.orders[0] * (number != 0), s.orders[1] * (number != 1)),
                    lock=s.lock - {f"n{number}"},
                    parent="init" if s.parent == f"n{number}" else s.parent,
                    nursery_killed=True,
                )
        for index in range(MINDERS):
            if s.minders[index] not in ("", "killed", "buried", "done"):
                yield self._kill_minder(once, index)

    def _kill_minder(self, s: State, index: int) -> State:
        home = s.homes[index]
        heir = f"n{home}" if s.nurseries[home] in (ALIVE, CLOSED) else "init"
        return s._replace(
            minders=put(s.minders, index, "killed" if heir != "init" else "buried"),
            lock=s.lock - {name(index)},
            parent=heir if s.parent == name(index) else s.parent,
            minder_killed=True,
        )


def search(rules: Rules) -> dict[State, list[State]]:
    """Return every reachable state with its successors. Broken where an invariant does not hold."""
    model = Model(rules)
    start = State()
    graph: dict[State, list[State]] = {}
    open_ends = [start]
    while open_ends:
        state = open_ends.pop()
        if state in graph:
            continue
        graph[state] = list(model.steps(state))
        open_ends += [following for following in graph[state] if following not in graph]
    return graph


def check_endings(graph: dict[State, list[State]]) -> None:
    """From every state the attempt's end is still to be had, and at the end nothing stays behind."""
    backwards: dict[State, list[State]] = {}
    for state, following in graph.items():
        for one in following:
            backwards.setdefault(one, []).append(state)
        if not [one for one in following if one != state]:
            _check_last(state)
    reached = {state for state in graph if state.sched.startswith("done")}
    open_ends = list(reached)
    while open_ends:
        for state in backwards.get(open_ends.pop(), ()):
            if state not in reached:
                reached.add(state)
                open_ends.append(state)
    stuck = len(graph) - len(reached)
    if stuck:
        raise Broken(f"{stuck} states wait for ever")


def _check_last(s: State) -> None:
    if not s.sched.startswith("done"):
        raise Broken("everything has stopped, and nobody knows the end")
    if s.linked or s.note or s.lock or s.job not in ("", "gone") or any(s.wards):
        raise Broken(f"something stays behind: {s}")
    if any(phase not in ("", "done", "buried") for phase in s.minders):
        raise Broken(f"a minder stays behind: {s}")
