"""The protocol of claims.md C5, as DESIGN 6 amends it, as a model small enough to search: one run, every interleaving.

A state is what the store's rows, the processes and the executions look like between two transactions; `steps` yields
every next one. Time is not in it: a lease may run out, a window may pass at any moment, which covers every clock and
every pause. What a store does not acknowledge is a step that has happened while its doer does not know.

What is modelled: two processes, each with two lanes, restarted as new incarnations; claims, starts, executions that
outlive their scheduler under minders of their own and leave a note at their end, or vanish with their minder; S2 to S6,
S8, S7a (a lease that is over), S7b (by proof, by the window, by the run's own), S17. A second, small model is about
the authority.

Steps are of two kinds. *Good* ones are what a process does that lives and reaches its store; the others (kills,
windows, lost acknowledgements, second thoughts) may happen and need not. From every state the run must come to its end
by good steps alone (G6).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

READY, CLAIMED, RUNNING, DONE = "ready", "claimed", "running", "done"
# what a lane knows of its claim: it has it, asked for it and got no answer, may execute, asked to start and got no
# answer, executes, has finished and not told
HAS, ASKED, CLEARED, UNSURE, EXECUTES, FINISHED = "has", "asked", "cleared", "unsure", "executes", "finished"
LIVE, NOTED = "live", "noted"
PROCESSES, LANES = 2, 2


@dataclass(frozen=True)
class Rules:
    """What can be broken on purpose (all True is the protocol), and what may happen."""

    start_asks_for_the_token: bool = True
    start_is_guarded: bool = True
    outcome_asks_for_the_token: bool = True
    claim_asks_for_the_fence: bool = True
    reconcile: bool = True
    proof_covers_the_attempt: bool = True
    start_is_committed_first: bool = True
    adopt_needs_proof: bool = True
    adopt_moves_the_attempt: bool = True
    only_claims_are_handed_out: bool = True
    lost_starts_change_the_token: bool = True

    windows: bool = True
    own_windows: bool = False
    kills: bool = True
    lost_answers: bool = True
    handing_out: bool = True
    incarnations: int = 3
    tokens: int = 5


class Lane(NamedTuple):
    """One of a process's hands. `token` is 0 while it does not know it."""

    phase: str
    token: int = 0


class Attempt(NamedTuple):
    """One row of attempts: its owner, whether its end was told, whether it was revoked."""

    token: int
    inc: int
    told: bool = False
    revoked: bool = False


class State(NamedTuple):
    """`processes` holds (incarnation, lanes), incarnation 0 for one that is dead. `orphans` run or have left a note."""

    run: str = READY
    token: int = 0
    owner: int = 0
    processes: tuple[tuple[int, tuple[Lane, ...]], ...] = ((1, ()), (2, ()))
    used: int = PROCESSES
    fenced: frozenset[int] = frozenset()
    attempts: tuple[Attempt, ...] = ()
    orphans: tuple[tuple[int, str], ...] = ()
    executed: tuple[int, ...] = ()
    lost: int = 0


class Broken(AssertionError):
    """A promise does not hold."""


Step = tuple[bool, State]
"""Whether it is a good step, and where it leads."""


def steps(s: State, rules: Rules) -> Iterator[Step]:
    """Yield every next state."""
    spare = s.token + 2 < rules.tokens  # after that only good steps: so the search has an end, and the run too
    for at, (inc, lanes) in enumerate(s.processes):
        if not inc:
            yield True, _process(s, at, s.used + 1, ())._replace(used=s.used + 1)
            continue
        yield from _claims(s, at, inc, lanes, rules, spare)
        for lane in set(lanes):
            yield from _works(_Hand(s, at, inc, lanes, lane, rules), spare)
        yield from _heirs(s, at, inc, lanes, rules)
        yield from _ends(s, at, inc, lanes, rules, spare)
    yield from _revocations(s, rules, spare)
    for token, what in s.orphans:
        if what == LIVE:
            yield True, _orphan(s, token, NOTED)
            if rules.kills and spare:
                yield False, _orphan(s, token, None)


def _claims(s: State, at: int, inc: int, lanes: tuple[Lane, ...], rules: Rules, spare: bool) -> Iterator[Step]:
    """S2."""
    fenced = inc in s.fenced and rules.claim_asks_for_the_fence
    if s.run != READY or fenced or len(lanes) == LANES:
        return
    taken = s._replace(run=CLAIMED, token=s.token + 1, owner=inc)
    yield True, _process(taken, at, inc, (*lanes, Lane(HAS, taken.token)))
    if rules.lost_answers and spare:
        yield False, _process(taken, at, inc, (*lanes, Lane(ASKED)))


