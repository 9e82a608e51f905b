"""What a main file says of this machine's place in a cluster: the `scheduler.cluster:` mapping with its defaults."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyscheduler.model.lease import Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """One scheduler among several on a shared store (DESIGN 6).

    `node` is this machine's name, empty for its host name; `tags` are what jobs may ask for with `node_tags`.
    `capacity` is how many attempts it runs at once, None for as many as `max_running`. `address` is where the others
    reach its API, as host:port or https://host:port, None where they cannot. `secret` is what they prove themselves
    with; a repr does not show it.
    """

    node: str = ""
    tags: tuple[str, ...] = ()
    capacity: int | None = None
    address: str | None = None
    secret: str | None = field(default=None, repr=False)
    timing: Timing = field(default_factory=Timing)
