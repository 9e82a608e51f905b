"""From pending rows to messages that were taken: tries, waits, dead letters, replays, restarts. Spec: jobs.md 15.3."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from pyscheduler.alerts import AlertRoom, delivery
from pyscheduler.alerts.definition import Definition
from pyscheduler.alerts.delivery import AT_ONCE, IN_HAND, send
from pyscheduler.alerts.message import Message
from pyscheduler.config import Config
from pyscheduler.errors import Conflict, NotFound, StoreUnavailable, Unavailable
from pyscheduler.model.alert import Alert, AlertKind, Delivery, DeliveryStatus
from pyscheduler.store.questions import AlertQuery
from pyscheduler.testing import FakeResult
from tests.night import Night
from tests.receivers import hook
from tests.yard import until

JOBS = """
notifiers:
  ops: {type: log, path: a.log, retries: {count: 3, delay: 10s, max_delay: 30s}}
  team: {type: log, path: b.log, retries: {count: 0}}
routes:
  - {match: "alert.#", notify: [ops]}
jobs:
  a: {command: x, schedule: "* * * * *", catch_up: all, overlap: allow}
"""
FAILS = FakeResult(exit_code=1, duration=timedelta(seconds=1))


class Sent:
    """A sender that takes what it is told to take. `broken` holds what each notifier fails with, one a try."""

    def __init__(self) -> None:
        self.tries: list[tuple[str, str]] = []
        self.broken: dict[str, list[str]] = defaultdict(list)
        self.held = asyncio.Event()
        self.held.set()
        self.under_way = self.most = 0

    async def __call__(
        self, config: Config, definition: Definition, message: Message, on_end: Callable[[], None]
    ) -> str | None:
        self.tries.append((definition.name, message.fields["alert_id"]))
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await self.held.wait()
        self.under_way -= 1
        on_end()
        errors = self.broken[definition.name]
        return errors.pop(0) if errors else None


class Desk:
    """A night with an alert room."""

    def __init__(self, folder: Path, jobs: str = JOBS) -> None:
        self.night = Night(folder, jobs, at="2026-10-19T08:59:30Z")
        self.sent = Sent()
        self.registry = CollectorRegistry()
        self.room = AlertRoom(self.night.config(), self.night.clock, send_by=self.sent, registry=self.registry)

    async def begin(self) -> None:
        await self.night.__aenter__()
        self.room.attach(self.night.engine)

    async def quiet(self) -> None:
        """Wait until everything that can be sent now has been, and is written down."""
        for _ in range(3):
            await until(lambda: self.room.idle or self._waits(), "the room comes to rest")
            await self.night.engine.settle()

    def _waits(self) -> bool:
        """Whether all that is in hand waits for the clock."""
        lanes = self.room._lanes.values()
        return not self.room._posting and not self.sent.under_way and not any(lane._woken.is_set() for lane in lanes)

    async def raise_(self, count: int = 1, *, kind: AlertKind = AlertKind.FAILED) -> None:
        """Raise alerts of no run."""
        for number in range(count):
            alert = Alert(
                alert_id=f"x:{kind}:{number}",
                kind=kind,
                criticality="low",
                raised_at=self.night.clock.now() + timedelta(microseconds=number),
                message=f"number {number}",
            )
            self.night.engine.desk.alarms.raise_(alert)
        await self.night.engine.proceed()

    def deliveries(self, alert_id: str = "x:failed:0") -> list[tuple[str, str, int, str | None]]:
        told = self.night.engine.store.alert(alert_id)
        return (
            []
            if told is None
            else [(each.notifier, each.status.value, each.attempts, each.last_error) for each in told.deliveries]
        )

    async def becomes(self, *wanted: tuple[str, str, int, str | None], alert_id: str = "x:failed:0") -> None:
        await until(lambda: self.deliveries(alert_id) == list(wanted), f"{alert_id} becomes {wanted}")
        await until(lambda: self.night.engine.writer.idle)
        await self.night.engine.settle()  # whoever saved it has gone on, to its next wait


@pytest.fixture
async def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def closed(desk: Desk) -> None:
    await desk.night.engine.stop()
    await desk.room.close()


async def test_what_is_raised_is_sent_and_written_down(desk: Desk) -> None:
    await desk.begin()
    await desk.raise_()
    await desk.becomes(("ops", "sent", 1, None))
    assert desk.sent.tries == [("ops", "x:failed:0")]
    await closed(desk)


async def test_a_failed_try_is_repeated_after_waits_that_double(desk: Desk) -> None:
    """10 s, 20 s, then 30 s: max_delay. Each try's error stands in the row."""
    await desk.begin()
    desk.sent.broken["ops"] = ["no", "still no", "no again"]
    await desk.raise_()
    await desk.becomes(("ops", "pending", 1, "no"))
    for wait, row in ((10, ("ops", "pending", 2, "still no")), (20, ("ops", "pending", 3, "no again"))):
        await desk.night.clock.advance(timedelta(seconds=wait - 1))
        assert len(desk.sent.tries) == row[2] - 1
        await desk.night.clock.advance(timedelta(seconds=1))
        await desk.becomes(row)
    await desk.night.clock.advance(timedelta(seconds=30))
    await desk.becomes(("ops", "sent", 4, None))
    await closed(desk)


