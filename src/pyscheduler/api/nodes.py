"""Who shares this store: the nodes, which of them leads, what each runs; letting one rest, and giving one up. DESIGN 6.

Any scheduler answers for all of them, a standby too: it is the store that is asked. `fence` takes started attempts
away from a node of which nothing can be proved; what that may mean stands in `docs/concepts/claims.md`, and so the name
has to be typed again and a reason given.
"""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Request

from pyscheduler.api import shapes
from pyscheduler.api.answers import Json
from pyscheduler.api.asking import Act, DrainAct, FenceAct
from pyscheduler.api.callers import Role
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.gates import caller_of
from pyscheduler.api.views import View, instant
from pyscheduler.errors import BadRequest, Conflict, Forbidden, NotFound
from pyscheduler.model.lease import Proof, ProofKind
from pyscheduler.store.claims import AuthorityRow, Claims, NodeRow

KEPT: Final = 20
"""Nodes that are over and still shown, the latest."""


def router(desk: FrontDesk) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/nodes", tags=["nodes"], responses=shapes.REFUSALS)

    @routes.get("", response_model=shapes.Nodes)
    async def nodes() -> Json:
        """List the schedulers that share this store: who leads, who lives, what each runs."""
        claims = _claims(desk)
        authority, rows = await desk.threads(lambda: (claims.authority(), claims.nodes()))
        return Json(nodes_view(authority, rows, claims.me.inc_id))

    @routes.post("/{node}/drain", response_model=shapes.Drained)
    async def drain(request: Request, node: str, act: DrainAct | None = None) -> Json:
        """Let a node claim nothing more; what it runs goes on. With `undo` it claims again."""
        act, claims = act or DrainAct(), _claims(desk)
        _only_admins(request)
        found = await desk.threads(lambda: claims.drain(node, undo=act.undo))
        if not found:
            raise _no_such_node(node)
        return Json({"node": node, "draining": not act.undo, "incarnations": found})

    @routes.post("/{node}/hand-over", response_model=shapes.HandedOver)
    async def hand_over(request: Request, node: str, act: Act | None = None) -> Json:
        """Let the authority, which is named, stop leading as for a restart: another takes over."""
        _only_admins(request)
        claims = _claims(desk)
        row = await desk.threads(claims.authority)
        if node not in (row.node, row.holder) or row.holder != claims.me.inc_id:
            raise Conflict(f"{node} does not lead", mend="`pysched nodes` says who does")
        await desk.host.hand_over()
        return Json({"node": row.node, "epoch": row.epoch})

    @routes.post("/{node}/fence", response_model=shapes.Fenced)
    async def fence(request: Request, node: str, act: FenceAct) -> Json:
        """Take everything away from a node that is silent; its started attempts count as lost."""
        who, claims = _only_admins(request), _claims(desk)
        if act.confirm != node:
            raise BadRequest("the name of the node has to be given once more", mend=f"send `confirm`: {node}")
        if not act.reason.strip():
            raise BadRequest("a node is only fenced with a reason", mend="send `reason`")
        rows = await desk.threads(claims.nodes)
        chosen = [row for row in rows if node in (row.node, row.inc_id) and row.fenced_at is None]
        if not chosen:
            raise _no_such_node(node)
        if any(row.inc_id == claims.me.inc_id for row in chosen):
            raise Conflict("a scheduler cannot fence itself", mend="ask another one, or stop it")
        done = [await desk.threads(_fence, claims, row, who, act.reason) for row in chosen]
        return Json({"node": node, "fenced": done})

    return routes


def _fence(claims: Claims, row: NodeRow, who: str, reason: str) -> View:
    proof = Proof(inc_id=row.inc_id, kind=ProofKind.HAND, by=who)
    done = claims.fence(row.inc_id, proof, reason)
    return {
        "incarnation": row.inc_id,
        "done": done.done,
        "why": done.why,
        "offered_again": list(done.claimed),
        "revoked": list(done.running),
    }


def nodes_view(authority: AuthorityRow, rows: list[NodeRow], me: str) -> View:
    """Return everything about the schedulers of one store."""
    over = [row for row in rows if row.fenced_at is not None][-KEPT:]
    shown = [row for row in rows if row.fenced_at is None] + over
    return {
        "authority": {
            "node": authority.node or None,
            "epoch": authority.epoch,
            "address": authority.address or None,
            "lease_s": _left(authority),
        },
        "nodes": [_node_view(row, me) for row in shown],
    }


def _left(row: AuthorityRow) -> float | None:
    if row.is_free or row.lease_until is None:
        return None
    return round((row.lease_until - row.now).total_seconds(), 3)


def _node_view(row: NodeRow, me: str) -> dict[str, Any]:
    return {
        "node": row.node,
        "incarnation": row.inc_id,
        "state": _state(row),
        "is_authority": row.is_authority and row.fenced_at is None,
        "is_me": row.inc_id == me,
        "tags": list(row.tags),
        "capacity": row.capacity,
        "claimed": row.claimed,
        "running": row.running,
        "address": row.address or None,
        "pid": row.pid,
        "started_at": instant(row.started_at),
        "heard_s_ago": round((row.now - row.renewed_at).total_seconds(), 3),
        "lease_s": round((row.lease_until - row.now).total_seconds(), 3),
        "reason": row.fence_reason,
    }


def _state(row: NodeRow) -> str:
    if row.fenced_at is not None:
        return "left" if row.fence_reason == "exit" else "fenced"
    if not row.lives:
        return "silent"
    if row.stopping:
        return "stopping"
    return "draining" if row.draining else "alive"


def _claims(desk: FrontDesk) -> Claims:
    claims = desk.host.claims
    if claims is None:
        mend = "name one with `store: postgresql+psycopg://…` in scheduler:"
        raise Conflict("this scheduler shares its store with nobody", mend=mend)
    return claims


def _only_admins(request: Request) -> str:
    caller = caller_of(request.scope)
    if not caller.role.covers(Role.ADMIN):
        raise Forbidden("forbidden", mend=f"this needs the role admin, and {caller.name} is {caller.role.value}")
    return caller.name


def _no_such_node(node: str) -> NotFound:
    return NotFound(f"there is no node {node[:100]}", mend="`pysched nodes` lists them")
