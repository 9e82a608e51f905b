"""Telling without a disk: alerts that no store can take now are sent from memory, and stored once one can.

What the scheduler says of its own store's trouble cannot wait for that store (FC-052, FC-056). Each receiver of such an
alert has a task of its own: it tries until the message is taken, the tries are spent, or an engine runs again; then it
writes the alert down with what became of it, and what is still to be sent goes on as any other delivery. *Invariant:*
at any moment either the task or the store's row tells, never both; a process that ends before a store is back has
told what it could, and nothing of it is stored. At most MOST receivers are remembered: the oldest are given up.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from pyscheduler.alerts.definition import Definition, definition_of
from pyscheduler.alerts.delivery import Send
from pyscheduler.alerts.message import message_of
from pyscheduler.config import Config
from pyscheduler.engine.core import Engine
from pyscheduler.engine.ports import Clock
from pyscheduler.model.alert import Alert, Delivery, DeliveryStatus, Raised
from pyscheduler.model.batch import Batch

log = logging.getLogger(__name__)

MOST: Final = 1000


class Direct:
    """Tells while no engine runs. `on_kept` is called with the notifier whose row says `pending` from now on."""

    def __init__(self, clock: Clock, send: Send, on_kept: Callable[[str, Engine], None]) -> None:
        self._clock, self._send, self._on_kept = clock, send, on_kept
        self._engine: Engine | None = None
        self._attached = asyncio.Event()
        self._tasks: dict[asyncio.Task[None], None] = {}

    def attach(self, engine: Engine) -> None:
        """Write down, in this engine's store, what has been told so far."""
        self._engine = engine
        self._attached.set()

    def detach(self) -> None:
        """Keep in memory what is told from now on."""
        self._engine = None
        self._attached.clear()

    @property
    def idle(self) -> bool:
        """Whether everything told is written down."""
        return not self._tasks

    def tell(self, config: Config, alert: Alert, notify: Iterable[str]) -> None:
        """Tell everybody who is to hear of an alert. One that nobody hears of is stored all the same."""
        log.info("alert %s: %s", alert.alert_id, alert.message)
        receivers: list[str | None] = [*notify]
        for name in receivers or [None]:
            while len(self._tasks) >= MOST:
                self._forget(next(iter(self._tasks)))
            task = asyncio.create_task(self._tell(config, alert, name), name=f"alert {alert.alert_id} {name}")
            self._tasks[task] = None
            task.add_done_callback(self._ended)

    def _forget(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.error("%s has failed: %s", task.get_name(), error, exc_info=error)

    async def _tell(self, config: Config, alert: Alert, name: str | None) -> None:
        definition = None if name is None else definition_of(config, name)
        if definition is None:
            return await self._keep(alert, None)
        delivery = Delivery(
            alert_id=alert.alert_id,
            notifier=definition.name,
            status=DeliveryStatus.PENDING,
            updated_at=self._clock.now(),
        )
        while not self._attached.is_set() and delivery.status is DeliveryStatus.PENDING:
            delivery = await self._try(config, definition, alert, delivery)
            if delivery.status is DeliveryStatus.PENDING:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._attached.wait(), definition.wait_after(delivery.attempts))
        return await self._keep(alert, delivery)

    async def _try(self, config: Config, definition: Definition, alert: Alert, delivery: Delivery) -> Delivery:
        error = await self._send(config, definition, message_of(alert, config.settings.name), lambda: None)
        tries, status = delivery.attempts + 1, DeliveryStatus.SENT
        if error is not None:
            log.warning("%s did not take %s (try %d): %s", definition.name, alert.alert_id, tries, error)
            status = DeliveryStatus.DEAD if tries > definition.retry_count else DeliveryStatus.PENDING
        return replace(delivery, attempts=tries, status=status, last_error=error, updated_at=self._clock.now())

    async def _keep(self, alert: Alert, delivery: Delivery | None) -> None:
        """Write an alert down, with what became of it at one receiver, once there is a store that takes it."""
        notify = () if delivery is None else (delivery.notifier,)
        batch = Batch(alerts=(Raised(alert, notify),), deliveries=() if delivery is None else (delivery,))
        while True:
            await self._attached.wait()
            engine = self._engine
            if engine is None:  # it was let go again before we had our turn
                continue
            try:
                await engine.writer.save(batch)
            except Exception as error:  # noqa: BLE001 - whatever stopped that writer, its engine goes down; wait for the next
                log.warning("alert %s could not be stored yet: %s", alert.alert_id, error)
                if self._engine is engine:
                    self.detach()
                continue
            if delivery is not None and delivery.status is DeliveryStatus.PENDING:
                self._on_kept(delivery.notifier, engine)
            return

    async def close(self) -> None:
        """Give up what is still being sent, or waits for a store."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
