"""What every handler works with: the host, the threads, and the few look-ups that many of them need."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Final, ParamSpec, TypeVar

from pyscheduler.api.callers import Caller, Role
from pyscheduler.api.host import Host
from pyscheduler.api.hub import Hub
from pyscheduler.api.ledger import Ledger
from pyscheduler.api.metrics import Metrics
from pyscheduler.api.revocations import Revocations
from pyscheduler.api.sight import GLANCE, Led, Sight
from pyscheduler.api.streams import Streams
from pyscheduler.api.threads import Threads
from pyscheduler.api.views import View, pause_view
from pyscheduler.engine.absent import no_such_job
from pyscheduler.engine.core import Engine
from pyscheduler.engine.explain import say_in
from pyscheduler.engine.pauses import EVERYTHING
from pyscheduler.errors import BadRequest, Forbidden
from pyscheduler.model.ids import parse_run_id
from pyscheduler.model.job import Job
from pyscheduler.model.run import Attempt, Run, RunState
from pyscheduler.rules.reasons import lacks_reason
from pyscheduler.store import Store
from pyscheduler.timetable.zone import zone

WALKS_WAIT: Final = 3
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FrontDesk:
    """Where requests are answered."""

    host: Host
    threads: Threads = field(default_factory=Threads)
    walks: Threads = field(default_factory=lambda: Threads(1, WALKS_WAIT, "walk"))
    """For what takes a minute: one at a time, and never one of the threads that others wait for."""
    streams: Streams = field(default_factory=Streams)
    revocations: Revocations = field(default_factory=Revocations)
    """Tells streams that their caller may no longer have them."""
    address: str | None = None
    """Where TCP is listened at, as host:port; None where it is not."""
    metrics: Metrics = field(default_factory=Metrics)
    ledger: Ledger = field(init=False)
    hub: Hub = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ledger", Ledger(self.host))
        object.__setattr__(self, "hub", Hub(self.streams))
        self.revocations.subscribe(self.streams.end_where)

    def welcome(self, engine: Engine) -> None:
        """Hear of this engine from now on; harmless when that is so already. On the loop."""
        self.hub.follow(engine)
        self.metrics.follow(engine)

    def farewell(self) -> None:
        """End what does not end by itself: the service stops."""
        self.streams.shut()
        self.metrics.close()
        self.walks.close()

    @property
    def engine(self) -> Engine:
        """The engine that runs. Raises Unavailable."""
        return self.host.engine()

    @property
    def sight(self) -> Sight:
        """What this request is answered by where it only looks. Raises Unavailable."""
        return GLANCE.get() or Led(self.engine)

    async def ask(self, question: Callable[[Store], T]) -> T:
        """Return the store's answer, read on one of the API's threads. Raises StoreError, Unavailable."""
        return await self.threads(question, self.sight.store)

    async def look(self, question: Callable[[Store], T]) -> T:
        """As `ask`, of whatever store can be read, also while another scheduler leads."""
        return await self.threads(question, self.host.reader)

    def job(self, name: str) -> Job:
        """Return a job of the configuration in force. Raises NotFound."""
        jobs = self.sight.config.jobs
        if name not in jobs:
            raise no_such_job(name, jobs)
        return jobs[name]

    def admit(self, caller: Caller, name: str, reason: str) -> None:
        """Let an action on a job, or on a run of it, through: by the job's `allow`, and with a reason where it asks.

        A job that is not configured any more asks for nothing. Raises Forbidden, BadRequest.
        """
        self.may(caller, name)
        job = self.engine.config.jobs.get(name)
        if job is not None and lacks_reason(job, reason):
            what = f"job {name} asks for a reason with every action"
            raise BadRequest(what, where=str(job.source), mend="send `reason`, or --reason on the command line")

    def may(self, caller: Caller, *names: str) -> None:
        """Let a caller act on jobs by these names: by the teams of each job's `allow`. Raises Forbidden for the first.

        An admin may always; a job that the configuration has not (any more) has no list.
        """
        for name in names:
            if (refusal := self.refusal(caller, name)) is not None:
                raise refusal

    def refusal(self, caller: Caller, name: str) -> Forbidden | None:
        """Return why a caller may not act on a job, None where they may."""
        job = self.engine.config.jobs.get(name)
        if caller.role is Role.ADMIN or job is None or not job.allow or not caller.teams.isdisjoint(job.allow):
            return None
        teams = ", ".join(sorted(caller.teams)) or "no team"
        what = f"{caller.name} may not act on {job.name}: it allows {', '.join(job.allow)}"
        mend = f"{caller.name} is of {teams}; an admin may act, or add a team to the job's `allow`"
        return Forbidden(what, where=f"job {job.name}", mend=mend)

    def may_run(self, caller: Caller, run_id: str, *, downstream: bool = False) -> None:
        """Let a caller act on a run; with `downstream` on all that depends on its job too. Raises Forbidden."""
        try:
            job = parse_run_id(run_id).job
        except ValueError:
            return  # nobody's run: the engine says so
        self.may(caller, job, *(self._dependants(job) if downstream else ()))

    def may_all(self, caller: Caller) -> None:
        """Let a caller act on everything at once. Raises Forbidden."""
        self.may(caller, *self.engine.config.jobs)

    def _dependants(self, name: str) -> list[str]:
        """Return the jobs that depend on a job, directly or not."""
        found: dict[str, None] = {}
        pending = [name]
        downstream = self._downstream()
        while pending:
            for each in downstream.get(pending.pop(), ()):
                if each not in found:
                    found[each] = None
                    pending.append(each)
        return list(found)

    def _downstream(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for job in self.engine.config.jobs.values():
            for dependency in job.depends_on:
                found.setdefault(dependency.job, []).append(job.name)
        return found

    def paused(self, name: str) -> View | None:
        """Return what keeps a job paused, if anything does."""
        pauses = self.sight.pauses
        for what in (name, EVERYTHING):
            if (pause := pauses.get(what)) is not None:
                return pause_view(what, pause)
        return None

    def today(self) -> date:
        """Return today in the scheduler's zone."""
        sight = self.sight
        return zone(sight.config.settings.timezone).today(sight.clock.now())

    def local(self, instant: datetime) -> str:
        """Return an instant in the scheduler's zone, with its offset, as people read it."""
        return say_in(self.sight.config.settings.timezone)(instant)

    def with_reason(self, run: Run) -> Run:
        """Return a run with the reason that people are shown: what a queued one stands in line for too."""
        if run.state is not RunState.QUEUED:
            return run
        return replace(run, reason=self.sight.reason_of(run, self.local))

    async def with_latest(self, runs: Iterable[Run]) -> list[tuple[Run, Attempt | None]]:
        """Return runs with the latest attempt of each."""
        runs = list(runs)
        latest = await self.ask(lambda store: store.latest_attempts([run.run_id for run in runs if run.attempt]))
        return [(run, latest.get(run.run_id)) for run in map(self.with_reason, runs)]
