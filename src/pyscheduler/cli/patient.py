"""A client that waits for a scheduler which is about to answer: `pysched serve & pysched status` works as typed.

It waits only while there is something to wait for: a scheduler that says it is starting, or none at the socket while
somebody holds the state folder or has announced a start. One short pause is made in any case, since two commands that
begin together may overtake each other. What is asked again was never delivered, or was refused as a whole. An action
whose answer breaks off may have been done: each carries a key of its own (`Idempotency-Key`), and is asked for again
under the same one, so it is never done twice. An action that is given while the lead of a cluster changes hands waits
for the next lead; a question does not, for who asks wants to know. Every wait ends after PATIENCE_S with the last
answer.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from pyscheduler.cli import at_home
from pyscheduler.cli.client import Client, Json
from pyscheduler.cli.faults import STARTING, CommandError, Refused, Unreachable
from pyscheduler.cli.place import Place

T = TypeVar("T")

PATIENCE_S: Final = 30.0
"""A start takes a second or two, and ten where the machine has much else to do."""
LOOK_S: Final = 0.1
BETWEEN_S: Final = 20.0
"""How long an action waits for a lead: longer than the lease of one that was killed lasts, by default."""
GRACE_S: Final = 0.25
REPEATS: Final = 3
"""How often an action is asked for again whose answer broke off; the waits between double."""
UNKEYED: Final = ("/api/links",)
"""Whose answer is a secret, and must not be kept for a repetition."""


class Patient:
    """Passes everything on, some of it more than once. `tell` hears once that it waits, and what holds the start up.

    `place` None: the scheduler is on another machine, where nobody can look whether it is on its way.
    """

    def __init__(
        self,
        client: Client,
        place: Place | None,
        tell: Callable[[str], None],
        sleep: Callable[[float], None] = time.sleep,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._client, self._place, self._tell, self._sleep = client, place, tell, sleep
        self._left_s, self._has_paused = patience_s, False
        self._left_between_s = min(patience_s, BETWEEN_S)
        self._told: set[str] = set()
        self._repeats = 0
        self._broken: Unreachable | None = None

    def get(self, path: str, **query: object) -> Json:
        """Return the answer's JSON."""
        return self._ask(lambda: self._client.get(path, **query))

    def post(self, path: str, body: Mapping[str, object] | None = None, *, key: str | None = None) -> Json:
        """Return the answer's JSON. What breaks off is asked again under the same key: it is done once."""
        if key is None and path not in UNKEYED:
            key = str(uuid.uuid4())
        while True:
            try:
                return self._ask(lambda: self._client.post(path, body, key=key), acts=True)
            except Unreachable as error:
                if key is None or not self._is_worth_repeating(error):
                    raise self._broken or error from None

    def raw(self, path: str, **query: object) -> tuple[bytes, Mapping[str, str]]:
        """Return the answer's bytes as they are, and its headers with lower-case names."""
        return self._ask(lambda: self._client.raw(path, **query))

    def _ask(self, question: Callable[[], T], *, acts: bool = False) -> T:
        while True:
            try:
                return question()
            except (Unreachable, Refused) as error:
                if not (self._is_worth_waiting(error) or (acts and self._waits_for_a_lead(error))):
                    raise self._worded(error) from error

    def _is_worth_repeating(self, error: Unreachable) -> bool:
        """Wait a moment where an answer broke off: nobody knows whether it was done, but the scheduler does."""
        if not error.broke_off or self._repeats >= REPEATS:
            return False
        self._broken = error
        self._sleep(GRACE_S * 2**self._repeats)
        self._repeats += 1
        return True

    def _is_worth_waiting(self, error: CommandError) -> bool:
        """Wait a moment where another try may go better; False where it will not."""
        starting = isinstance(error, Refused) and error.is_starting
        nobody = isinstance(error, Unreachable) and error.nobody
        if nobody and not self._has_paused:
            self._has_paused = True
            if not self._is_on_its_way():
                self._sleep(GRACE_S)
                return True
        if self._left_s <= 0 or not (starting or (nobody and self._is_on_its_way())):
            return False
        self._tell_once("the scheduler is starting; waiting for it")
        if starting and error.what != STARTING:
            self._tell_once(error.what)
        self._left_s -= LOOK_S
        self._sleep(LOOK_S)
        return True

    def _waits_for_a_lead(self, error: CommandError) -> bool:
        if self._left_between_s <= 0 or not (isinstance(error, Refused) and error.is_between):
            return False
        self._tell_once("the lead changes hands; waiting for the next scheduler that leads")
        self._left_between_s -= LOOK_S
        self._sleep(LOOK_S)
        return True

    def _is_on_its_way(self) -> bool:
        return self._place is not None and at_home.on_its_way(self._place)

    def _tell_once(self, remark: str) -> None:
        if remark not in self._told:
            self._told.add(remark)
            self._tell(remark)

    def _worded(self, error: CommandError) -> CommandError:
        """Return the error that tells most: who holds the folder, or serves this file from another one."""
        if isinstance(error, Refused) and error.is_starting:
            mend = "it reads its store back, or waits for room on the disk: its log says which; ask again in a moment"
            if error.what != STARTING:
                mend = "it tries again by itself until that is mended; ask again in a moment"
            return Refused(error.what, where=error.where, mend=mend, status=error.status)
        place = self._place
        if not isinstance(error, Unreachable) or not error.nobody or place is None:
            return error
        if (pid := at_home.scheduler_of(place.state_dir)) is not None:
            what = f"the scheduler (pid {pid}) has {place.state_dir} and does not answer: it is starting or stopping"
            return Unreachable(what, where=str(place.config), mend="its log says which; ask again in a moment")
        if (served := at_home.elsewhere(place)) is not None:
            what = (
                f"no scheduler is running in {place.state_dir}, and the one that was started with this file "
                f"(pid {served.pid}) has its state in {served.state_dir}"
            )
            mend = f"write `state_dir: {served.state_dir}` again, or stop it (kill {served.pid}) and start it anew"
            return Unreachable(what, where=str(place.config), mend=mend)
        return error
