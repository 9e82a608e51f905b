"""CLAIMS: who may start what, on a store that many schedulers share. `Claims` is the one way in. Spec: claims.md C.

What must always hold: a run is granted by one statement, to one incarnation, under a token that is never used again;
whatever comes later from anybody else changes nothing. `facade.py` says it all, `shapes.py` what goes in and out.
"""

from pyscheduler.model.lease import (
    AUTHORITY,
    MAX_LOST,
    Identity,
    OnLost,
    Proof,
    ProofKind,
    Seen,
    Timing,
)
from pyscheduler.store.claims.door import Door, Transaction
from pyscheduler.store.claims.facade import Claims
from pyscheduler.store.claims.guarded import AuthorityLost
from pyscheduler.store.claims.shapes import (
    Applied,
    AuthorityRow,
    Beat,
    Cancelled,
    Claim,
    Fenced,
    Held,
    Marks,
    NodeRow,
    Occurrence,
    Offer,
    Owned,
    Report,
    Start,
    Watermark,
)

__all__ = [
    "AUTHORITY",
    "MAX_LOST",
    "Applied",
    "AuthorityLost",
    "AuthorityRow",
    "Beat",
    "Cancelled",
    "Claim",
    "Claims",
    "Door",
    "Fenced",
    "Held",
    "Identity",
    "Marks",
    "NodeRow",
    "Occurrence",
    "Offer",
    "OnLost",
    "Owned",
    "Proof",
    "ProofKind",
    "Report",
    "Seen",
    "Start",
    "Timing",
    "Transaction",
    "Watermark",
]