class _Hand(NamedTuple):
    """One lane of one process in one state."""

    s: State
    at: int
    inc: int
    lanes: tuple[Lane, ...]
    lane: Lane
    rules: Rules

    def becomes(self, lane: Lane | None, state: State | None = None) -> State:
        """Return the state with another lane in the place of this one."""
        rest = list(self.lanes)
        rest.remove(self.lane)
        return _process(state or self.s, self.at, self.inc, (*rest, *((lane,) if lane else ())))

    @property
    def is_mine(self) -> bool:
        return (self.s.token, self.s.owner) == (self.lane.token, self.inc)


def _works(hand: _Hand, spare: bool) -> Iterator[Step]:
    match hand.lane.phase:
        case "has":
            yield from _starts(hand, spare)
        case "asked":
            yield from _reconciles_claim(hand)
        case "unsure":
            yield from _reconciles_start(hand, spare)
        case "cleared":
            yield True, hand.becomes(Lane(EXECUTES, hand.lane.token), _executed(hand.s, hand.lane.token))
        case "executes":
            yield True, hand.becomes(Lane(FINISHED, hand.lane.token))
        case "finished":
            told = _told(hand.s, hand.lane.token, hand.rules)
            yield True, hand.becomes(None, told)
            if hand.rules.lost_answers:
                yield False, hand.becomes(hand.lane, told)


def _starts(hand: _Hand, spare: bool) -> Iterator[Step]:
    """S3, and S5."""
    s, lane, rules = hand.s, hand.lane, hand.rules
    may = s.run == CLAIMED and s.owner == hand.inc and (s.token == lane.token or not rules.start_asks_for_the_token)
    may = may and hand.inc not in s.fenced
    may = may or not rules.start_is_guarded
    if may:
        row = Attempt(lane.token, hand.inc)
        attempts = tuple(sorted({*(a for a in s.attempts if a.token != lane.token), row}))
        begun = s._replace(run=RUNNING, attempts=attempts)
        yield True, hand.becomes(Lane(CLEARED, lane.token), begun)
        if rules.lost_answers and spare:
            yield False, hand.becomes(Lane(UNSURE, lane.token), begun)
    else:
        yield True, hand.becomes(None)
    if not rules.start_is_committed_first:
        yield False, _executed(s, lane.token)
    if s.run == CLAIMED and hand.is_mine and spare:
        yield False, hand.becomes(None, _released(s))


def _reconciles_claim(hand: _Hand) -> Iterator[Step]:
    """S8: a claim that is mine and that no lane knows of is given back; else there is none."""
    s = hand.s
    if not hand.rules.reconcile:
        return
    known = any(lane.token == s.token for lane in hand.lanes)
    is_mine = s.run == CLAIMED and s.owner == hand.inc and not known
    yield True, hand.becomes(None, _released(s) if is_mine else s)


def _reconciles_start(hand: _Hand, spare: bool) -> Iterator[Step]:
    """S8 after a start without an answer: it executes, or takes the start back (S6), or drops it."""
    s, lane = hand.s, hand.lane
    if not hand.rules.reconcile:
        return
    if s.run == RUNNING and hand.is_mine:
        yield True, hand.becomes(Lane(CLEARED, lane.token))
        if spare:
            rest = tuple(a for a in s.attempts if a.token != lane.token)
            yield False, hand.becomes(None, _released(s._replace(attempts=rest)))
    else:
        yield True, hand.becomes(None)


def _heirs(s: State, at: int, inc: int, lanes: tuple[Lane, ...], rules: Rules) -> Iterator[Step]:
    """S17, and what `find` makes of a note: its outcome, in the name of the attempt's owner."""
    other = s.owner
    dead = _is_dead(s, other)
    if s.run != RUNNING or not other or other == inc or inc in s.fenced or len(lanes) == LANES:
        return
    found = dict(s.orphans).get(s.token)
    if dead and found == NOTED:
        yield True, _orphan(_told(s, s.token, rules), s.token, None)
    executing_there = any(
        lane == Lane(EXECUTES, s.token) for who, theirs in s.processes if who == other for lane in theirs
    )
    if (dead and found == LIVE) or (not rules.adopt_needs_proof and executing_there):
        attempts = tuple(
            a._replace(inc=inc) if a.token == s.token and rules.adopt_moves_the_attempt else a for a in s.attempts
        )
        taken = s._replace(owner=inc, attempts=attempts)
        yield True, _process(_orphan(taken, s.token, None), at, inc, (*lanes, Lane(EXECUTES, s.token)))


