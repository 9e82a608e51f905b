"""The schedulers that share a store."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pyscheduler.api.shapes.base import Shape


class Authority(Shape):
    """Who leads; `node` None where nobody does."""

    node: str | None
    epoch: int
    address: str | None
    lease_s: float | None


class Node(Shape):
    """One life of one scheduler process. Lengths are seconds by the database's clock."""

    node: str
    incarnation: str
    state: Literal["alive", "draining", "stopping", "silent", "fenced", "left"]
    is_authority: bool
    is_me: bool
    tags: list[str]
    capacity: int
    claimed: int
    running: int
    address: str | None
    pid: int | None
    started_at: datetime
    heard_s_ago: float
    lease_s: float
    reason: str


class Nodes(Shape):
    """All of them."""

    authority: Authority
    nodes: list[Node]


class Drained(Shape):
    """What a drain, or its undoing, concerned."""

    node: str
    draining: bool
    incarnations: list[str]


class HandedOver(Shape):
    """Who stops leading, and the epoch that ends with it."""

    node: str
    epoch: int


class FencedOne(Shape):
    """What became of one incarnation."""

    incarnation: str
    done: bool
    why: str
    offered_again: list[str]
    revoked: list[str]


class Fenced(Shape):
    """What a fence has taken away."""

    node: str
    fenced: list[FencedOne]
