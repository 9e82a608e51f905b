"""The alert room of one service: a lane for each notifier while an engine runs, and a way to speak when none can.

Engines come and go (`attach`, and off again before each one's writer closes); the room stays. An engine that starts
finds every delivery still pending posted again. What goes wrong with the store itself cannot be written down first:
that one alert is sent straight away, from memory, by a path that needs no disk (`direct.py`). Spec: jobs.md 15.3.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Final

from prometheus_client import CollectorRegistry

from pyscheduler.alerts.counts import Counts
from pyscheduler.alerts.definition import Definition, definition_of
from pyscheduler.alerts.delivery import AGAIN_S, Lane, Send, send, waited
from pyscheduler.alerts.direct import Direct
from pyscheduler.alerts.message import Message, test_message
from pyscheduler.config import Config
from pyscheduler.engine.alarms import routes_of
from pyscheduler.engine.core import Engine
from pyscheduler.engine.ports import Clock
from pyscheduler.errors import Conflict, NotFound, Unavailable
from pyscheduler.model.alert import Alert, AlertKind, Delivery, DeliveryStatus, Raised
from pyscheduler.model.batch import Batch
from pyscheduler.rules import alerting
from pyscheduler.rules.routing import destinations

log = logging.getLogger(__name__)

UNSAVED: Final = 10_000
"""How many messages are remembered that were sent while the store could not take that down."""


class AlertRoom:
    """Tells people, for one service. `send_by` is how one try is made: a test may have another.

    What it does is counted in `registry`.
    """

    def __init__(
        self, config: Config, clock: Clock, *, send_by: Send = send, registry: CollectorRegistry | None = None
    ) -> None:
        self._config, self._clock, self._send = config, clock, send_by
        self._counts = Counts(registry or CollectorRegistry())
        self._engine: Engine | None = None
        self._lanes: dict[str, Lane] = {}
        self._sent_unsaved: set[str] = set()
        self._leave: list[Callable[[], None]] = []
        self._posting: set[asyncio.Task[None]] = set()
        self._direct = Direct(clock, self._try, self._wake_one)
        self._trouble_since: datetime | None = None

    # ----------------------------------------------------------------- engines

    def attach(self, engine: Engine) -> None:
        """Serve an engine that has started, until it stops; what earlier ones left pending is posted again."""
        self._engine, self._config = engine, engine.config
        self._lanes = {}
        if len(self._sent_unsaved) > UNSAVED:
            self._sent_unsaved.clear()  # sent twice rather than remembered for ever
        self._leave = [
            engine.watch_alerts(self._on_alerts),
            engine.watch_reloads(self._on_reload),
            engine.before_close(self._detach),
        ]
        self._direct.attach(engine)
        self._spawn(self._post_again(engine))

    async def _post_again(self, engine: Engine) -> None:
        names: list[str] | None = None
        while names is None and engine is self._engine:
            try:
                names = await asyncio.to_thread(engine.store.pending_notifiers)
            except Exception as error:  # noqa: BLE001 - whatever it is, what is pending would wait for the next engine
                log.warning("what is pending cannot be read yet: %s", error)
                await waited(engine.clock, AGAIN_S)
        self._wake(names or [], engine)

    async def _detach(self) -> None:
        self._direct.detach()
        for leave in self._leave:
            leave()
        lanes, self._lanes, self._engine = list(self._lanes.values()), {}, None
        await asyncio.gather(*(lane.close() for lane in lanes))

    def _on_alerts(self, raised: tuple[Raised, ...]) -> None:
        self._counts.raised(each.alert for each in raised)
        for each in raised:
            log.info("alert %s: %s", each.alert.alert_id, each.alert.message)
        if self._engine is not None:
            self._wake({name for each in raised for name in each.notify}, self._engine)

    def _on_reload(self) -> None:
        """Give up what a removed notifier still had to tell, and go on with the others."""
        if self._engine is not None:
            self._config = self._engine.config
            self._spawn(self._post_again(self._engine))

    def _wake(self, names: set[str] | list[str], engine: Engine) -> None:
        for name in sorted(names):
            if engine is self._engine:
                if name not in self._lanes:
                    self._lanes[name] = Lane(name, engine, self._try, self._sent_unsaved)
                self._lanes[name].wake()

    def _wake_one(self, name: str, engine: Engine) -> None:
        self._wake([name], engine)

    @property
    def idle(self) -> bool:
        """Whether nothing is being sent, waited for or looked up."""
        return self._direct.idle and not self._posting and all(lane.idle for lane in self._lanes.values())

    # ----------------------------------------------------------------- what operators ask for

    async def replay(self, alert_id: str, notifier: str | None = None) -> list[Delivery]:
        """Send dead deliveries of an alert again, with a fresh budget. Raises NotFound, Conflict, Unavailable."""
        engine = self._running()
        told = await asyncio.to_thread(engine.store.alert, alert_id)
        if told is None:
            raise NotFound(f"there is no alert {alert_id[:200]}", mend="`pysched alerts` lists them")
        dead = [each for each in told.deliveries if each.status is DeliveryStatus.DEAD]
        chosen = [each for each in dead if notifier in (None, each.notifier)]
        if not chosen:
            of = f" of {notifier}" if notifier else ""
            raise Conflict(f"nothing{of} is dead in {alert_id}", mend="`pysched alerts --dead` lists what is")
        gone = [each.notifier for each in chosen if each.notifier not in engine.config.notifiers]
        if gone:
            raise Conflict(f"notifier removed: {', '.join(gone)}", mend="define it again and reload")
        now = self._clock.now()
        again = [replace(each, status=DeliveryStatus.PENDING, attempts=0, updated_at=now) for each in chosen]
        self._sent_unsaved.difference_update(each.delivery_id for each in again)
        await engine.writer.save(Batch(deliveries=tuple(again)))
        self._wake([each.notifier for each in again], engine)
        return again

    async def test(self, name: str, actor: str) -> str | None:
        """Send one message that says it is a test, once and now; returns why that failed, or None.

        Raises NotFound, Unavailable.
        """
        engine = self._running()
        definition = definition_of(engine.config, name)
        if definition is None:
            known = ", ".join(sorted(engine.config.notifiers)) or "none is configured"
            raise NotFound(f"there is no notifier {name[:80]}", mend=f"there are: {known}")
        message = test_message(name, actor, engine.config.settings.name, self._clock.now())
        return await self._try(engine.config, definition, message, lambda: None)

    def _running(self) -> Engine:
        if self._engine is None:
            raise Unavailable("no scheduler is running that could send", mend="ask again in a moment")
        return self._engine

    # ----------------------------------------------------------------- without a disk

    def scheduler_failed(self, trouble: str) -> None:
        """Tell, once for each trouble, that the scheduler cannot work."""
        if self._trouble_since is None:
            self._trouble_since = self._clock.now()
            self._tell(alerting.scheduler_failed(trouble, self._trouble_since))

    def scheduler_works(self) -> None:
        """Tell those who heard of its trouble that the scheduler works again."""
        since, self._trouble_since = self._trouble_since, None
        if since is not None:
            self._tell(alerting.scheduler_works_again(since, self._clock.now()), as_of=AlertKind.SCHEDULER_FAILED)

    def _tell(self, alert: Alert, as_of: AlertKind | None = None) -> None:
        """Tell of the scheduler itself. `as_of`: by the routes of that kind."""
        self._counts.raised([alert])
        topic = replace(alert, kind=as_of or alert.kind).topic
        self._direct.tell(self._config, alert, destinations(routes_of(self._config), topic))

    async def _try(
        self, config: Config, definition: Definition, message: Message, on_end: Callable[[], None]
    ) -> str | None:
        """Try once, and count it."""
        error = await self._send(config, definition, message, on_end)
        self._counts.tried(definition.name, error)
        return error

    def _spawn(self, work: object) -> None:
        task = asyncio.ensure_future(work)  # type: ignore[call-overload]
        self._posting.add(task)
        task.add_done_callback(self._posting.discard)

    async def close(self) -> None:
        """Give up what is still being sent without a store."""
        await self._direct.close()
        for task in list(self._posting):
            task.cancel()
        await asyncio.gather(*self._posting, return_exceptions=True)
