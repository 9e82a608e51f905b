"""What one scheduler knows of the others: who is dead, and who has stood still for how long. Spec: claims.md C2, C3.

Everything is concluded in `rules/proof.py` and `rules/leases.py`; here the kernel is asked, and what was seen is kept
from one pass to the next for as long as the scheduler lives.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from pyscheduler.cluster.identity import HOST_VARIABLE, probe
from pyscheduler.rules.leases import Observer
from pyscheduler.rules.proof import Verdict, judge, prove
from pyscheduler.store.claims import AUTHORITY, AuthorityRow, Identity, NodeRow, Proof, Seen, Timing

log = logging.getLogger(__name__)

LOOKS: Final = 3
"""So many looks after the first are needed at least before a row has stood still, however long each of them takes."""


class Evidence:
    """See above. `boot` is the boot clock in seconds: how long this machine has been up."""

    def __init__(self, timing: Timing, boot: Callable[[], float]) -> None:
        self._boot = boot
        self._nodes = Observer(timing.observe_s, timing.observe_s / LOOKS)
        self._authority = Observer(timing.authority_observe_s, timing.authority_observe_s / LOOKS)
        self._cloned: set[str] = set()

    def proof_of_death(self, me: Identity, row: NodeRow) -> Proof | None:
        """Return P1 or P2 for a row that was just read, None where there is neither."""
        them = row.identity
        verdict = judge(
            them,
            row.renewed_at,
            me,
            probe(row.pid),
            db_now=row.now,
            uptime_s=self._boot(),
            cloned=self._cloned,
        )
        if verdict is Verdict.CLONED and them.host_id not in self._cloned:
            self._cloned.add(them.host_id)
            what = "two machines share the host id %s: no proof about it is believed until %s tells them apart"
            log.critical(what, them.host_id, HOST_VARIABLE)
        return prove(row.inc_id, verdict, me.inc_id)

    def saw(self, row: NodeRow, asked_at: float) -> Seen | None:
        """Note a row that was asked for at that instant; returns that it has stood still, once it has long enough."""
        self._nodes.saw(row.inc_id, row.hb_seq, asked_at, self._boot())
        return self._nodes.stood_still(row.inc_id)

    def keep(self, living: frozenset[str]) -> None:
        """Forget what was seen of all others: they are gone."""
        self._nodes.keep(living)

    def saw_authority(self, row: AuthorityRow, asked_at: float) -> Seen | None:
        """The same for the authority's row."""
        self._authority.saw(AUTHORITY, row.hb_seq, asked_at, self._boot(), epoch=row.epoch)
        return self._authority.stood_still(AUTHORITY)

    def forget(self) -> None:
        """A store operation failed: nothing seen before it counts."""
        self._nodes.failed()
        self._authority.failed()
