"""Alerts in the store: raised once, told of to whom they were raised for, listed, given up, gone with their runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.errors import BadRequest
from pyscheduler.model.alert import Alert, AlertKind, Delivery, DeliveryStatus, Raised
from pyscheduler.store import Batch, Store
from pyscheduler.store.questions import AlertQuery
from tests.contract.store_kit import DAY, EVERY_STORE, NOON, OpenAgain, a_run, every_opener


@pytest.fixture(params=EVERY_STORE)
def open_again(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAgain]:
    with every_opener(request, tmp_path, monkeypatch) as again:
        yield again


def an_alert(name: str = "a", minute: int = 0, **fields: Any) -> Alert:
    given: dict[str, Any] = {"kind": AlertKind.FAILED, "criticality": "normal", "message": f"about {name}"}
    return Alert(alert_id=name, raised_at=NOON + timedelta(minutes=minute), **(given | fields))


def deliveries(store: Store, alert_id: str) -> list[tuple[str, str]]:
    told = store.alert(alert_id)
    assert told is not None
    return [(each.notifier, each.status.value) for each in told.deliveries]


def test_what_is_saved_is_read_back_whole(open_again: OpenAgain) -> None:
    """With a pending delivery for each notifier, also by the next process."""
    run = a_run()
    alert = an_alert(
        "x:failed:2", job=run.job, run_id=run.run_id, run_date=DAY, attempt=2, detail={"reason": "exit 1", "n": [1]}
    )
    open_again().apply(Batch(runs=(run,), alerts=(Raised(alert, ("ops", "team")), Raised(an_alert("b", 1)))))
    open_again.close()
    store = open_again()
    told = store.alert("x:failed:2")
    assert told is not None
    assert told.alert == alert
    pending: dict[str, Any] = {"status": DeliveryStatus.PENDING, "updated_at": NOON}
    assert told.deliveries == tuple(
        Delivery(alert_id="x:failed:2", notifier=name, **pending) for name in ("ops", "team")
    )
    assert [each.alert for each in store.alerts_of_run(run.run_id)] == [alert]
    assert store.alert("b") is not None
    assert store.alert("nothing") is None


def test_the_same_id_is_raised_once_and_brings_nobody_new(open_again: OpenAgain) -> None:
    """The first stays as it was: its words, its instant, those it is for, whether sent or not."""
    store = open_again()
    store.apply(Batch(alerts=(Raised(an_alert(), ("ops",)),)))
    store.apply(Batch(alerts=(Raised(an_alert(minute=5, message="again"), ("ops", "team")),)))
    told = store.alert("a")
    assert told is not None
    assert (told.alert.message, told.alert.raised_at) == ("about a", NOON)
    assert deliveries(store, "a") == [("ops", "pending")]
    one, two = Batch(alerts=(Raised(an_alert("m"), ("x",)),)), Batch(alerts=(Raised(an_alert("m", 1), ("y",)),))
    store.apply(one.merge(two))
    assert deliveries(store, "m") == [("x", "pending")], "merged or one after the other is the same"


def test_what_became_of_a_delivery_is_written_down(open_again: OpenAgain) -> None:
    store = open_again()
    store.apply(Batch(alerts=(Raised(an_alert(), ("ops", "team")),)))
    failed = Delivery(
        alert_id="a",
        notifier="ops",
        status=DeliveryStatus.DEAD,
        updated_at=NOON + timedelta(hours=1),
        attempts=6,
        last_error="no",
    )
    store.apply(Batch(deliveries=(failed,)))
    assert deliveries(store, "a") == [("ops", "dead"), ("team", "pending")]
    ((dead, told),) = store.dead_deliveries()
    assert (dead, told.alert.alert_id) == (failed, "a")
    stranger = Delivery(alert_id="gone", notifier="x", status=DeliveryStatus.SENT, updated_at=NOON)
    store.apply(Batch(deliveries=(stranger,)))
    assert store.alert("gone") is None, "a change makes no row"


def test_what_is_pending_comes_oldest_first_without_what_is_in_hand(open_again: OpenAgain) -> None:
    store = open_again()
    raised = [Raised(an_alert(f"n{minute}", minute), ("ops",)) for minute in (3, 1, 2)]
    store.apply(Batch(alerts=(*raised, Raised(an_alert("other"), ("team",)))))
    assert [each.alert_id for each, _ in store.pending_deliveries("ops")] == ["n1", "n2", "n3"]
    assert [each.alert_id for each, _ in store.pending_deliveries("ops", 1, {"n1/ops"})] == ["n2"]
    assert store.pending_deliveries("nobody") == []
    assert store.pending_notifiers() == ["ops", "team"]


def test_the_list_is_newest_first_in_pages_with_filters(open_again: OpenAgain) -> None:
    """Ties by id; every alert is on one page, whatever the page's size."""
    store = open_again()
    alerts = [
        an_alert(
            f"x{number:02}:{number % 3}",
            number // 4,
            kind=(AlertKind.FAILED, AlertKind.LOST)[number % 2],
            job=f"job{number % 5}",
        )
        for number in range(50)
    ]
    store.apply(Batch(alerts=tuple(map(Raised, alerts))))
    newest = sorted(alerts, key=lambda each: (each.raised_at, each.alert_id), reverse=True)
    for limit in (1, 7, 50, 1000):
        found, cursor, pages = [], None, 0
        while pages == 0 or cursor is not None:
            page = store.alerts(AlertQuery(limit=limit, cursor=cursor))
            found += [told.alert for told in page.items]
            cursor, pages = page.next_cursor, pages + 1
        assert found == newest

    def listed(**asked: Any) -> list[Alert]:
        return [told.alert for told in store.alerts(AlertQuery(limit=1000, **asked)).items]

    assert listed(kind=AlertKind.LOST) == [each for each in newest if each.kind is AlertKind.LOST]
    assert listed(job="job3") == [each for each in newest if each.job == "job3"]
    since = NOON + timedelta(minutes=6)
    assert listed(since=since) == [each for each in newest if each.raised_at >= since]
    assert listed(job="nobody") == []


