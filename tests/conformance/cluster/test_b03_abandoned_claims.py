"""B3: who lives long notices when a claim is abandoned (claims.md B3). On SQLite too, there by proof of death."""

from __future__ import annotations

from tests.conformance.cluster.kit import World, numbers, task, until


def abandon(world: World, host: str) -> None:
    """Let a scheduler of that host die with 00:01 claimed and not started."""
    hand = world.hand(task("job", world.command()), host=host, hook=str(world.folder / "hook"))
    hand.do("tick")
    until(lambda: (world.folder / "hook-called-job.2027-05-20.1").exists(), "it has the claim")
    hand.kill()
    assert [(row.state, row.token) for row in world.runs()] == [("queued", 1)]


def test_only_time_passes_and_the_run_is_made(two_hosts: World) -> None:
    """A dies on another host: B, one object that ticks all the while, runs the run once its lease is over."""
    world = two_hosts
    b = world.scheduler(world.minutely())
    b.tick()
    world.at(1)
    abandon(world, "there")
    assert numbers(b.tick()) == (0, 0, 0)
    until(lambda: b.tick().started == 1, "B runs it")
    assert world.tokens() == [("job.2027-05-20.1", 3)]
    assert world.lines("lost_claimed") == ["job.2027-05-20.1"]


def test_a_claim_of_a_dead_process_here_is_taken_at_once(world: World) -> None:
    """On one host nobody need wait for a lease: the process is gone."""
    b = world.scheduler(world.minutely())
    b.tick()
    world.at(1)
    abandon(world, "here")
    assert numbers(b.tick()) == (1, 0, 0)
    assert world.tokens() == [("job.2027-05-20.1", 3)]


def test_a_worker_takes_it_while_it_works(two_hosts: World) -> None:
    """The loop looks again by itself."""
    world = two_hosts
    b = world.hand(task("job", world.command()), host="here")
    b.ask("tick")
    world.at(1)
    abandon(world, "there")
    b.do("work", sleep=0.1)
    until(lambda: world.effects("end"), "B runs it")
    b.do("stop")
    assert b.answer()["started"] == 1
