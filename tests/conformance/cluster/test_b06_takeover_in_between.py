"""B6: who was robbed of a claim while it slept does not start it (claims.md B6).

Not on SQLite: there all schedulers are on one host, and one that is stopped may hold `store.lock`, so that the others
wait for it instead of taking anything over.
"""

from __future__ import annotations

import signal

from tests.conformance.cluster.kit import World, task, until


def test_a_claim_lost_in_the_meantime_is_refused_at_its_start(two_hosts: World) -> None:
    """A is stopped between claim and start, B runs the run, A goes on: one execution, and a line that says so."""
    world = two_hosts
    a = world.hand(task("job", world.command()), host="there", hook=str(world.folder / "hook"))
    a.ask("tick")
    world.at(1)
    a.do("tick")
    until(lambda: (world.folder / "hook-called-job.2027-05-20.1").exists(), "A has the claim")
    world.stop(a)
    b = world.scheduler(world.minutely())
    until(lambda: b.tick().started == 1, "B has run it")
    (world.folder / "hook-go").touch()
    a.process.send_signal(signal.SIGCONT)
    answer = a.answer()
    assert (answer["started"], answer["refused"]) == (0, 1)
    assert world.tokens() == [("job.2027-05-20.1", 3)]
    assert world.states() == ["succeeded"]
    assert world.lines("start_refused") == ["job.2027-05-20.1"]
    assert "no longer this scheduler's to start" in a.log()