@pytest.mark.parametrize("cursor", ["", "x", "1~", "1~a b", "1~é", "99999999999999999999~a", "1~a\x00"])
def test_a_cursor_that_is_none_is_refused(open_again: OpenAgain, cursor: str) -> None:
    with pytest.raises(BadRequest):
        open_again().alerts(AlertQuery(cursor=cursor))


def test_alerts_go_with_their_run_or_with_their_age(open_again: OpenAgain) -> None:
    store, run = open_again(), a_run()
    about_run = an_alert("of-run", run_id=run.run_id)
    alerts = (Raised(about_run, ("ops",)), Raised(an_alert("old"), ("ops",)), Raised(an_alert("new", 10), ("ops",)))
    store.apply(Batch(runs=(run,), alerts=alerts))
    store.apply(Batch(alerts_before=NOON + timedelta(minutes=5)))
    assert [told.alert.alert_id for told in store.alerts(AlertQuery()).items] == ["new", "of-run"]
    store.apply(Batch(deleted_runs=(run.run_id,)))
    assert [told.alert.alert_id for told in store.alerts(AlertQuery()).items] == ["new"]
    assert [each.alert_id for each, _ in store.pending_deliveries("ops")] == ["new"]
    late = Batch(alerts=(Raised(about_run, ("ops",)),)).merge(Batch(deleted_runs=(run.run_id,)))
    assert late.alerts == ()


def test_odd_bytes_do_not_stop_a_commit(open_again: OpenAgain) -> None:
    store = open_again()
    store.apply(Batch(alerts=(Raised(an_alert(message="a\udcff", detail={"reason": "b\udcff"}), ("ops",)),)))
    told = store.alert("a")
    assert told is not None
    assert (told.alert.message, told.alert.detail) == ("a?", {"reason": "b?"})
