"""Whether the nodes of a cluster take each other's word: found out when one joins, not when a word is needed.

A node with another secret, or with none, joins the store like any other and runs jobs; but nothing can be passed on to
it, and no log be read from it. What must always hold: nothing depends on this; it only says early what is wrong.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Protocol

from pyscheduler.api.afar import HEADER, Vouching, ask
from pyscheduler.api.callers import Caller, Via
from pyscheduler.errors import StoreError, Unavailable
from pyscheduler.model.person import Role
from pyscheduler.store.claims import Claims, NodeRow

log = logging.getLogger(__name__)

TARGET: Final = b"/api/nodes"
"""What every node answers by itself."""
ANSWER_S: Final = 10.0
NOT_TAKEN: Final = frozenset({401, 403})


class Member(Protocol):
    """The part that this process has in the cluster."""

    @property
    def claims(self) -> Claims: ...
    async def joined(self) -> None: ...


async def greet(member: Member, vouching: Vouching) -> None:
    """Once we have joined, ask every other node that lives something, and say of each that does not take our word."""
    await member.joined()
    try:
        rows = await asyncio.to_thread(member.claims.nodes)
    except StoreError as error:
        log.info("the other nodes are not greeted: %s", error)
        return
    me = member.claims.me.inc_id
    others = [row for row in rows if row.lives and row.address and row.inc_id != me]
    await asyncio.gather(*(_greet(row, vouching) for row in others))


async def _greet(row: NodeRow, vouching: Vouching) -> None:
    word = vouching.word(Caller("scheduler", Role.VIEWER, Via.TOKEN), "GET", TARGET)
    try:
        reply = await ask(row.address, "GET", TARGET, [(HEADER, word)], b"", answer_s=ANSWER_S)
    except Unavailable as error:
        log.warning("node %s cannot be spoken to, so nothing is passed on to it: %s", row.node, error.what)
        return
    reply.close()
    if reply.status in NOT_TAKEN:
        what = (
            "node %s at %s does not take this node's word: `scheduler.cluster.secret` must be the same on both, and"
            " their clocks must agree within a minute"
        )
        log.error(what, row.node, row.address)
