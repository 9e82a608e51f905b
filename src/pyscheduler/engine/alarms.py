"""What people are to be told of, decided in the same breath as the change: the alerts that the desk puts on its tray.

An alert travels to the store in the batch of the change that raised it, with one pending delivery for each notifier
that is to tell of it; so a crash between the two cannot lose it. Who sends hears of it once it is on disk. Nothing in
here waits for anything. The rules are `rules/alerting.py`, `rules/outages.py`, `rules/routing.py`. Spec: jobs.md 15.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from pyscheduler.config import Config
from pyscheduler.config.templates import expand
from pyscheduler.engine.tray import Tray
from pyscheduler.model.alert import Alert, AlertKind, Raised
from pyscheduler.model.job import Job
from pyscheduler.model.run import Attempt, Run, RunState
from pyscheduler.rules import alerting, outages
from pyscheduler.rules.outages import KEY, Outage
from pyscheduler.rules.routing import Route, destinations


class Alarms:
    """Raises alerts onto a tray. `config` gives the configuration in force at each moment."""

    def __init__(self, config: Callable[[], Config], tray: Tray, now: Callable[[], datetime]) -> None:
        self._config, self._tray, self._now = config, tray, now
        self._outages: dict[str, Outage] = {}
        self._routes: tuple[Route, ...] = ()
        self._routed: Config | None = None

    def remember(self, values: Mapping[str, str]) -> None:
        """Take over what earlier engines have told, from the engine values."""
        found = {key.removeprefix(KEY): text for key, text in values.items() if key.startswith(KEY)}
        for job, text in found.items():
            self._outages[job] = Outage.from_text(text)
            if job not in self._config().jobs:
                self._keep(job, None)

    # ----------------------------------------------------------------- raising

    def on_change(self, before: Run, after: Run, attempt: Attempt | None) -> None:
        """Raise what a change of a run asks for."""
        left = before.state is RunState.RUNNING and after.state is not RunState.RUNNING
        if before.state is after.state and not left:
            return
        job = self._config().jobs.get(after.job)
        for alert in alerting.alerts_of(before, after, attempt if left else None, job, self._now()):
            self.raise_(alert, job)
        if after.state is RunState.SUCCEEDED:
            if job is not None and job.max_silence_s is not None:
                self._tray.engine[alerting.QUIET_KEY + job.name] = after.updated_at.isoformat()
            self._succeeded(after, job)

    def raise_(self, alert: Alert, job: Job | None = None) -> None:
        """Put an alert on the tray, with everybody who is to tell of it: nobody, where it only repeats another."""
        tell = True
        if job is not None and _remembers(job):
            outage = self._outages.get(job.name, Outage())
            after, tell = outages.after_alert(outage, alert, job.alerts.repeat_after_s)
            self._keep(job.name, after)
        if not tell:
            alert = replace(alert, detail={**alert.detail, "held_back": True})
        own = job.alerts.notify if job is not None else ()
        notify = destinations(self.routes(), alert.topic, own) if tell else ()
        self._tray.alerts.append(Raised(alert, notify))

    def routes(self) -> tuple[Route, ...]:
        """Return the routes of the configuration in force."""
        config = self._config()
        if self._routed is not config:
            self._routes, self._routed = routes_of(config), config
        return self._routes

    def outage_of(self, job: str | None) -> Outage | None:
        """Return what is remembered of a job's trouble."""
        return self._outages.get(job) if job is not None else None

    def _succeeded(self, run: Run, job: Job | None) -> None:
        outage = self._outages.get(run.job)
        if outage is None:
            return
        repeat_after_s = job.alerts.repeat_after_s if job else None
        left, tell = outages.after_success(outage, self._now(), repeat_after_s)
        self._keep(run.job, left)
        if tell and job is not None and outage.since is not None and alerting.wants(job, AlertKind.RECOVERED):
            news = alerting.recovered(run, job, outage.since, outage.failures, self._now())
            notify = destinations(self.routes(), news.topic, job.alerts.notify)
            self._tray.alerts.append(Raised(news, notify))

    def _keep(self, job: str, outage: Outage | None) -> None:
        """Remember an outage, here and with the batch under way; None forgets it."""
        if outage is None:
            self._outages.pop(job, None)
        else:
            self._outages[job] = outage
        self._tray.engine[KEY + job] = None if outage is None else outage.to_text()


def _remembers(job: Job) -> bool:
    """Whether anything depends on what was told of the job before; for all others nothing more is written."""
    return job.alerts.repeat_after_s is not None or alerting.wants(job, AlertKind.RECOVERED)


def routes_of(config: Config) -> tuple[Route, ...]:
    """Return a configuration's routes with the values of the environment in their patterns."""
    return tuple(Route.of(_filled(route["match"], config), _names(route["notify"], config)) for route in config.routes)


def _filled(text: str, config: Config) -> str:
    return expand(text, lambda name: config.variables[name])


def _names(names: Iterable[str], config: Config) -> list[str]:
    return [_filled(name, config) for name in names]
