"""The door: who sent a request, by whichever way it came. Promise P8: nobody unknown acts. Spec: jobs.md 13.1.

| came by | with | is |
|---|---|---|
| the Unix socket | nothing that counts | the peer the kernel names: root or our own user |
| TCP | `Authorization: Bearer` | the token's program; a bad token is refused, whatever else there is |
| TCP | a session's cookie | the user who signed in, with the role the users file gives now; or who used a link |
| TCP, no credential files | nothing | the user that the kernel says owns the connection: root or our own, by loopback |

Without credential files a `Host` that is not this machine's own name for itself is refused before anything else, so
that no page of another name can be led here. Headers that a proxy might add are nothing to us.

Whoever is let in is `Caller`; who is nobody is None and may still see what is public; everybody else is refused.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from pyscheduler.api import cookies, needs
from pyscheduler.api.afar import Vouching
from pyscheduler.api.callers import Caller, Via, peer_caller, user_name
from pyscheduler.api.intent import header, is_loopback_host
from pyscheduler.api.links import Links
from pyscheduler.api.loopback import Lookout, Wire, owners_of
from pyscheduler.api.pages import Pages, PlainPages, page
from pyscheduler.api.passwords import Passwords
from pyscheduler.api.problems import answer_to
from pyscheduler.api.revocations import Revocations
from pyscheduler.api.session_book import Save, SessionBook
from pyscheduler.api.threads import Threads
from pyscheduler.api.throttle import Throttle
from pyscheduler.errors import Forbidden, Unauthorised, Unavailable
from pyscheduler.model.person import Credentials, Role, Token, User
from pyscheduler.model.session import Session

Scope = Mapping[str, Any]
LINK_PROOF: Final = ""
"""What a session of a one-time link rests on: nothing that a file could take away."""


class Door:
    """Knows who may come in. `credentials` is what the files hold now; `swap` puts others in force."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        save: Save,
        now: Callable[[], datetime],
        monotonic: Callable[[], float],
        secure_cookies: bool = False,
        address: str | None = None,
        pages: Pages | None = None,
        revocations: Revocations | None = None,
    ) -> None:
        self.credentials = credentials
        self.vouching: Vouching | None = None
        """Set where other schedulers of a cluster may pass on who asks."""
        self.sessions = SessionBook(save, now)
        self.links, self.throttle, self.passwords = Links(), Throttle(), Passwords()
        self.revocations = revocations or Revocations()
        self.now, self.monotonic = now, monotonic
        self.secure_cookies, self.address = secure_cookies, address
        self.pages: Pages = pages or PlainPages()
        self._looking = Threads(1, 0, "door")
        self._lookout = Lookout(lambda pairs: self._looking(owners_of, pairs))
        self._tokens = _by_hash(credentials)

    # ----------------------------------------------------------------- who is it

    async def __call__(self, scope: Scope) -> Caller | None:
        """Return who sent a request, None for nobody. Raises Forbidden, Unauthorised, Unavailable.

        For what is public nobody is refused, but for a foreign Host.
        """
        if self.vouching is not None and (vouched := self.vouching.caller(scope)) is not None:
            return vouched
        wire: Wire | None = scope.get("state", {}).get("wire")
        if wire is None:
            return peer_caller(scope)
        self._check_host(scope)
        try:
            return await self._identify(scope, wire)
        except (Forbidden, Unauthorised, Unavailable):
            if needs.is_public(scope):
                return None
            raise

    def _check_host(self, scope: Scope) -> None:
        if self.credentials.is_open and not is_loopback_host(header(scope, b"host")):
            mend = "ask for 127.0.0.1 or localhost, or configure users_file or api_tokens_file"
            raise Forbidden("forbidden host", mend=mend)

    async def _identify(self, scope: Scope, wire: Wire) -> Caller | None:
        shown = [value for name, value in scope["headers"] if name == b"authorization"]
        if any(value[:7].strip().lower() == b"bearer" for value in shown):
            return self._by_token(shown, wire)
        for value in cookies.values_of(scope):
            caller = self._by_session(value, wire)
            if caller is not None:
                return caller
        return await self._by_owner(wire) if self.credentials.is_open else None

    def _by_token(self, shown: list[bytes], wire: Wire) -> Caller:
        digest = hashlib.sha256(shown[0][7:].strip()).hexdigest()
        token = self._tokens.get(digest)
        if len(shown) > 1 or token is None or not hmac.compare_digest(token.sha256, digest):
            raise Unauthorised("unauthorised", mend="the token is none of api_tokens_file")
        if self._is_stale(token):
            raise Unauthorised("unauthorised", mend=f"the token of {token.name} expired on {token.expires}")
        return Caller(token.name, token.role, Via.TOKEN, wire.address, token.teams, proof=digest)

    def _is_stale(self, token: Token) -> bool:
        return token.expires is not None and self.now().date() > token.expires

    def _by_session(self, value: str, wire: Wire) -> Caller | None:
        if not self.sessions.is_loaded:
            raise Unavailable("scheduler is starting", mend="ask again in a moment")
        session = self.sessions.find(value)
        return None if session is None else self._of_session(session, wire.address)

    def _of_session(self, session: Session, address: str) -> Caller | None:
        """Return whose session it is now; None where what it rests on is gone."""
        csrf, proof = session.csrf, session.session_hash
        if session.proof == LINK_PROOF:
            return Caller(session.user, Role.ADMIN, Via.LINK, address, csrf=csrf, proof=proof)
        user = self.credentials.user(session.user)
        if user is None or not hmac.compare_digest(proof_of(user), session.proof):
            return None
        return Caller(user.name, user.role, Via.SESSION, address, user.teams, csrf, proof)

    async def _by_owner(self, wire: Wire) -> Caller:
        owner = await self._lookout.owner(wire)
        us = user_name(os.geteuid())
        if owner not in (0, os.geteuid()):
            who = "nobody can tell who you are" if owner is None else f"the user {user_name(owner)} may not come in"
            mend = f"run `pysched open` as {us} and follow its link, or configure users_file or api_tokens_file"
            raise Forbidden(who, mend=mend)
        return Caller(user_name(owner), Role.ADMIN, Via.LOOPBACK, wire.address)

    # ----------------------------------------------------------------- who is nobody

    def turn_away(self, scope: Scope, error: Forbidden | Unauthorised | None = None) -> Response:
        """Return the answer to nobody: the sign-in for a browser that can use it, a refusal for everybody else."""
        has_form = self.credentials.users is not None
        if not is_navigation(scope):
            return answer_to(error or Unauthorised("unauthorised", mend="send `Authorization: Bearer` and your token"))
        if has_form and not isinstance(error, Forbidden):
            asked = scope["path"] + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
            return RedirectResponse(f"/login?next={quote(asked, safe='/')}" if asked != "/" else "/login", 303)
        refused = error or Forbidden("the pages need a users file", mend="configure users_file, or run `pysched open`")
        html = self.pages.refusal(title="You may not come in", text=refused.what, mend=refused.mend)
        return page(html, 401 if isinstance(refused, Unauthorised) else 403)

    # ----------------------------------------------------------------- coming and going

    async def sign_in(self, name: str, proof: str, *, address: str, agent: str) -> tuple[str, Session]:
        """Open a session; returns the header that gives the cookie, and the session. Raises as saving does."""
        value, session = await self.sessions.open(name, proof, address=address, agent=agent)
        return cookies.setting(value, secure=self.secure_cookies), session

    async def end_sessions(self, chosen: Callable[[Session], bool], by: str) -> list[Session]:
        """End sessions, and the streams that were opened with them. Raises as saving does."""
        try:
            return await self.sessions.revoke(chosen, by)
        finally:
            self.revocations.tell(self.is_gone)

    def swap(self, credentials: Credentials) -> bool:
        """Put credentials in force; returns whether they are others. Ends the streams of whoever lost something."""
        if credentials == self.credentials:
            return False
        self.credentials, self._tokens = credentials, _by_hash(credentials)
        self.revocations.tell(self.is_gone)
        return True

    async def tidy(self) -> None:
        """Once a minute: end what rests on nothing any more, write down who was seen, forget what is over."""
        unbacked = {each.session_hash for each in self.sessions.live() if self._of_session(each, "") is None}
        if unbacked:
            await self.sessions.revoke(lambda each: each.session_hash in unbacked, "users file")
        await self.sessions.tidy()
        self.revocations.tell(self.is_gone)

    def is_gone(self, caller: Caller) -> bool:
        """Whether somebody who was let in would not be let in any more as the same."""
        if caller.via is Via.TOKEN:
            token = self._tokens.get(caller.proof)
            if token is None or self._is_stale(token):
                return True
            return (token.name, token.role, token.teams) != (caller.name, caller.role, caller.teams)
        if caller.via in (Via.SESSION, Via.LINK):
            session = self.sessions.of_hash(caller.proof)
            now = None if session is None else self._of_session(session, caller.address)
            return now is None or (now.role, now.teams) != (caller.role, caller.teams)
        return caller.via is Via.LOOPBACK and not self.credentials.is_open

    def close(self) -> None:
        """Let the threads go."""
        self._looking.close()
        self.passwords.close()


def _by_hash(credentials: Credentials) -> dict[str, Token]:
    return {token.sha256: token for token in credentials.tokens or ()}


def proof_of(user: User) -> str:
    """Return what a session of this user rests on: another password makes another proof."""
    return hashlib.sha256(f"{user.name}\0{user.password_hash}".encode()).hexdigest()[:32]


def is_navigation(scope: Scope) -> bool:
    """Whether a person's browser opens a page."""
    accept = header(scope, b"accept") or ""
    return scope["method"] in needs.READS and "text/html" in accept and not scope["path"].startswith("/api/")


def safe_next(text: str) -> str:
    """Return where to go after the sign-in: a path of this very site, else the board."""
    is_path = text.startswith("/") and not text.startswith(("//", "/login", "/enter/", "/logout"))
    is_plain = len(text) <= 2000 and text.isascii() and text.isprintable() and not set(text) & set('\\ <>"')
    return text if is_path and is_plain else "/"
