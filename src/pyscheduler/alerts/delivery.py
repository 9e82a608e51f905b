"""Delivering: from rows that say `pending` to messages that were taken, at least once, oldest first. Spec: 15.3.

One lane a notifier, for the life of one engine. A lane reads what is pending from the store whenever it is woken, holds
at most IN_HAND of it, sends AT_ONCE at a time and waits between tries on the engine's clock. The store alone says what
is to be done: a lane that dies with its process is continued by the next, from the same rows. What always holds:

- a message is sent only for a row that is on disk, and what became of it is written down before anything else;
- the definition used is the one in force when a try begins; a notifier that is gone makes its rows `dead`;
- a try that does not end in time counts as failed; its thread keeps one of the lane's own AT_ONCE places until it ends,
  and nobody else's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol

from pyscheduler.alerts.definition import Definition, definition_of
from pyscheduler.alerts.message import Message, message_of, one_line
from pyscheduler.alerts.notifiers import notifier_of
from pyscheduler.alerts.threads import in_thread
from pyscheduler.config import Config
from pyscheduler.engine.core import Engine
from pyscheduler.engine.ports import Clock
from pyscheduler.errors import NotifyError, StoreError
from pyscheduler.model.alert import Alert, Delivery, DeliveryStatus, Told
from pyscheduler.model.batch import Batch

log = logging.getLogger(__name__)

AT_ONCE: Final = 4
IN_HAND: Final = 200
GRACE_S: Final = 1.0
"""How much longer than its own timeout a try may take before it is given up on."""
LONGEST_ERROR: Final = 500
AGAIN_S: Final = 5.0
"""How soon the store is asked again that has just not answered."""
LAST_SENDS_S: Final = 2.0
"""How long an engine's end waits for the sends under way."""


class Send(Protocol):
    """One try: returns why it failed, None where the message was taken. `on_end`: its thread has ended."""

    async def __call__(
        self, config: Config, definition: Definition, message: Message, on_end: Callable[[], None]
    ) -> str | None: ...


async def send(config: Config, definition: Definition, message: Message, on_end: Callable[[], None]) -> str | None:
    """Try once to send a message; returns why that failed, secrets taken out, or None."""
    longest = definition.timeout_s + GRACE_S

    def work() -> None:
        notifier_of(definition, config.settings).send(message)

    try:
        await asyncio.wait_for(in_thread(work, f"alert {definition.name}", on_end), longest)
    except TimeoutError:
        return f"no answer within {longest:g} s"
    except (NotifyError, OSError, ValueError) as error:
        return _shown(definition, str(error) or type(error).__name__)
    except Exception as error:  # noqa: BLE001 - a plug-in may raise what it likes: it failed, and that is all
        return _shown(definition, f"{type(error).__name__}: {error}")
    return None


def _shown(definition: Definition, error: str) -> str:
    return one_line(definition.hide(error))[:LONGEST_ERROR]


async def waited(clock: Clock, seconds: float) -> None:
    """Return after so many seconds of this clock."""
    rung = asyncio.Event()
    timer = clock.call_after(seconds, rung.set)
    try:
        await rung.wait()
    finally:
        timer.cancel()


