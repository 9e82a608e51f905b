"""Field cases about telling people: the same failure every minute, silence that looks green, secrets, odd bytes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from pyscheduler.alerts import AlertRoom
from pyscheduler.alerts.definition import Definition
from pyscheduler.alerts.message import Message
from pyscheduler.config import Config
from pyscheduler.store.questions import AlertQuery
from pyscheduler.testing import FakeResult
from tests.night import Night
from tests.yard import until

WAYS = """
notifiers:
  ops: {type: log, path: a.log, retries: {count: 20, delay: 1m, max_delay: 1m}}
routes:
  - {match: "alert.#", notify: [ops]}
"""
EACH_MINUTE = (
    WAYS
    + """
jobs:
  poll: {command: x, schedule: "* * * * *", overlap: allow, alerts: {repeat_after: 24h}}
"""
)
S = FakeResult(duration=timedelta(seconds=5))
F = FakeResult(duration=timedelta(seconds=5), exit_code=1)
OTHER = FakeResult(duration=timedelta(seconds=5), exit_code=28)


class Mailbox:
    """Takes messages, but for the tries during `broken_until`."""

    def __init__(self) -> None:
        self.taken: list[Message] = []
        self.works = True

    async def __call__(
        self, config: Config, definition: Definition, message: Message, on_end: Callable[[], None]
    ) -> str | None:
        on_end()
        if not self.works:
            return "out of reach"
        self.taken.append(message)
        return None

    @property
    def kinds(self) -> list[str]:
        return [message.fields["kind"] for message in self.taken]


async def go(night: Night, room: AlertRoom, by: timedelta) -> None:
    """Move on a minute at a time, so that what is due to be sent is sent on the way."""
    for _ in range(by // timedelta(minutes=1)):
        await night.go(timedelta(minutes=1))
        await until(lambda: not room._posting and not any(lane._woken.is_set() for lane in room._lanes.values()))
        await night.engine.settle()


async def test_fc_094_the_same_failure_every_minute_is_told_once(tmp_path: Path) -> None:
    """Three hours of failure, a new one, flapping, the end; a restart at +1 h; no way out for the first 15 minutes."""
    night = Night(tmp_path, EACH_MINUTE, at="2026-10-19T08:59:30Z")
    flapping = [S, F] * 10
    night.plan("poll", *[F] * 180, OTHER, *flapping, *[S] * 60)
    box = Mailbox()
    box.works = False
    room = AlertRoom(night.config(), night.clock, send_by=box)
    async with night:
        room.attach(night.engine)
        await go(night, room, timedelta(minutes=15))
        assert box.taken == []
        box.works = True
        await go(night, room, timedelta(minutes=45))
        (first,) = box.taken
        assert first.fields["alert_id"] == "poll.2026-10-19.1:failed:1"
        assert 13 <= first.fields["repeats"] <= 16, "the count so far"
        await night.restart()
        room.attach(night.engine)
        await go(night, room, timedelta(minutes=120))
        assert box.kinds == ["failed"], "the restart repeats nothing"
        await go(night, room, timedelta(minutes=1))
        await until(lambda: box.kinds == ["failed", "failed"], "the new failure is told at once")
        assert box.taken[1].fields["detail"]["reason"] == "exit 28"
        await go(night, room, timedelta(minutes=20))
        await until(lambda: box.kinds[2:] == ["recovered", "failed"], "flapping is two messages")
        await go(night, room, timedelta(minutes=30))
        await until(lambda: box.kinds[4:] == ["recovered"], "its end is told")
        outage = box.taken[4].fields["detail"]["outage_seconds"]
        assert 17 * 60 <= outage <= 21 * 60, "since the relapse"
        assert box.taken[2].fields["detail"]["outage_seconds"] == 181 * 60
        runs = [run for run in night.runs("poll") if run.state.value == "failed"]
        assert len(runs) == 191, "whatever was told, the history is whole"
        alerts = night.engine.store.alerts(AlertQuery(limit=1000)).items
        assert len([told for told in alerts if told.alert.kind.value == "failed"]) == 191
        assert len([told for told in alerts if told.alert.detail.get("held_back")]) == 191 - 3
    await room.close()


async def test_fc_094_what_goes_wrong_with_telling_changes_no_run(tmp_path: Path) -> None:
    """A sender that breaks is visible in its delivery, and nowhere else."""
    night = Night(tmp_path, WAYS + 'jobs: {a: {command: x, schedule: "* * * * *"}}\n', at="2026-10-19T08:59:30Z")
    night.plan("a", F, S)

    async def broken(
        config: Config, definition: Definition, message: Message, on_end: Callable[[], None]
    ) -> str | None:
        on_end()
        tries.append(message.fields["alert_id"])
        raise RuntimeError("our bug")

    tries: list[str] = []

    room = AlertRoom(night.config(), night.clock, send_by=broken)
    async with night:
        room.attach(night.engine)
        await night.until("2026-10-19T09:02Z")
        await until(lambda: tries and room.idle)
        assert night.engine.error is None
        assert tries == ["a.2026-10-19.1:failed:1"], "it is not tried for ever"
        assert [run.state.value for run in night.runs("a")][:2] == ["failed", "succeeded"]
    await room.close()


async def test_fc_072_a_hung_run_with_all_others_skipped_is_told_once(tmp_path: Path) -> None:
    """Run 5 hangs, every later one is skipped, nothing ever fails: one alert, ten minutes after the last success."""
    jobs = WAYS + 'jobs: {a: {command: x, schedule: "* * * * *", overlap: skip, max_silence: 10m}}\n'
    night = Night(tmp_path, jobs, at="2026-10-19T08:59:30Z")
    quick = FakeResult(duration=timedelta(seconds=5))
    night.plan("a", *[quick] * 4, FakeResult(duration=timedelta(days=3)))
    async with night:
        await night.until("2026-10-19T09:12:50Z")
        assert night.engine.store.alerts(AlertQuery()).items == ()
        await night.until("2026-10-19T12:00Z")
        (told,) = night.engine.store.alerts(AlertQuery()).items
        assert told.alert.kind.value == "stale"
        assert told.alert.raised_at.isoformat() == "2026-10-19T09:13:05+00:00"
        skipped = [run for run in night.runs("a") if run.reason == "skipped: overlap"]
        assert len(skipped) > 150
