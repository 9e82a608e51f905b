"""What is remembered of grants under which something may have been executed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.cluster.opened import KEPT_S, Grant, Opened

Step = tuple[set[Grant], frozenset[Grant], float]
ALL: list[Grant] = [(f"job.2027-05-20.{number}", 1) for number in range(4)]
STEPS = st.tuples(st.sets(st.sampled_from(ALL)), st.frozensets(st.sampled_from(ALL)), st.floats(0, 2 * KEPT_S))


def test_a_long_life_does_not_remember_every_run() -> None:
    """A node that starts a run a second for a day keeps those of some minutes."""
    now = 0.0
    opened = Opened(lambda: now)
    for second in range(86_400):
        now = float(second)
        opened.add((f"job.2027-05-20.{second}", 1))
        if second % 60 == 0:
            opened.keep(frozenset())
    assert len(opened) <= KEPT_S + 60


@given(st.lists(STEPS, max_size=20))
def test_what_is_ours_or_was_a_moment_ago_is_remembered_and_nothing_else(steps: list[Step]) -> None:
    """At every look, whatever came before."""
    now = 0.0
    opened = Opened(lambda: now)
    known: dict[Grant, float] = {}
    for added, owned, passes in steps:
        for grant in added:
            opened.add(grant)
            known[grant] = now
        opened.keep(owned)
        known = {grant: now if grant in owned else since for grant, since in known.items()}
        known = {grant: since for grant, since in known.items() if now - since < KEPT_S}
        assert {grant for grant in ALL if grant in opened} == known.keys()
        now += passes
