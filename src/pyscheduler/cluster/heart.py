"""The heartbeat: a thread that says "I live" while the main loop gets on. Spec: claims.md C5 S1, C6.

What must always hold: nothing the loop does can hold a heartbeat up, and a loop that stands still for `wedge` seconds
is not vouched for; trust in our own lease (`rules.leases.Trust`) counts from before a heartbeat was sent, on the boot
clock. Whatever is learnt is told to the loop, never acted on here.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final, Protocol

from pyscheduler.errors import StoreError
from pyscheduler.rules.leases import Trust
from pyscheduler.store.claims import Beat, Timing

log = logging.getLogger(__name__)

RETRY_PARTS: Final = 4
"""After a failure the next try comes within this part of the interval."""

BREATH_S: Final = 0.1
"""Between two beats, however many hurry them."""


class Pulse(Protocol):
    """What the thread needs of `Claims`."""

    @property
    def timing(self) -> Timing: ...

    def heartbeat(self) -> Beat | None: ...


class Heart:
    """One incarnation's heartbeats. `tell(beat)` is called on the thread; None says that we are fenced, and ends it.

    `failed(error)` hears of a store that could not be reached. `boot` is the boot clock in seconds. `vouch(until)` is
    told at each renewal until when our lease certainly holds, before anybody else is.
    """

    def __init__(
        self,
        claims: Pulse,
        boot: Callable[[], float],
        tell: Callable[[Beat | None], None],
        failed: Callable[[StoreError], None],
        vouch: Callable[[float], None] = lambda until: None,
    ) -> None:
        self._claims, self._boot, self._tell, self._failed = claims, boot, tell, failed
        self._vouch = vouch
        self._timing = claims.timing
        self._stop, self._nudge = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._progress = boot()
        self._trust = Trust(self._timing.lease_s, self._timing.margin_s)
        self.beats = 0
        self.lapsed = False
        """Whether our lease was in doubt before a beat renewed it: runs may have been taken from us meanwhile."""
        self.fenced = False

    def begin(self, registered_at: float) -> None:
        """Start beating; `registered_at` is the boot clock before S0 was sent: the first lease counts from then.

        `say` it before anything is started.
        """
        self._trust.renewed(registered_at)
        self.alive()
        self._thread = threading.Thread(target=self._run, name="pysched-heartbeat", daemon=True)
        self._thread.start()

    def say(self) -> None:
        """Vouch for as long as our lease certainly holds. Touches the disk: not for the loop."""
        self._vouch(self._trust.until)

    def end(self) -> None:
        """Stop beating, and wait for a beat under way."""
        self._stop.set()
        self._nudge.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
            self._thread = None

    def hurry(self) -> None:
        """Something of ours may have been asked to stop: do not wait for the next beat's time."""
        self._nudge.set()

    def alive(self) -> None:
        """The main loop gets on. It must say so more often than every `wedge` seconds."""
        self._progress = self._boot()

    @property
    def trusted(self) -> bool:
        """Whether our lease certainly holds, so that we may claim and start."""
        return self._trust.holds(self._boot())

    def _run(self) -> None:
        wait_s = self._timing.heartbeat_s
        while not self._rest(wait_s):
            if self._boot() - self._progress > self._timing.wedge_s:
                log.critical("the main loop stands still: no heartbeat vouches for it any more")
                wait_s = self._timing.heartbeat_s
                continue
            wait_s = self._beat()
            if self.fenced:
                return

    def _rest(self, seconds: float) -> bool:
        """Wait so long, or less where it is hurried, though never less than BREATH_S; whether it is over."""
        if self._nudge.wait(seconds):
            self._stop.wait(BREATH_S)
            self._nudge.clear()
        return self._stop.is_set()

    def _beat(self) -> float:
        """Beat once; returns after how many seconds the next one is due."""
        sent_at = self._boot()
        try:
            beat = self._claims.heartbeat()
        except StoreError as error:
            self._failed(error)
            return self._timing.heartbeat_s / RETRY_PARTS
        except Exception as error:  # a bug, and no reason to fall silent: that would be taken for death
            log.exception("a heartbeat has failed; the next one follows")
            self._failed(StoreError(f"a heartbeat has failed ({error!r})"))
            return self._timing.heartbeat_s / RETRY_PARTS
        if beat is None:
            self.fenced = True
            self._trust.ended()
            self.say()
        else:
            self.lapsed = self.lapsed or not self._trust.holds(sent_at)
            self._trust.renewed(sent_at)
            self.say()
            self.beats += 1
        self._tell(beat)
        return self._timing.heartbeat_s