async def test_when_the_tries_are_spent_it_is_dead_and_a_replay_tries_again(desk: Desk) -> None:
    await desk.begin()
    desk.sent.broken["ops"] = ["no"] * 4
    await desk.raise_()
    for tries, wait in ((1, 10), (2, 20), (3, 30)):
        await desk.becomes(("ops", "pending", tries, "no"))
        await desk.night.clock.advance(timedelta(seconds=wait))
    await desk.becomes(("ops", "dead", 4, "no"))
    ((dead, told),) = desk.night.engine.store.dead_deliveries()
    assert (dead.notifier, told.alert.alert_id) == ("ops", "x:failed:0")
    with pytest.raises(Conflict, match="nothing of team is dead"):
        await desk.room.replay("x:failed:0", "team")
    again: list[Delivery] = await desk.room.replay("x:failed:0")
    assert [(each.notifier, each.status.value, each.attempts) for each in again] == [("ops", "pending", 0)]
    await desk.becomes(("ops", "sent", 1, None))
    with pytest.raises(Conflict, match="nothing is dead"):
        await desk.room.replay("x:failed:0")
    with pytest.raises(NotFound):
        await desk.room.replay("x:failed:77")
    await closed(desk)


async def test_the_log_is_told_of_many_like_failures_once(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """FC-094: a webhook that is down all night does not fill the daemon's log; each row has its own error."""
    caplog.set_level(logging.INFO, "pyscheduler.alerts")
    await desk.begin()
    desk.sent.broken["ops"] = ["down"] * 50 + ["other"]
    await desk.raise_(52)
    await desk.becomes(("ops", "sent", 1, None), alert_id="x:failed:51")
    said = [record.message for record in caplog.records if record.message.startswith("notifier ops")]
    assert said == [
        "notifier ops did not take x:failed:0: down; the same is not said again",
        "notifier ops did not take x:failed:50: other; the same is not said again",
        "notifier ops takes messages again, after 51 failed tries",
    ]
    await closed(desk)


async def test_a_notifier_that_is_gone_makes_its_rows_dead(desk: Desk) -> None:
    """The definition used is the one in force when a try begins; a reload mends what waits, or ends it."""
    await desk.begin()
    desk.sent.broken["ops"] = ["no"]
    await desk.raise_()
    await desk.becomes(("ops", "pending", 1, "no"))
    await desk.night.reload(JOBS.replace("ops", "new"))
    await desk.night.clock.advance(timedelta(seconds=10))
    await desk.becomes(("ops", "dead", 1, "notifier removed"))
    with pytest.raises(Conflict, match="notifier removed: ops"):
        await desk.room.replay("x:failed:0")
    await closed(desk)


async def test_a_restart_posts_what_is_pending_again_oldest_first(desk: Desk) -> None:
    """Every pending row, also those of a notifier that is not configured any more."""
    await desk.begin()
    desk.sent.held.clear()
    await desk.raise_(6)
    await until(lambda: desk.sent.under_way == AT_ONCE)
    await desk.night.crash()
    await desk.room._detach()
    await desk.room.close()
    first_lives_tries = len(desk.sent.tries)
    desk.sent = Sent()
    desk.room = AlertRoom(desk.night.config(), desk.night.clock, send_by=desk.sent)
    await desk.night.reopen()
    desk.room.attach(desk.night.engine)
    await desk.becomes(("ops", "sent", 1, None), alert_id="x:failed:5")
    await desk.quiet()
    assert desk.sent.tries == [("ops", f"x:failed:{number}") for number in range(6)]
    assert first_lives_tries == AT_ONCE, "four were under way, and come twice: at least once is the promise"
    await closed(desk)


async def test_alerts_of_the_start_itself_are_sent(desk: Desk) -> None:
    """What recovery raises is on disk before anybody listens; the lanes find it there."""
    desk.night.plan("a", FakeResult(duration=timedelta(hours=9)))
    await desk.begin()
    await desk.night.until("2026-10-19T09:00:10Z")
    await desk.night.crash()
    desk.night.launcher.lose("a.2026-10-19.1")
    await desk.night.reopen()
    desk.room.attach(desk.night.engine)
    await desk.becomes(("ops", "sent", 1, None), alert_id="a.2026-10-19.1:lost:1")
    await closed(desk)


async def test_four_at_once_and_a_stuck_one_holds_up_nobody_else(tmp_path: Path) -> None:
    """`ops` never answers; `team` gets its own at once."""
    desk = Desk(tmp_path, JOBS.replace("[ops]", "[ops, team]"))
    await desk.begin()
    held = asyncio.Event()
    quick = desk.sent

    async def slow_for_ops(
        config: Config, definition: Definition, message: Message, on_end: Callable[[], None]
    ) -> str | None:
        if definition.name == "ops":
            quick.most = max(quick.most, 1)
            stuck.append(message.fields["alert_id"])
            await held.wait()
        return await quick(config, definition, message, on_end)

    stuck: list[str] = []
    desk.room._send = slow_for_ops
    await desk.raise_(20)
    await until(lambda: len([name for name, _ in quick.tries if name == "team"]) == 20)
    await until(lambda: len(stuck) >= AT_ONCE)
    assert len(stuck) == AT_ONCE
    held.set()
    await desk.quiet()
    await until(lambda: len(quick.tries) == 40)
    await closed(desk)


async def test_many_are_sent_though_few_are_in_hand(desk: Desk) -> None:
    """A night of a thousand alerts costs memory for two hundred of them."""
    await desk.begin()
    desk.sent.held.clear()
    await desk.raise_(1000)
    await until(lambda: desk.sent.under_way == AT_ONCE)
    assert len(desk.room._lanes["ops"]._in_hand) <= IN_HAND
    desk.sent.held.set()
    await until(lambda: len(desk.sent.tries) == 1000, "all are sent")
    await desk.becomes(("ops", "sent", 1, None), alert_id="x:failed:999")
    assert len(set(desk.sent.tries)) == 1000
    assert desk.sent.most == AT_ONCE
    await closed(desk)


async def test_what_was_sent_while_the_store_had_failed_is_not_sent_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message is out, the row still says pending: the next engine writes it down and sends nothing."""
    await desk.begin()
    desk.sent.held.clear()
    await desk.raise_()
    await until(lambda: desk.sent.under_way == 1)
    desk.night.engine.fail_stop(StoreUnavailable("no room"))
    desk.sent.held.set()
    await until(lambda: not desk.sent.under_way)
    await desk.night.engine.stop()
    await desk.night.reopen()
    desk.room.attach(desk.night.engine)
    await until(lambda: desk.deliveries()[0][1] == "sent")
    assert len(desk.sent.tries) == 1
    await closed(desk)


async def test_a_send_that_never_ends_is_given_up_and_keeps_its_own_thread_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the notifier itself after `timeout`; the loop is free all the while, and the process can end."""
    monkeypatch.setattr(delivery, "GRACE_S", 60.0)
    with hook() as server:
        server.held.clear()
        definition = Definition(name="n", kind="webhook", options={"url": server.url}, folder=tmp_path, timeout_s=0.2)
        ended = asyncio.Event()
        night = Night(tmp_path, JOBS, at="2026-10-19T08:59Z")
        message = Message({"alert_id": "x"}, "x")
        assert await send(night.config(), definition, message, ended.set) == r"127.0.0.1 did not answer within 0.2 s"
        await ended.wait()
        assert all(thread.daemon for thread in threading.enumerate() if thread.name.startswith("alert "))
        night.engine.store.close()


async def test_an_error_is_shown_without_what_is_secret(tmp_path: Path) -> None:
    """Field case FC-082: a plug-in, or a server, may say anything."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:59Z")
    definition = Definition(
        name="n",
        kind="log",
        options={"path": "/no/s3cret-value/x", "password": "typed-in-clear"},
        folder=Path("/"),
        variables={"TOKEN": "s3cret-value"},
    )
    error = await send(night.config(), definition, Message({}, ""), lambda: None)
    assert error == "[Errno 2] No such file or directory: '/no/${TOKEN}/x'"
    night.engine.store.close()


async def test_a_test_message_is_sent_once_and_stored_nowhere(desk: Desk) -> None:
    with pytest.raises(Unavailable):
        await desk.room.test("ops", "ann")
    await desk.begin()
    assert await desk.room.test("ops", "ann") is None
    desk.sent.broken["team"] = ["no"]
    assert await desk.room.test("team", "ann") == "no"
    with pytest.raises(NotFound, match="there is no notifier nobody"):
        await desk.room.test("nobody", "ann")
    assert desk.night.engine.store.pending_notifiers() == []
    await closed(desk)


async def test_a_trouble_of_the_scheduler_is_told_once_and_so_is_its_end(desk: Desk) -> None:
    """By the routes of `scheduler_failed`, without a store: there may be none."""
    desk.room.scheduler_failed("no room on the disk")
    desk.room.scheduler_failed("no room on the disk")
    await until(lambda: len(desk.sent.tries) == 1)
    await desk.night.clock.advance(timedelta(minutes=5))
    desk.room.scheduler_works()
    desk.room.scheduler_works()
    await until(lambda: len(desk.sent.tries) == 2)
    assert [alert_id.split(":")[1] for _, alert_id in desk.sent.tries] == ["scheduler_failed", "recovered"]
    await desk.room.close()
    desk.night.engine.store.close()


async def test_a_trouble_of_the_scheduler_is_stored_once_its_store_is_back(desk: Desk) -> None:
    """Told from memory first; then it stands in the list like any other, sent, and nobody is told twice."""
    desk.room.scheduler_failed("no room on the disk")
    await until(lambda: len(desk.sent.tries) == 1)
    told = desk.sent.tries[0][1]
    await desk.night.clock.advance(timedelta(minutes=5))
    await desk.begin()
    desk.room.scheduler_works()
    await desk.becomes(("ops", "sent", 1, None), alert_id=told)
    await until(lambda: len(desk.sent.tries) == 2)
    await desk.becomes(("ops", "sent", 1, None), alert_id=desk.sent.tries[1][1])
    await until(lambda: desk.room.idle)
    assert [alert_id.split(":")[1] for _, alert_id in desk.sent.tries] == ["scheduler_failed", "recovered"]
    await closed(desk)


async def test_what_nobody_took_without_a_store_is_tried_on_with_one(desk: Desk) -> None:
    """The wait for the next try ends when a store is back; its row goes on counting where memory stopped."""
    desk.sent.broken["ops"] = ["no way out", "still none"]
    desk.room.scheduler_failed("no room on the disk")
    await until(lambda: len(desk.sent.tries) == 1)
    told = desk.sent.tries[0][1]
    await desk.begin()
    await desk.becomes(("ops", "pending", 2, "still none"), alert_id=told)
    await desk.night.clock.advance(timedelta(seconds=20))
    await desk.becomes(("ops", "sent", 3, None), alert_id=told)
    await closed(desk)


async def test_a_send_under_way_when_the_store_is_back_is_not_made_twice(desk: Desk) -> None:
    desk.sent.held.clear()
    desk.room.scheduler_failed("no room on the disk")
    await until(lambda: desk.sent.under_way == 1)
    told = desk.sent.tries[0][1]
    await desk.begin()
    await desk.raise_()
    await until(lambda: len(desk.sent.tries) == 2)
    assert desk.night.engine.store.alert(told) is None, "it is stored with what became of it"
    desk.sent.held.set()
    await desk.becomes(("ops", "sent", 1, None), alert_id=told)
    await desk.quiet()
    assert len(desk.sent.tries) == 2
    await closed(desk)


async def test_a_trouble_that_nobody_wants_to_hear_of_is_stored(tmp_path: Path) -> None:
    desk = Desk(tmp_path, JOBS.replace("alert.#", "alert.failed.#"))
    desk.room.scheduler_failed("no room on the disk")
    await desk.begin()
    await until(lambda: desk.room.idle)
    (told,) = desk.night.engine.store.alerts(AlertQuery()).items
    assert (told.alert.kind.value, told.deliveries) == ("scheduler_failed", ())
    await closed(desk)


async def test_a_store_that_fails_again_at_once_keeps_nothing_from_the_next(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The alert stays in memory until a store has it."""
    desk.room.scheduler_failed("no room on the disk")
    await until(lambda: len(desk.sent.tries) == 1)
    told = desk.sent.tries[0][1]
    await desk.night.__aenter__()
    desk.night.engine.writer.failed = StoreUnavailable("no room")
    desk.room.attach(desk.night.engine)
    await until(lambda: not desk.room._direct._attached.is_set())
    desk.night.engine.writer.failed = None
    await desk.night.engine.stop()
    await desk.night.reopen()
    desk.room.attach(desk.night.engine)
    await desk.becomes(("ops", "sent", 1, None), alert_id=told)
    assert len(desk.sent.tries) == 1
    await closed(desk)


@pytest.mark.parametrize("read", ["pending_deliveries", "pending_notifiers"])
async def test_what_cannot_be_read_now_is_read_a_little_later(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    """All readers were busy for once: the engine goes on, and so do the alerts of each notifier."""
    await desk.begin()
    await desk.quiet()
    desk.sent.broken["ops"] = ["no"]
    await desk.raise_()
    await desk.becomes(("ops", "pending", 1, "no"))
    await desk.night.engine.stop()
    await desk.night.reopen()
    store = desk.night.engine.store
    reads, failed = getattr(store, read), list[int]()

    def busy(*given: object) -> object:
        if not failed:
            failed.append(1)
            raise StoreUnavailable("all readers have been busy")
        return reads(*given)

    monkeypatch.setattr(store, read, busy)
    desk.room.attach(desk.night.engine)
    await until(lambda: bool(failed))
    await until(lambda: desk.night.clock.next_due() is not None)
    for _ in range(3):
        await desk.night.clock.advance(timedelta(seconds=5))
        await asyncio.sleep(0.05)
    await desk.becomes(("ops", "sent", 2, None))
    await closed(desk)


async def test_a_thread_that_cannot_be_started_keeps_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The try has failed, and the next one has its place: a machine that is full for a while ends no lane."""
    night = Night(tmp_path, JOBS, at="2026-10-19T08:59Z")
    definition = Definition(name="ops", kind="log", options={"path": "a.log"}, folder=tmp_path)

    def full(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", full)
    ended: list[int] = []
    error = await send(night.config(), definition, Message({"alert_id": "x"}, "x"), lambda: ended.append(1))
    assert (error, ended) == ("RuntimeError: can't start new thread", [1])
    monkeypatch.undo()
    night.engine.store.close()


async def test_an_engine_that_is_let_go_at_once_loses_no_alert(desk: Desk) -> None:
    """Who has waited for it comes too late, and waits for the next one."""
    desk.room.scheduler_failed("the disk is full")
    await until(lambda: len(desk.sent.tries) == 1)
    told = desk.sent.tries[0][1]
    await desk.night.__aenter__()
    desk.room._direct.attach(desk.night.engine)
    desk.room._direct.detach()
    await asyncio.sleep(0.05)
    desk.room.attach(desk.night.engine)
    await desk.becomes(("ops", "sent", 1, None), alert_id=told)
    await closed(desk)


async def test_what_is_told_is_counted(desk: Desk) -> None:
    """By kind when it is raised, by notifier and result when it is tried. No job's name is a label."""
    await desk.begin()
    desk.sent.broken["ops"] = ["no"]
    await desk.raise_(3)
    await desk.becomes(("ops", "sent", 1, None), alert_id="x:failed:2")
    count = desk.registry.get_sample_value
    assert count("pysched_alerts_total", {"kind": "failed"}) == 3
    assert count("pysched_alerts_total", {"kind": "stale"}) == 0
    assert count("pysched_alert_tries_total", {"notifier": "ops", "result": "failed"}) == 1
    assert count("pysched_alert_tries_total", {"notifier": "ops", "result": "sent"}) == 2
    assert desk.night.engine.store.delivery_counts() == {DeliveryStatus.PENDING: 1, DeliveryStatus.DEAD: 0}
    await closed(desk)
