"""The log of an attempt that ran on another node: read there, through that node's own API. DESIGN 6.

What must always hold: a file that lies here is read here (a shared folder, or this host's own); a request that another
scheduler has sent on is answered here or not at all, so none goes round in a circle. Who asks is vouched for with the
cluster's secret (`afar.py`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse
from starlette.types import Scope

from pyscheduler.api.afar import HEADER, ask, target_of
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.gates import caller_of
from pyscheduler.errors import NotFound
from pyscheduler.model.run import Attempt
from pyscheduler.store.claims import NodeRow


async def of_another_node(desk: FrontDesk, scope: Scope, attempt: Attempt, path: str) -> Response | None:
    """Return the answer of the node that ran an attempt; None where the log is this scheduler's own to read.

    Raises NotFound where it lies on a node that nobody can ask, Unavailable where that one does not answer.
    """
    claims = desk.host.claims
    if claims is None or any(name == HEADER for name, _ in scope["headers"]):
        return None
    if await desk.threads(os.path.exists, path):
        return None
    owner = await desk.look(lambda store: store.owner_of(attempt.run_id, attempt.attempt))
    if owner is None or owner == claims.me.inc_id:
        return None
    rows = await desk.threads(claims.nodes)
    there = _there(rows, owner)
    if there is None or there.host_id == claims.me.host_id:
        return None
    speaker, vouching = _speaker(rows, there), desk.host.vouching
    if speaker is None or vouching is None:
        why = "no scheduler of it lives" if speaker is None else "the nodes have no secret (scheduler.cluster.secret)"
        what = f"the log lies on node {there.node}, which cannot be asked: {why}"
        raise NotFound(what, where=path, mend="start a scheduler there, or keep logs in a folder that nodes share")
    target = target_of(scope)
    word = vouching.word(caller_of(scope), scope["method"], target)
    reply = await ask(speaker.address, scope["method"], target, [(HEADER, word)], b"")
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in reply.headers}
    close = BackgroundTask(reply.close)
    return StreamingResponse(reply.body, status_code=reply.status, headers=headers, background=close)


def _there(rows: Sequence[NodeRow], owner: str) -> NodeRow | None:
    return next((row for row in rows if row.inc_id == owner), None)


def _speaker(rows: Sequence[NodeRow], there: NodeRow) -> NodeRow | None:
    """Return a living scheduler of the same host, or of the same name where hosts cannot be told apart."""
    living = [row for row in rows if row.lives and row.address]
    same = [row for row in living if row.host_id == there.host_id and row.state_dir == there.state_dir]
    return next(iter(same or [row for row in living if row.node == there.node]), None)