def _ends(s: State, at: int, inc: int, lanes: tuple[Lane, ...], rules: Rules, spare: bool) -> Iterator[Step]:
    """A process dies; or learns from its heartbeat that it is fenced, ends what it executes, and registers anew."""
    doomed = sum(1 for who, _ in s.processes if not who or who in s.fenced)
    if rules.kills and spare and s.used + doomed + (inc not in s.fenced) <= rules.incarnations:
        left = {
            lane.token: LIVE if lane.phase == EXECUTES else NOTED
            for lane in lanes
            if lane.phase in (EXECUTES, FINISHED)
        }
        orphans = tuple(sorted((dict(s.orphans) | left).items()))
        yield False, _process(s._replace(orphans=orphans), at, 0, ())
    if inc in s.fenced:
        told = s
        for lane in lanes:
            if lane.phase in (EXECUTES, FINISHED):
                told = _told(told, lane.token, rules)
        yield True, _process(told, at, s.used + 1, ())._replace(used=s.used + 1)


def _revocations(s: State, rules: Rules, spare: bool) -> Iterator[Step]:
    owner = s.owner
    if not owner:
        return
    lives = not _is_dead(s, owner)
    if s.run == CLAIMED:  # S7a; of a dead one by proof, and that is a good step
        if not lives:
            yield True, _released(s)
        elif rules.handing_out and spare:
            yield False, _released(s)
    elif s.run == RUNNING and not rules.only_claims_are_handed_out and spare:
        yield False, _revoked(s, rules)
    if owner in s.fenced or s.run not in (CLAIMED, RUNNING):
        return
    doomed = sum(1 for who, _ in s.processes if not who or who in s.fenced)
    room = s.used + doomed + lives <= rules.incarnations
    if rules.windows and spare and room:  # S7b by the window
        yield False, _revoked(s, rules)._replace(fenced=s.fenced | {owner})
    if rules.own_windows and spare and s.run == RUNNING:  # S7b by the run's own window: nobody is fenced
        yield False, _revoked(s, rules)
    gone = s.token not in dict(s.orphans) or not rules.proof_covers_the_attempt
    if not lives and gone:  # S7b by proof
        yield True, _revoked(s, rules)._replace(fenced=s.fenced | {owner})


# --------------------------------------------------------------------------- what the statements do to the rows


def _process(s: State, at: int, inc: int, lanes: tuple[Lane, ...]) -> State:
    processes = list(s.processes)
    processes[at] = (inc, tuple(sorted(lanes)))
    return s._replace(processes=tuple(sorted(processes)))


def _orphan(s: State, token: int, what: str | None) -> State:
    rest = {key: value for key, value in s.orphans if key != token}
    return s._replace(orphans=tuple(sorted((rest | ({token: what} if what else {})).items())))


def _released(s: State) -> State:
    return s._replace(run=READY, token=s.token + 1, owner=0)


def _revoked(s: State, rules: Rules) -> State:
    """Take the run from its owner: a claim is offered again, a start is lost and, here, always run again."""
    if s.run == CLAIMED:
        return _released(s)
    attempts = tuple(a._replace(revoked=True) if a.token == s.token else a for a in s.attempts)
    token = s.token + 1 if rules.lost_starts_change_the_token else s.token - 1
    return s._replace(run=READY, token=token, owner=0, attempts=attempts, lost=s.lost + 1)


def _told(s: State, token: int, rules: Rules) -> State:
    """S4: the attempt's row says who ME is."""
    row = next((a for a in s.attempts if a.token == token), None)
    if row is None or row.told:
        return s
    attempts = tuple(a._replace(told=True) if a.token == token else a for a in s.attempts)
    told = s._replace(attempts=attempts)
    is_its = (s.token, s.owner) == (token, row.inc) and not row.revoked
    if s.run == RUNNING and (is_its or not rules.outcome_asks_for_the_token):
        if s.token != token:
            raise Broken("an outcome closed another attempt than its own")
        return told._replace(run=DONE, token=token + 1, owner=0)
    return told


def _executed(s: State, token: int) -> State:
    return s._replace(executed=(*s.executed, token))


