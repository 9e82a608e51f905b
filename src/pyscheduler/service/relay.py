"""In front of a standby's application: what it cannot answer itself goes to the scheduler that leads. DESIGN 6.

What the store and the configuration in force can tell is answered here (`BY_STORE`), whether anybody leads or not, by a
glance that is taken for each request (`api/sight.py`). Where there is none to be had it is passed on like all else. So
it is while a standby takes the lead: then nothing is passed on any more, and all else waits for the engine.

Who asks is found out here, by this machine's own door, and vouched for (`api/afar.py`): so `pysched` on any node speaks
to the cluster. What is passed on for a token goes with it instead, and is judged there; whatever comes with a session
is passed on, because who leads keeps them. Where nobody leads, its address is not known, it does not answer, or our own
store is out of reach, the answer is 503 and says which.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import Final, Protocol

from starlette.types import ASGIApp, Receive, Scope, Send

from pyscheduler.api.afar import HEADER, Headers, Reply, Vouching, ask, target_of
from pyscheduler.api.callers import Caller, Via
from pyscheduler.api.door import Door
from pyscheduler.api.host import Host, Phase
from pyscheduler.api.problems import answer_to
from pyscheduler.api.sight import GLANCE, Glance
from pyscheduler.errors import PyschedError, StoreError, StoreUnavailable, TooLarge, Unavailable
from pyscheduler.store.claims import AuthorityRow

OWN: Final = frozenset({"/healthz", "/readyz", "/metrics", "/api/health"})
"""What a standby says for itself."""
LOOKS: Final = frozenset({"GET", "HEAD"})
BY_STORE: Final = re.compile(
    r"/api/(runs(/[^/]+(/log)?)?|attempts|events|jobs(/[^/]+)?|next|alerts(/dead)?|audit)", re.ASCII
)
"""What a standby answers by its store."""
MOST_BODY: Final = 1024 * 1024
READ_S: Final = 5.0
"""How long the head of an answer to a question may take; an action waits for the disk."""
CHANGING_HANDS: Final = "the lead changes hands"
"""How an answer begins that will be another one in a moment; `pysched` waits for that (`cli/faults.py`)."""
STANDS_BY: Final = "this scheduler stands by"
"""How one answers that was taken for who leads: it is waited for as well."""
NOBODY_LEADS: Final = "nobody leads at this moment"
SOON: Final = "ask again in a moment"


class Member(Protocol):
    """What is known of who leads: the last look at it, and why a look failed."""

    @property
    def leader(self) -> AuthorityRow | None: ...
    @property
    def cut_off(self) -> StoreError | None: ...
    def other_that_leads(self, row: AuthorityRow | None) -> str: ...
    async def glance(self) -> Glance | None: ...


class Relay:
    """See above. Without a secret nothing is passed on."""

    def __init__(
        self,
        app: ASGIApp,
        host: Host,
        door: Door,
        member: Member,
        vouching: Vouching | None,
    ) -> None:
        self._app, self._host, self._door, self._member, self._vouching = app, host, door, member, vouching

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer here, or have it answered."""
        phase = self._host.standing.phase
        is_rising = phase is Phase.STARTING and self._member.leader is not None
        if scope["type"] != "http" or not (phase is Phase.STANDBY or is_rising) or _is_own(scope):
            await self._app(scope, receive, send)
            return
        try:
            caller = await self._door(scope)
        except PyschedError:
            caller = None
        try:
            glance = await self._glance(scope, caller)
            if glance is None and not is_rising:
                await self._pass_on(scope, receive, send, caller)
                return
        except PyschedError as error:
            await answer_to(error)(scope, receive, send)
            return
        before = GLANCE.set(glance)
        try:
            await self._app(scope, receive, send)
        finally:
            GLANCE.reset(before)

    async def _glance(self, scope: Scope, caller: Caller | None) -> Glance | None:
        """Return what to answer a request by here; None where it is to be passed on. Raises StoreError."""
        is_known = caller is not None and caller.via not in (Via.SESSION, Via.LINK)
        is_told_here = scope["method"] in LOOKS and BY_STORE.fullmatch(scope["path"]) is not None
        if not is_known or not is_told_here or self._member.cut_off is not None:
            return None
        return await self._member.glance()

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send, caller: Caller | None) -> None:
        if (cut_off := self._member.cut_off) is not None:
            what = f"this scheduler's store is out of reach: {cut_off.what}"
            raise StoreUnavailable(what, where=cut_off.where, mend="ask a scheduler that reaches it, or again later")
        leader = self._member.leader
        name = self._member.other_that_leads(leader)
        if leader is None or not name:
            raise Unavailable(f"{CHANGING_HANDS}: {NOBODY_LEADS}", mend=SOON)
        if not leader.address:
            raise Unavailable(
                f"{name} leads, and says no address", mend=f"give {name} one (listen, or scheduler.cluster.address)"
            )
        if self._vouching is None:
            mend = f"ask {leader.address}, or give the nodes a secret (scheduler.cluster.secret)"
            raise Unavailable(f"{name} leads, and this scheduler has no secret to ask it with", mend=mend)
        target, body = target_of(scope), await _whole(receive)
        headers: Headers = [(key, value) for key, value in scope["headers"] if key != HEADER]
        if caller is not None and caller.via not in (Via.SESSION, Via.TOKEN):
            headers.append((HEADER, self._vouching.word(caller, scope["method"], target)))
        if scope.get("state", {}).get("wire") is None:
            headers = [(key, value) for key, value in headers if key != b"host"]
        waits = {"answer_s": READ_S} if scope["method"] in ("GET", "HEAD") else {}
        try:
            reply = await ask(leader.address, scope["method"], target, headers, body, **waits)
        except Unavailable as error:
            raise Unavailable(
                f"{name} leads, and {error.what}", mend=f"{SOON}; `pysched nodes` says who leads then"
            ) from error
        await _deliver(reply, receive, send)


def _is_own(scope: Scope) -> bool:
    path: str = scope["path"]
    is_of_nodes = scope["method"] == "GET" and path == "/api/nodes"
    is_for_here = any(name == HEADER for name, _ in scope["headers"])
    return path in OWN or is_of_nodes or is_for_here or path.startswith("/static/")


async def _whole(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MOST_BODY:
            raise TooLarge(f"the body is larger than {MOST_BODY} bytes")
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return bytes(body)


async def _deliver(reply: Reply, receive: Receive, send: Send) -> None:
    """Send an answer on as it comes, until it or the client ends."""
    gone = asyncio.ensure_future(_until_gone(receive))
    try:
        await send({"type": "http.response.start", "status": reply.status, "headers": reply.headers})
        pieces = reply.body
        while True:
            piece = asyncio.ensure_future(_one(pieces))
            await asyncio.wait((piece, gone), return_when=asyncio.FIRST_COMPLETED)
            if not piece.done():
                piece.cancel()
                with suppress(asyncio.CancelledError):
                    await piece
                return
            data = piece.result()
            await send({"type": "http.response.body", "body": data or b"", "more_body": data is not None})
            if data is None:
                return
    finally:
        gone.cancel()
        reply.close()


async def _one(pieces: object) -> bytes | None:
    return await anext(pieces, None)  # type: ignore[call-overload,no-any-return]


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