class Lane:
    """What one notifier has to tell."""

    def __init__(self, name: str, engine: Engine, send: Send, sent_unsaved: set[str]) -> None:
        self._name, self._engine, self._send = name, engine, send
        self._sent_unsaved = sent_unsaved
        self._in_hand: dict[str, asyncio.Task[None]] = {}
        self._left_alone: set[str] = set()
        """Rows whose delivery broke down: the next lane on this notifier tries them, this one would for ever."""
        self._places = asyncio.Semaphore(AT_ONCE)
        self._woken = asyncio.Event()
        self._failures, self._told = 0, ""
        """How many tries have failed in a row, and the error that the log was told last."""
        self._closing = False
        self._more = False
        """Whether the store may have more than was read: there was no room for all of it."""
        self._task = asyncio.create_task(self._run(), name=f"alert lane {name}")

    def wake(self) -> None:
        """Look for what is pending."""
        self._woken.set()

    @property
    def idle(self) -> bool:
        """Whether nothing is in hand, and nobody has woken it."""
        return not self._in_hand and not self._woken.is_set()

    async def close(self) -> None:
        """Begin nothing more and wait a moment for what is being sent; the rest stays pending."""
        self._closing = True
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if self._in_hand:
            await asyncio.wait(self._in_hand.values(), timeout=LAST_SENDS_S)
        for task in list(self._in_hand.values()):
            task.cancel()
        await asyncio.gather(*self._in_hand.values(), return_exceptions=True)

    # ----------------------------------------------------------------- from the store

    async def _run(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            room = IN_HAND - len(self._in_hand)
            if room <= 0:
                self._more = True
                continue  # it is woken again when half of them have ended
            try:
                found = await asyncio.to_thread(
                    self._engine.store.pending_deliveries, self._name, room, {*self._in_hand, *self._left_alone}
                )
            except Exception as error:  # noqa: BLE001 - whatever it is, nothing else would ever look for this notifier
                log.warning("%s: what is pending cannot be read yet: %s", self._name, error)
                self.wake()
                await waited(self._engine.clock, AGAIN_S)  # the readers were busy; where the engine fails, this ends
                continue
            self._more = len(found) == room
            for delivery, told in found:
                self._take(delivery, told)

    def _take(self, delivery: Delivery, told: Told) -> None:
        key = delivery.delivery_id
        if key not in self._in_hand:
            task = asyncio.create_task(self._deliver(delivery, told.alert), name=f"alert {key}")
            self._in_hand[key] = task
            task.add_done_callback(lambda ended: self._ended(key, ended))

    def _ended(self, key: str, task: asyncio.Task[None]) -> None:
        self._in_hand.pop(key, None)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._left_alone.add(key)
        if not self._more or len(self._in_hand) <= IN_HAND // 2:  # many a look for one row each would cost too much
            self.wake()
        if error is None:
            return
        if isinstance(error, StoreError):
            log.warning("%s: %s; what became of it could not be written down", self._name, error)
        else:
            log.error("delivering %s has failed: %s", key, error, exc_info=error)

    # ----------------------------------------------------------------- one delivery

    async def _deliver(self, delivery: Delivery, alert: Alert) -> None:
        while True:
            tried, definition = await self._try(delivery, alert)
            delivery = tried
            if self._engine.error is None:
                await self._engine.writer.save(Batch(deliveries=(tried,)))
                self._sent_unsaved.discard(tried.delivery_id)
            if tried.status is not DeliveryStatus.PENDING or definition is None or self._closing:
                return
            await waited(self._engine.clock, definition.wait_after(tried.attempts))

    async def _try(self, delivery: Delivery, alert: Alert) -> tuple[Delivery, Definition | None]:
        """Try once; returns what became of it, and the definition that was used."""
        await self._places.acquire()
        config = self._engine.config
        definition = definition_of(config, self._name)
        if definition is None:
            self._places.release()
            return self._marked(delivery, DeliveryStatus.DEAD, "notifier removed"), None
        if delivery.delivery_id in self._sent_unsaved:
            self._places.release()
            return self._marked(delivery, DeliveryStatus.SENT, None), definition
        message = message_of(alert, config.settings.name, self._repeats(alert))
        error = await self._send(config, definition, message, self._places.release)
        delivery = replace(delivery, attempts=delivery.attempts + 1)
        self._say(alert, error)
        if error is None:
            self._sent_unsaved.add(delivery.delivery_id)
            return self._marked(delivery, DeliveryStatus.SENT, None), definition
        spent = delivery.attempts > definition.retry_count
        status = DeliveryStatus.DEAD if spent else DeliveryStatus.PENDING
        return self._marked(delivery, status, error), definition

    def _say(self, alert: Alert, error: str | None) -> None:
        """Log the first of many like failures, and the end of them: each delivery's own error stands in its row."""
        if error is None:
            if self._failures:
                log.info("notifier %s takes messages again, after %d failed tries", self._name, self._failures)
            self._failures, self._told = 0, ""
            return
        self._failures += 1
        if error != self._told:
            self._told = error
            log.warning(
                "notifier %s did not take %s: %s; the same is not said again", self._name, alert.alert_id, error
            )

    def _repeats(self, alert: Alert) -> int:
        """Return how often the like of an alert has been held back since it was raised."""
        outage = self._engine.desk.alarms.outage_of(alert.job)
        return outage.held_back if outage is not None and alert.raised_at in outage.told.values() else 0

    def _marked(self, delivery: Delivery, status: DeliveryStatus, error: str | None) -> Delivery:
        return replace(delivery, status=status, last_error=error, updated_at=self._engine.clock.now())
