"""The keys of `scheduler.cluster:`, and what of them holds together. DESIGN 6, claims.md C3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from pyscheduler.config.complaints import Spot
from pyscheduler.config.fields import AtLeastOne, Length, Name, NodeAddress
from pyscheduler.config.jobs import Draft
from pyscheduler.config.reading import Value
from pyscheduler.config.schema_job import Shape, key
from pyscheduler.config.values import BadValue
from pyscheduler.model.cluster import ClusterSettings
from pyscheduler.model.job import OnUncertain, RebootSpec, Settings
from pyscheduler.model.lease import Timing
from pyscheduler.rules.leases import timing

LEAST_SECRET: Final = 16
"""Characters of a cluster's secret: it opens every node's logs and acts in everybody's name."""


def _secret(text: str) -> str:
    if len(text) < LEAST_SECRET:
        raise BadValue(
            f"is shorter than {LEAST_SECRET} characters", "make one with `openssl rand -hex 32`, the same on every node"
        )
    return text


Secret = Annotated[str, Value(_secret, {"type": "string", "examples": ["${CLUSTER_SECRET}"]})]

TIMES: Final = (
    "heartbeat",
    "lease",
    "margin",
    "kill_grace",
    "observe",
    "sweep",
    "authority_lease",
    "authority_heartbeat",
    "authority_observe",
    "reclaim_after",
)


class ClusterKeys(Shape):
    """The place of one scheduler among those that share a PostgreSQL store."""

    node: Name | None = key("This machine's name for jobs and people; else its host name.", examples=["batch1"])
    node_tags: list[Name] | None = key("What this machine has that jobs may ask for.", examples=[["gpu", "licence"]])
    capacity: AtLeastOne | None = key("How many attempts run here at once; else as many as max_running.")
    address: NodeAddress | None = key("Where the other nodes reach this one's API; else `listen`.")
    secret: Secret | None = key("What the nodes prove themselves to each other with; the same on all of them.")
    heartbeat: Length | None = key("How often a node says that it lives.", default="5s")
    lease: Length | None = key("How long a node's word holds: after it nothing new is begun there.", default="45s")
    margin: Length | None = key("A node stops beginning so long before its lease is over.", default="10s")
    kill_grace: Length | None = key("What a fenced node's attempts get to end.", default="5s")
    observe: Length | None = key("How long a lease must have been seen to stand still.", default="15s")
    sweep: Length | None = key("How often lost nodes are looked for.", default="5s")
    authority_lease: Length | None = key("How long the authority's word holds.", default="15s")
    authority_heartbeat: Length | None = key("How often the authority renews it.", default="3s")
    authority_observe: Length | None = key("How long it must have been seen to stand still.", default="9s")
    reclaim_after: Length | None = key(
        "A node that was silent for so long, and of which nothing can be proved, loses its started attempts.",
        default="1d",
    )


def cluster_settings(given: Mapping[str, Any], spot: Spot | None) -> ClusterSettings:
    """Return what the mapping's keys make; times that do not hold together are complained about at `spot`."""
    return ClusterSettings(
        node=given.get("node", ""),
        tags=tuple(dict.fromkeys(given.get("node_tags", ()))),
        capacity=given.get("capacity"),
        address=given.get("address"),
        secret=given.get("secret"),
        timing=_timing(
            {name: given[name] for name in TIMES if name in given}, spot.error if spot is not None else None
        ),
    )


_OF_A_CLUSTER: Final = {
    "node": "places it on a node of a cluster",
    "node_tags": "places it on a node of a cluster",
    "reclaim_after": "says when its attempts are taken from a silent node",
    "on_uncertain": "ends its attempts with the lease of their node",
}
"""What job keys do that mean something only where schedulers share a store."""
_FIELD: Final = {"reclaim_after": "reclaim_after_s"}


def check_nodes(drafts: Mapping[str, Draft], settings: Settings) -> None:
    """Complain of jobs that are placed on nodes where the store is one machine's own, and of boots where it is shared.

    A boot is one machine's: whichever leads would take its own for everybody's.
    """
    for draft in drafts.values():
        if settings.store is not None and any(isinstance(spec, RebootSpec) for spec in draft.job.schedules):
            what = "fires when a machine boots, and on a shared store nobody can say which machine that is"
            draft.spot.error(("schedule",), what, "let a unit of that machine run `pysched trigger`", at_key=True)
        for name, what in _OF_A_CLUSTER.items() if settings.store is None else ():
            if getattr(draft.job, _FIELD.get(name, name)) not in (None, (), OnUncertain.CONTINUE):
                what += ", and this store is not shared"
                draft.spot.error((name,), what, "name one with `store: postgresql+psycopg://…`", at_key=True)


def _timing(said: Mapping[str, float], complain: Callable[..., None] | None) -> Timing:
    try:
        return timing(**said)
    except ValueError as error:
        if complain is not None:
            complain((), str(error).rstrip("."), "leave the others out: their defaults follow")
        return Timing()
