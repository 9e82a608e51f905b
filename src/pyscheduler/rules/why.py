"""Why does it not run, and when will it? One culprit, one sentence, one way out. DESIGN P7, issue "why".

The answer comes from the same verdicts the engine decides by: nothing here re-derives a rule. `why_run` speaks of a
run that exists, `why_no_run` of a date that has none. Instants are given as aware UTC and written by `say_time`, which
the caller binds to the scheduler's zone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum

from pyscheduler.lengths import length
from pyscheduler.model.firing import Firing
from pyscheduler.model.job import Job, OnUncertain
from pyscheduler.model.run import Attempt, Cause, Run, RunState
from pyscheduler.rules.dependencies import Say, Upstream, combined, verdict


class Culprit(StrEnum):
    """What is to blame."""

    TIME = "time"
    DEPENDENCY = "dependency"
    OVERLAP = "overlap"
    POOL = "pool"
    SLOTS = "slots"
    HELD = "held"
    CALENDAR = "calendar"
    SCHEDULE = "schedule"
    PAUSED = "paused"
    DISABLED = "disabled"
    INACTIVE = "inactive"
    RETRY = "retry"
    MISSED = "missed"
    UNKNOWN_PAST = "unknown_past"
    MANUAL = "manual"
    STARTING = "starting"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Paused:
    """A pause that is in force: who paused what since when, in words, and the command that ends it."""

    text: str
    resume: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One culprit, what it is, and what would release the run. `because` answers for the upstream to blame."""

    culprit: Culprit
    text: str
    release: str
    job: str
    run_date: date
    run: Run | None = None
    because: Answer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What surrounds an open run. `shortage` lists pools too full for it: (pool, needed, free, size, holders)."""

    upstreams: Sequence[Upstream] = ()
    active: Sequence[Run] = ()
    paused: Paused | None = None
    max_running: int = 0
    running: int = 0
    shortage: Sequence[tuple[str, int, int, int, Sequence[str]]] = ()
    attempt: Attempt | None = None
    wake_at: datetime | None = None
    ahead: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DateFacts:
    """What is known of a date without a run.

    `firings` are those of the date. `off` says why a day the bare schedule names has none. `dropped` is the logbook's
    word on firings that got no run. `first_known` is the instant before which the store knows nothing of the job.
    """

    firings: Sequence[Firing] = ()
    off: str | None = None
    previous: Firing | None = None
    following: Firing | None = None
    paused: Paused | None = None
    dropped: str | None = None
    first_known: datetime | None = None
    catch_up_held: bool = False
    upstreams: Sequence[Upstream] = ()


SayTime = Callable[[datetime], str]


def why_run(run: Run, job: Job | None, facts: RunFacts, say: SayTime) -> Answer:
    """Return why a run stands where it stands."""
    culprit, text, release = _why_ended(run, job, facts, say) if run.is_final else _why_open(run, job, facts, say)
    return Answer(culprit, text, release, run.job, run.run_date, run)


def why_paused(answer: Answer, paused: Paused) -> Answer:
    """Return the answer about a job that is paused: nothing new of it will come, whatever its run does."""
    dropped = f"{paused.text}, so its firings are dropped"
    if answer.run is not None and not answer.run.is_final:
        return replace(answer, text=f"{answer.text}; {dropped}")
    then = f"; {answer.text}" if answer.run is not None else ""
    return replace(answer, culprit=Culprit.PAUSED, text=dropped + then, release=paused.resume)


Words = tuple[Culprit, str, str]


def _why_open(run: Run, job: Job | None, facts: RunFacts, say: SayTime) -> Words:
    match run.state:
        case RunState.HELD:
            return Culprit.HELD, f"{run.reason} at {say(run.updated_at)}", f"pysched release {run.run_id}"
        case RunState.RUNNING:
            return _why_running(run, job, facts, say)
        case RunState.RETRY_WAIT:
            when = say(facts.wake_at or run.not_before or run.updated_at)
            return Culprit.RETRY, f"{run.reason}: the next try is at {when}", "force-start it to try at once"
        case RunState.QUEUED:
            return _why_queued(run, facts, say)
        case _:
            return _why_undecided(run, job, facts, say)


def _why_running(run: Run, job: Job | None, facts: RunFacts, say: SayTime) -> Words:
    attempt = facts.attempt
    since = f"attempt {run.attempt} runs since {say(attempt.started_at)}" if attempt else "it is running"
    if attempt is not None and attempt.kill_by:
        return Culprit.RUNNING, f"{since}; {attempt.kill_by} asked to kill it", "it ends when its processes do"
    extra = f": {run.reason}" if run.reason else ""
    if job is not None and job.reclaim_after_s is not None:
        extra += f"; a node that falls silent keeps it for {length(job.reclaim_after_s)}"
    if job is not None and job.on_uncertain is OnUncertain.STOP:
        extra += "; it is ended where its node cannot renew its lease"
    return Culprit.RUNNING, since + extra, f"its own end, or pysched kill {run.run_id}"


def _why_queued(run: Run, facts: RunFacts, say: SayTime) -> Words:
    if facts.paused is not None and not run.forced:
        return Culprit.PAUSED, f"it is ready, but {facts.paused.text}", f"{facts.paused.resume}, or force-start it"
    if facts.wake_at is not None:
        return Culprit.TIME, f"it is ready; its jitter delays it until {say(facts.wake_at)}", "time, or force-start it"
    if run.offered_at is not None:
        text = f"it has its slot since {say(run.offered_at)} and waits for a node of the cluster to start it"
        return Culprit.STARTING, text, "a node with room: pysched nodes shows them"
    if facts.running >= facts.max_running:
        text = f"all {facts.max_running} slots are taken ({facts.running} running)"
        return Culprit.SLOTS, text, "the end of a running attempt, or a greater max_running"
    for pool, needed, free, size, holders in facts.shortage:
        held = ", ".join(holders) or "nobody"
        text = f"pool {pool} has {max(free, 0)} of {size} slots free and it needs {needed}; held by {held}"
        return Culprit.POOL, text, f"the end of one of them, or a greater pool {pool}"
    if facts.ahead:
        text = f"{facts.ahead} runs stand before it, one of them waiting long enough to keep its pools free"
        return Culprit.POOL, text, "their start"
    return Culprit.STARTING, "it is about to start", "nothing: it starts within moments"


def line_of(run: Run, facts: RunFacts, say: SayTime) -> str:
    """Return the reason that a list shows: the run's own and, where it stands in line, what it stands there for."""
    if run.state is not RunState.QUEUED:
        return run.reason
    culprit, text, _ = _why_queued(run, facts, say)
    if culprit is Culprit.STARTING:
        return run.reason
    return f"{run.reason}; {text}" if run.reason else text


