"""The sessions of browsers, in memory: what each request with a cookie is looked up in.

What must always hold: a session is remembered by the store before its cookie is given out, so it survives a restart; a
session that was revoked is over at once, even where the store cannot write that down yet. `seen_at` reaches the store
once a minute at most, with all that changed. There are at most MOST sessions, and MOST_EACH of one user: the oldest
makes room. Spec: jobs.md 13.1 "Session".
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from pyscheduler.errors import NotFound
from pyscheduler.model.batch import Batch
from pyscheduler.model.session import Session

LIFE: Final = timedelta(hours=8)
MOST: Final = 10_000
MOST_EACH: Final = 20
AGENT_CHARACTERS: Final = 200
_VALUE: Final = re.compile(r"[A-Za-z0-9_-]{43}")

Save = Callable[[Batch], Awaitable[object]]
"""Makes a batch durable. Raises Unavailable, StoreError, EngineFailedError."""


class SessionBook:
    """All sessions that are not over. Everything happens on the loop."""

    def __init__(self, save: Save, now: Callable[[], datetime]) -> None:
        self._save, self._now = save, now
        self._sessions: dict[str, Session] = {}
        self._unsaved: set[str] = set()
        self._over: set[str] = set()
        self.is_loaded = False

    def load(self, sessions: Iterable[Session]) -> None:
        """Take in what the store remembers, once; a session that is over is forgotten there at the next `tidy`."""
        if self.is_loaded:
            return
        now = self._now()
        for session in sessions:
            if now >= session.expires_at:
                self._over.add(session.session_hash)
            elif session.session_hash not in self._sessions:
                self._sessions[session.session_hash] = session
        self.is_loaded = True

    def live(self) -> list[Session]:
        """Return the sessions that can still be used, newest first."""
        now = self._now()
        return sorted(
            (each for each in self._sessions.values() if each.is_live(now)),
            key=lambda each: each.created_at,
            reverse=True,
        )

    def find(self, cookie: str) -> Session | None:
        """Return the live session of a cookie's value, noting that it was seen."""
        if not _VALUE.fullmatch(cookie):
            return None
        found, now = self._sessions.get(hash_of(cookie)), self._now()
        if found is None or not found.is_live(now):
            return None
        if found.seen_at < now:
            found = self._put(replace(found, seen_at=now))
        return found

    async def open(self, user: str, proof: str, *, address: str, agent: str) -> tuple[str, Session]:
        """Return a new cookie's value and its session, once that is on disk. Raises what saving raises."""
        cookie, now = secrets.token_urlsafe(32), self._now()
        session = Session(
            session_hash=hash_of(cookie),
            user=user,
            proof=proof,
            csrf=secrets.token_urlsafe(32),
            created_at=now,
            seen_at=now,
            expires_at=now + LIFE,
            address=address,
            agent="".join(character for character in agent if character.isprintable())[:AGENT_CHARACTERS],
        )
        crowded = self._too_many(user)
        await self._save(Batch(sessions=(session, *crowded)))
        for each in (session, *crowded):
            self._sessions[each.session_hash] = each
        return cookie, session

    def _too_many(self, user: str) -> list[Session]:
        """Return the sessions that make room for one more, revoked."""
        live, now = self.live(), self._now()
        own = [each for each in live if each.user == user]
        crowded = own[MOST_EACH - 1 :] or (live[-1:] if len(live) >= MOST else [])
        return [replace(each, revoked_at=now, revoked_by=user) for each in crowded]

    async def revoke(self, chosen: Callable[[Session], bool], by: str) -> list[Session]:
        """End the live sessions that are chosen, at once; returns them when that is on disk. Raises as saving does."""
        now = self._now()
        ended = [replace(each, revoked_at=now, revoked_by=by) for each in self.live() if chosen(each)]
        for each in ended:
            self._put(each)
        await self._flush()
        return ended

    def of_hash(self, session_hash: str) -> Session | None:
        """Return a live session by its hash, without noting that it was seen."""
        found = self._sessions.get(session_hash)
        return found if found is not None and found.is_live(self._now()) else None

    def named(self, short_id: str) -> Session:
        """Return the live session that people call so. Raises NotFound."""
        found = [each for each in self.live() if each.short_id == short_id]
        if len(found) != 1:
            raise NotFound("no such session", mend="`GET /api/sessions` lists them")
        return found[0]

    async def tidy(self) -> list[Session]:
        """Write down what changed, and forget what is over; returns the sessions that have ended by themselves."""
        now = self._now()
        ended = [each for each in self._sessions.values() if now >= each.expires_at]
        for each in ended:
            del self._sessions[each.session_hash]
            self._unsaved.discard(each.session_hash)
            self._over.add(each.session_hash)
        await self._flush()
        return [each for each in ended if each.revoked_at is None]

    def _put(self, session: Session) -> Session:
        self._sessions[session.session_hash] = session
        self._unsaved.add(session.session_hash)
        return session

    async def _flush(self) -> None:
        """Save all that is unsaved; whatever cannot be saved now stays so."""
        changed, over = set(self._unsaved), set(self._over)
        if not changed and not over:
            return
        sessions = tuple(self._sessions[each] for each in changed if each in self._sessions)
        await self._save(Batch(sessions=sessions, deleted_sessions=tuple(over)))
        saved = {each.session_hash for each in sessions if self._sessions.get(each.session_hash) is each}
        self._unsaved -= saved | {each for each in changed if each not in self._sessions}
        self._over -= over


def hash_of(cookie: str) -> str:
    """Return what is kept of a cookie's value."""
    return hashlib.sha256(cookie.encode()).hexdigest()
