"""Throwing away runs that are long over, where `tick` and `work` keep the store: once an hour. Spec: jobs.md 8.3.

What must always hold: it holds nothing up. What is due was made before, a pass removes some thousands at most, and what
cannot be removed now is removed by a later pass. Ages go by the database's clock.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from pyscheduler.errors import AuthorityLost, StoreError
from pyscheduler.rules.numbering import GIVEN, Given
from pyscheduler.store.claims import Claims

log = logging.getLogger(__name__)

EVERY: Final = timedelta(hours=1)
AT_ONCE: Final = 500
MOST: Final = 10_000
"""Runs that one pass removes."""
ANY_ZONE: Final = timedelta(days=1)
"""A run date is over everywhere a day after it is over in UTC."""


def prune_if_due(claims: Claims, epoch: int, retention_s: float, pass_at: datetime, last: datetime | None) -> int:
    """Remove what is older than the retention, unless a pass has done it within the hour; returns how many runs."""
    if last is not None and last <= pass_at < last + EVERY:
        return 0
    count = 0
    try:
        horizon = claims.now() - timedelta(seconds=retention_s)
        before = (horizon - ANY_ZONE).date()

        def remember(kept: str | None, gone: Sequence[str]) -> tuple[str, str]:
            given = Given.remembered({} if kept is None else {GIVEN: kept})
            return GIVEN, given.with_pruned(before, gone).to_text()

        while count < MOST:
            gone = claims.prune(epoch, before, horizon, AT_ONCE, pass_at=pass_at, remember=remember)
            count += len(gone)
            if len(gone) < AT_ONCE:
                break
    except AuthorityLost:
        log.debug("another scheduler leads now: it goes on removing what is old")
    except StoreError as error:
        log.warning("old runs cannot be removed now: %s; a later pass tries again", error)
    if count:
        log.info("%d run(s) older than the retention were removed", count)
    return count