def _why_undecided(run: Run, job: Job | None, facts: RunFacts, say: SayTime) -> Words:
    if run.cause is Cause.OVERLAP:
        others = ", ".join(f"{other.run_id} ({other.state})" for other in facts.active) or "an earlier run"
        return Culprit.OVERLAP, f"another run of the job still goes: {others}", "its end, or force-start this one"
    if job is not None and job.inactive:
        return Culprit.INACTIVE, run.reason, "a release in which that part is active, or force-start its dependants"
    culprit = blamed(facts.upstreams)
    if culprit is None:
        return Culprit.STARTING, run.reason or "it is about to be decided", "nothing: it is decided within moments"
    patience = f" (it gives up at {say(run.wait_until)})" if run.wait_until else ""
    return Culprit.DEPENDENCY, _blame(culprit) + patience, _way_out(culprit)


def blamed(upstreams: Sequence[Upstream]) -> Upstream | None:
    """Return the upstream whose word decides: the first of those that say the worst; None where all are ready."""
    worst = combined(upstreams)
    return None if worst.say is Say.READY else next(up for up in upstreams if verdict(up) == worst)


def _blame(upstream: Upstream) -> str:
    name, run = upstream.dependency.job, upstream.run
    wanted = f" to {_wanted(upstream)}"
    if upstream.inactive:
        return f"it needs {name}, which {upstream.inactive}"
    if run is None:
        return f"it waits for {name} of {upstream.run_date}{wanted}, which has no run yet"
    return f"it waits for {name} of {upstream.run_date}{wanted}, and {run.run_id} is {_state_and_reason(run)}"


def _wanted(upstream: Upstream) -> str:
    return {"success": "succeed", "failure": "fail", "done": "end"}[upstream.dependency.on.value]


def _way_out(upstream: Upstream) -> str:
    run = upstream.run
    if run is None:
        return f"pysched trigger {upstream.dependency.job} --run-date {upstream.run_date}, or force-start this run"
    if not run.is_final:
        return f"the end of {run.run_id}, or force-start this run"
    return f"pysched rerun or mark-success {run.run_id}, or force-start this run"


def _why_ended(run: Run, job: Job | None, facts: RunFacts, say: SayTime) -> Words:
    text = f"it ended at {say(_ended_at(run, facts.attempt))}, {_state_and_reason(run)}"
    again = f"pysched rerun {run.run_id}"
    if run.state is RunState.SUCCEEDED:
        return Culprit.ENDED, text, f"nothing; {again} runs it again"
    if job is None:
        return Culprit.ENDED, text, f"put the job back into the configuration, reload, then {again}"
    if not job.enabled:
        return Culprit.ENDED, text, f"enabled: true, a reload, then {again}"
    return Culprit.ENDED, text, again


