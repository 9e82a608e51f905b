"""What people were told, and another try."""

from __future__ import annotations

import json

from tests.unit.cli.prompt import Prompt

ALERT = {
    "alert_id": "load.2027-05-20.1:failed:1",
    "kind": "failed",
    "criticality": "high",
    "job": "load",
    "run_id": "load.2027-05-20.1",
    "run_date": "2027-05-20",
    "attempt": 1,
    "raised_at": "2027-05-20T01:00:02Z",
    "message": "load.2027-05-20.1 failed: exit 1",
    "scheduler": "night",
    "detail": {},
    "deliveries": [
        {"notifier": "book", "status": "sent", "attempts": 1, "last_error": None, "updated_at": "2027-05-20T01:00:03Z"},
        {"notifier": "ops", "status": "dead", "attempts": 6, "last_error": "no", "updated_at": "2027-05-20T01:20:00Z"},
    ],
}
RELOAD = ALERT | {"alert_id": "_scheduler:reload_failed:x", "kind": "reload_failed", "job": None, "run_id": None}
RELOAD |= {"deliveries": [], "message": "reload refused"}


def test_the_list_shows_the_worst_delivery(pysched: Prompt) -> None:
    """`none` where nobody is told; times are the scheduler's own."""
    pysched.scheduler.replies = {"GET /api/alerts": {"alerts": [ALERT, RELOAD], "next_cursor": None}}
    said = pysched("alerts", "--kind", "failed", "--since", "yesterday")
    assert said.out.splitlines() == [
        "RAISED                     KIND           CRIT  JOB   RUN                STATUS  MESSAGE",
        f"2027-05-20 03:00:02+02:00  failed         high  load  load.2027-05-20.1  dead    {ALERT['message']}",
        "2027-05-20 03:00:02+02:00  reload_failed  high  -     -                  none    reload refused",
    ]
    assert pysched.scheduler.asked[0][1] == {"kind": "failed", "since": "2027-05-18T22:00:00Z", "limit": 51}


def test_nothing_and_more_than_asked_for_are_said(pysched: Prompt) -> None:
    pysched.scheduler.replies = {"GET /api/alerts": {"alerts": [], "next_cursor": None}}
    assert pysched("alerts").out == "no alerts\n"
    pysched.scheduler.replies = {"GET /api/alerts": {"alerts": [ALERT, RELOAD], "next_cursor": None}}
    said = pysched("alerts", "--limit", "1")
    assert "there are more than 1: --limit shows more of them" in said.err
    document = json.loads(pysched("alerts", "--limit", "1", "--json").out)
    assert (len(document["alerts"]), document["more"]) == (1, True)


def test_what_was_given_up_says_why(pysched: Prompt) -> None:
    dead = {"notifier": "ops", "status": "dead", "attempts": 6, "last_error": "example.org answered 500"}
    dead |= {"updated_at": "2027-05-20T01:20:00Z", "alert": ALERT}
    pysched.scheduler.replies = {"GET /api/alerts/dead": {"deliveries": [dead]}}
    lines = [
        "ALERT                       NOTIFIER  ATTEMPTS  UPDATED                    ERROR",
        "load.2027-05-20.1:failed:1  ops              6  2027-05-20 03:20:00+02:00  example.org answered 500",
    ]
    assert pysched("alerts", "--dead").out.splitlines() == lines
    assert pysched("alerts", "dead").out.splitlines() == lines
    assert json.loads(pysched("alerts", "--dead", "--json").out)["deliveries"][0]["notifier"] == "ops"
    pysched.scheduler.replies = {"GET /api/alerts/dead": {"deliveries": []}}
    assert pysched("alerts", "--dead").out == "no delivery is dead\n"


def test_a_replay_says_what_is_pending_again(pysched: Prompt) -> None:
    path = "POST /api/alerts/load.2027-05-20.1%3Afailed%3A1/replay"
    pysched.scheduler.replies = {path: {"deliveries": [{"notifier": "ops", "status": "pending"}]}}
    line = "load.2027-05-20.1:failed:1 ops: pending\n"
    assert pysched("replay", "load.2027-05-20.1:failed:1", "--notifier", "ops").out == line
    assert pysched.scheduler.asked[-1][1] == {"notifier": "ops"}
    assert pysched("alerts", "replay", "load.2027-05-20.1:failed:1").out == line


def test_a_test_message_is_sent_or_the_reason_is_told(pysched: Prompt) -> None:
    path = "POST /api/alerts/test/ops"
    pysched.scheduler.replies = {path: {"notifier": "ops", "sent": True, "error": None}}
    assert pysched("alerts", "test", "ops").out == "ops: sent\n"
    pysched.scheduler.replies = {path: {"notifier": "ops", "sent": False, "error": "example.org answered 403"}}
    said = pysched("alerts", "test", "ops")
    assert said.code == 1
    assert "ops did not take the test: example.org answered 403" in said.err
    assert pysched("alerts", "test", "ops", "--json").code == 1


def test_other_words_are_wrong_usage(pysched: Prompt) -> None:
    said = pysched("alerts", "delete", "all")
    assert said.code == 2
    assert "pysched alerts [list | dead | replay ALERT | test NOTIFIER]" in said.err
