"""A client for those who only look: the running scheduler answers, and while none runs its store does.

Each question goes to the scheduler first, so that who follows a log sees it through a restart. Which of the two speaks
is said on stderr when it changes. What cannot be told from a store alone is refused in the scheduler's own words.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from pyscheduler.cli.client import Client, Json
from pyscheduler.cli.faults import Unreachable

if TYPE_CHECKING:
    from pyscheduler.cli.session import Session

T = TypeVar("T")
AGAIN_S: Final = 0.2
"""After an answer that broke off: by then the socket of a process that is gone refuses."""


class Looking:
    """Asks the scheduler, else the store. Raises like any client; Unreachable where there is no store either."""

    def __init__(self, session: Session, timeout_s: float) -> None:
        self._session, self._online = session, session.client(timeout_s)
        self._offline: Client | None = None

    def get(self, path: str, **query: object) -> Json:
        """Return the answer's JSON."""
        return self._ask(lambda client: client.get(path, **query))

    def post(self, path: str, body: Mapping[str, object] | None = None, *, key: str | None = None) -> Json:
        """Return the scheduler's answer: a store does nothing."""
        return self._online.post(path, body, key=key)

    def raw(self, path: str, **query: object) -> tuple[bytes, Mapping[str, str]]:
        """Return the answer's bytes as they are, and its headers with lower-case names."""
        return self._ask(lambda client: client.raw(path, **query))

    def _ask(self, question: Callable[[Client], T]) -> T:
        try:
            answer = self._ask_scheduler(question)
        except Unreachable as error:
            if not error.nobody:
                raise
            return question(self._store(error))
        if self._offline is not None:
            self._offline = None
            self._session.note("the scheduler runs again")
        return answer

    def _ask_scheduler(self, question: Callable[[Client], T]) -> T:
        """Ask, and ask again where the scheduler was ended while it answered: to look twice does no harm."""
        try:
            return question(self._online)
        except Unreachable as error:
            if not error.broke_off:
                raise
            time.sleep(AGAIN_S)
            return question(self._online)

    def _store(self, error: Unreachable) -> Client:
        if self._offline is None:
            from pyscheduler.cli.store_client import StoreClient

            self._offline = store = StoreClient(self._session, error)
            self._session.note(f"{error.what}: what follows is what its store {store.where} says")
        return self._offline