def _ended_at(run: Run, attempt: Attempt | None) -> datetime:
    """Return when a run ended: with its attempt, whenever that was written down, or by what called it off."""
    by_itself = attempt.ended_at if run.cause is Cause.NONE and attempt is not None else None
    return by_itself or run.updated_at


def _state_and_reason(run: Run) -> str:
    """Return state and reason, a state that the reason begins with not said twice."""
    if run.reason.startswith(f"{run.state}: ") or run.reason.startswith(f"{run.state} by "):
        return run.reason
    return f"{run.state}: {run.reason}" if run.reason else str(run.state)


def why_no_run(job: Job, run_date: date, facts: DateFacts, now: datetime, say: SayTime) -> Answer:
    """Return why a job has no run for a date: past, present or future."""
    culprit, text, release = _why_none(job, run_date, facts, now, say)
    return Answer(culprit, text, release, job.name, run_date)


def _why_none(job: Job, run_date: date, facts: DateFacts, now: datetime, say: SayTime) -> Words:
    trigger = f"pysched trigger {job.name} --run-date {run_date}"
    if not job.enabled:
        return Culprit.DISABLED, f"the job is disabled ({job.source})", "enabled: true, and a reload"
    if job.dependency_only:
        return _why_none_follows(facts, trigger)
    if not job.schedules:
        return Culprit.MANUAL, "the job has no schedule: it runs when somebody triggers it", trigger
    if not facts.firings:
        return _why_never_that_day(facts, say, trigger)
    first = facts.firings[0].scheduled_at
    if first > now:
        return _why_not_yet(first, facts, say)
    return _why_missed(first, facts, say, trigger)


def _why_none_follows(facts: DateFacts, trigger: str) -> Words:
    named = [up for up in facts.upstreams if up.run_date is not None]
    if not named:
        return Culprit.CALENDAR, "no upstream run date leads to this date on the job's calendar", trigger
    waits = " or ".join(f"{up.dependency.job} of {up.run_date}" for up in named)
    return Culprit.DEPENDENCY, f"its run is created with the first run of {waits}, and there is none yet", trigger


def _why_never_that_day(facts: DateFacts, say: SayTime, trigger: str) -> Words:
    near = []
    if facts.previous is not None:
        near.append(f"the firing before is {say(facts.previous.scheduled_at)} for {facts.previous.run_date}")
    if facts.following is not None:
        near.append(f"the next firing is {say(facts.following.scheduled_at)} for {facts.following.run_date}")
    tail = f" ({'; '.join(near)})" if near else ""
    if facts.off is not None:
        return Culprit.CALENDAR, facts.off + tail, trigger
    return Culprit.SCHEDULE, "no firing of its schedule has this run date" + tail, trigger


def _why_not_yet(first: datetime, facts: DateFacts, say: SayTime) -> Words:
    if facts.paused is not None:
        text = f"it fires at {say(first)}, and {facts.paused.text}: unless that ends before, it gets no run"
        return Culprit.PAUSED, text, facts.paused.resume
    spoken = combined(facts.upstreams)
    then = f"; then it is {spoken.reason}, as things stand" if spoken.say is not Say.READY else ""
    return Culprit.TIME, f"its time has not come: it fires at {say(first)}{then}", "time, or pysched trigger"


def _why_missed(first: datetime, facts: DateFacts, say: SayTime, trigger: str) -> Words:
    if facts.dropped is not None:
        return Culprit.MISSED, facts.dropped, trigger
    if facts.catch_up_held:
        text = f"it was due at {say(first)}; catch-up is held since an older store was restored"
        return Culprit.MISSED, text, "pysched catch-up --dry-run, then --accept or --skip"
    if facts.first_known is None or first < facts.first_known:
        since = f" (its memory of the job begins at {say(facts.first_known)})" if facts.first_known else ""
        text = f"it was due at {say(first)}, before this scheduler knew the job, or the run was pruned{since}"
        return Culprit.UNKNOWN_PAST, text, trigger
    if facts.paused is not None:
        return Culprit.PAUSED, f"it was due at {say(first)}, and {facts.paused.text}", trigger
    return Culprit.MISSED, f"it was due at {say(first)} and its firing got no run", trigger


def shortages(
    needs: Sequence[tuple[str, int]],
    free: Callable[[str], int],
    sizes: Mapping[str, int],
    holders: Callable[[str], list[str]],
) -> list[tuple[str, int, int, int, Sequence[str]]]:
    """Return the pools that are too full for these needs."""
    return [(pool, n, free(pool), sizes.get(pool, 0), holders(pool)) for pool, n in needs if free(pool) < n]