def _is_dead(s: State, inc: int) -> bool:
    return bool(inc) and all(who != inc for who, _ in s.processes)


# --------------------------------------------------------------------------- what is promised


def check(s: State, rules: Rules) -> None:
    """Raise Broken where a promise does not hold in this state."""
    if (s.token % 2 == 1) != bool(s.owner) or bool(s.owner) != (s.run in (CLAIMED, RUNNING)):
        raise Broken(f"I2, I3: token {s.token}, owner {s.owner}, {s.run}")
    if s.owner in s.fenced:
        raise Broken("I4: a fenced incarnation owns the run")
    if len(set(s.executed)) != len(s.executed):
        raise Broken("I7: one grant was executed twice")
    if len(s.executed) > 1 + s.lost:
        raise Broken("I8: more executions than lost starts explain")
    watched = [lane.token for _, lanes in s.processes for lane in lanes if lane.phase == EXECUTES]
    watched += [token for token, what in s.orphans if what == LIVE]
    if len(set(watched)) != len(watched):
        raise Broken("G2: two speak for one execution")
    if len(watched) > 1 and not (rules.windows or rules.own_windows):
        raise Broken("two executions at once, and nobody's window had passed")


def check_step(before: State, after: State) -> None:
    """Raise Broken where a promise about a change does not hold."""
    if after.token < before.token:
        raise Broken("I2: the token has become smaller")
    if before.run == DONE and after.run != DONE:
        raise Broken("I9: an end has changed")


def search(rules: Rules) -> dict[State, list[Step]]:
    """Return every state that can be reached with its steps. Raises Broken."""
    first = State()
    graph: dict[State, list[Step]] = {}
    todo = deque([first])
    seen = {first}
    while todo:
        state = todo.popleft()
        check(state, rules)
        graph[state] = found = list(steps(state, rules))
        for _, after in found:
            check_step(state, after)
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return graph


def check_endings(graph: dict[State, list[Step]]) -> None:
    """From every state the run comes to its end by good steps alone. Raises Broken."""
    back: dict[State, list[State]] = {}
    for state, found in graph.items():
        for good, after in found:
            if good:
                back.setdefault(after, []).append(state)
    reached = {state for state in graph if state.run == DONE}
    todo = list(reached)
    while todo:
        for before in back.get(todo.pop(), ()):
            if before not in reached:
                reached.add(before)
                todo.append(before)
    if len(reached) < len(graph):
        stuck = min(
            (state for state in graph if state not in reached), key=lambda state: (len(state.executed), state.token)
        )
        raise Broken(f"G6: no way to an end from {stuck}")


# --------------------------------------------------------------------------- the authority


class Leaders(NamedTuple):
    """Two candidates. `believes` is the epoch under which each thinks it leads, `open` that of its open transaction."""

    epoch: int = 0
    holder: int = -1
    believes: tuple[int, int] = (0, 0)
    open: tuple[int, int] = (0, 0)


def leader_steps(s: Leaders, *, locked: bool, epochs: int = 4) -> Iterator[Leaders]:
    """Yield every next state: S9 at any time, S11 split into its first statement and its commit."""
    for me in (0, 1):
        holds = any(s.open) and locked  # a takeover waits for whoever has the row shared
        if s.epoch < epochs and not holds:
            taken = s._replace(epoch=s.epoch + 1, holder=me)
            yield taken._replace(believes=_put(s.believes, me, s.epoch + 1))
        if s.believes[me] and not s.open[me] and (s.epoch, s.holder) == (s.believes[me], me):
            yield s._replace(open=_put(s.open, me, s.epoch))
        if s.open[me]:
            if (s.open[me], me) != (s.epoch, s.holder):
                raise Broken("I11: a write was committed under an epoch that was over")
            yield s._replace(open=_put(s.open, me, 0))


def search_leaders(*, locked: bool) -> set[Leaders]:
    """Return every state that can be reached. Raises Broken."""
    seen, todo = {Leaders()}, [Leaders()]
    while todo:
        for after in leader_steps(todo.pop(), locked=locked):
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return seen


def _put(pair: tuple[int, int], at: int, value: int) -> tuple[int, int]:
    return (value, pair[1]) if at == 0 else (pair[0], value)


MUTANTS: Final = tuple(name for name, value in vars(Rules()).items() if value is True and name not in (
    "windows", "kills", "lost_answers", "handing_out"))  # fmt: skip
