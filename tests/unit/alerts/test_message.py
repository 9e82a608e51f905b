"""What a notifier is given: one line, and JSON that every receiver can read."""

from __future__ import annotations

import json

from pyscheduler.alerts.message import message_of, one_line
from pyscheduler.alerts.message import test_message as message_of_a_test
from pyscheduler.model.alert import Alert, AlertKind
from tests.builders import DAY, NOON


def an_alert(message: str = "load failed: exit 1", **detail: object) -> Alert:
    return Alert(
        alert_id="load.2027-05-20.1:failed:1",
        kind=AlertKind.FAILED,
        criticality="high",
        raised_at=NOON,
        message=message,
        job="load",
        run_id="load.2027-05-20.1",
        run_date=DAY,
        attempt=1,
        detail=detail,
    )


def test_the_json_says_all_of_it() -> None:
    message = message_of(an_alert(reason="exit 1"), "night")
    assert json.loads(message.body) == {
        "alert_id": "load.2027-05-20.1:failed:1",
        "kind": "failed",
        "criticality": "high",
        "job": "load",
        "run_id": "load.2027-05-20.1",
        "run_date": "2027-05-20",
        "attempt": 1,
        "raised_at": "2027-05-20T12:00:00Z",
        "message": "load failed: exit 1",
        "scheduler": "night",
        "repeats": 0,
        "detail": {"reason": "exit 1"},
    }
    assert message.line == "[high] load failed: exit 1"


def test_fc_048_odd_bytes_become_text_that_everybody_reads() -> None:
    """Lone surrogates, control characters and line breaks of a reason neither break JSON nor begin a second line."""
    message = message_of(an_alert("load failed:\r\nBcc: x\x1b[31m \udcff end", reason="a\udcffb"), "night")
    assert message.line == "[high] load failed: Bcc: x [31m ? end"
    assert json.loads(message.body)["detail"]["reason"] == "a?b"


def test_repeats_are_counted_in_words_too() -> None:
    message = message_of(an_alert(), "night", 14)
    assert message.fields["repeats"] == 14
    assert message.line.endswith("exit 1 (and 14 times more since)")


def test_a_line_is_bounded() -> None:
    assert len(message_of(an_alert("x" * 5000), "night").line) < 1100
    assert one_line("a \t\n b") == "a b"


def test_a_test_says_that_it_is_one() -> None:
    message = message_of_a_test("ops", "ann", "night", NOON)
    assert message.fields["kind"] == "test"
    assert message.line == "[low] a test of notifier ops by ann: nothing is wrong"
