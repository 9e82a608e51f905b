"""Waiting for a scheduler that is about to answer, and only for one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.cli import at_home
from pyscheduler.cli.faults import Refused, Unreachable
from pyscheduler.cli.patient import BETWEEN_S, GRACE_S, LOOK_S, REPEATS, Patient
from pyscheduler.cli.place import Place

NOBODY = Unreachable("no scheduler is running", where="pysched.yaml", mend="pysched serve", nobody=True)
STARTING = Refused("scheduler is starting", status=503)
BETWEEN = Refused("the lead changes hands: nobody leads at this moment", status=503)
BROKE_OFF = Unreachable("the scheduler broke off in the middle of its answer", broke_off=True)
PLACE = Place(Path("pysched.yaml"), "night", "UTC", Path("/nowhere/state"), Path("/nowhere/logs"))


class Scheduler:
    """Answers what it was given, the last of it for ever."""

    def __init__(self, *answers: object) -> None:
        self.answers, self.asked = list(answers), 0
        self.keys: list[str | None] = []

    def _answer(self) -> Any:
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def get(self, path: str, **query: object) -> Any:
        return self._answer()

    def post(self, path: str, body: Mapping[str, object] | None = None, *, key: str | None = None) -> Any:
        self.keys.append(key)
        return self._answer()

    def raw(self, path: str, **query: object) -> Any:
        return self._answer()


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def set_up(*, coming: bool = False, pid: int | None = None, moved: at_home.Served | None = None) -> None:
        monkeypatch.setattr(at_home, "on_its_way", lambda _place: coming)
        monkeypatch.setattr(at_home, "scheduler_of", lambda _folder: pid)
        monkeypatch.setattr(at_home, "elsewhere", lambda _place: moved)

    return set_up


def test_it_waits_while_one_is_coming_and_says_so_once(home: Callable[..., None]) -> None:
    """First nobody listens, then somebody says he is starting, then there is an answer."""
    home(coming=True)
    scheduler, told, naps = Scheduler(NOBODY, NOBODY, STARTING, STARTING, {"ok": 1}), list[str](), list[float]()
    assert Patient(scheduler, PLACE, told.append, naps.append).post("/api/reload") == {"ok": 1}
    assert told == ["the scheduler is starting; waiting for it"]
    assert naps == [LOOK_S] * 4


def test_nobody_is_told_after_one_short_pause(home: Callable[..., None]) -> None:
    """In which a start that began in the same instant becomes visible; the error is the client's own."""
    home()
    scheduler, naps = Scheduler(NOBODY), list[float]()
    patient = Patient(scheduler, PLACE, lambda _text: None, naps.append)
    for _ in range(2):
        with pytest.raises(Unreachable, match="no scheduler is running"):
            patient.get("/api/runs")
    assert naps == [GRACE_S]


def test_every_wait_ends(home: Callable[..., None]) -> None:
    """With who has the folder, and what to do."""
    home(coming=True, pid=77)
    scheduler, naps = Scheduler(NOBODY), list[float]()
    with pytest.raises(Unreachable) as caught:
        Patient(scheduler, PLACE, lambda _text: None, naps.append, patience_s=1.0).raw("/api/x")
    assert 1.0 <= sum(naps) <= 1.2
    assert "(pid 77) has /nowhere/state and does not answer" in caught.value.what
    assert caught.value.mend


def test_a_start_that_takes_long_has_a_mend(home: Callable[..., None]) -> None:
    """The scheduler's own words carry none."""
    home()
    with pytest.raises(Refused) as caught:
        Patient(Scheduler(STARTING), PLACE, lambda _text: None, lambda _s: None).get("/api/runs")
    assert caught.value.status == 503
    assert "ask again" in caught.value.mend


def test_one_that_serves_this_file_from_another_folder_is_named(home: Callable[..., None]) -> None:
    """Nobody is told to start a second one."""
    home(moved=at_home.Served(77, Path("/nowhere/old")))
    with pytest.raises(Unreachable) as caught:
        Patient(Scheduler(NOBODY), PLACE, lambda _text: None, lambda _s: None).post("/api/reload")
    assert "in /nowhere/state" in caught.value.what
    assert "(pid 77) has its state in /nowhere/old" in caught.value.what
    assert "serve" not in caught.value.mend


@pytest.mark.parametrize(
    "error", [Refused("no", status=409), Unreachable("this user may not talk"), Refused("x", status=503)]
)
def test_any_other_answer_is_the_answer(home: Callable[..., None], error: Exception) -> None:
    """At once."""
    home(coming=True)
    scheduler = Scheduler(error)
    with pytest.raises(type(error)):
        Patient(scheduler, PLACE, lambda _text: None, lambda _s: pytest.fail("waited")).get("/api/runs")
    assert scheduler.asked == 1


def test_what_holds_a_start_up_is_told(home: Callable[..., None]) -> None:
    """While it waits, once, and as the answer when its patience is at an end."""
    home()
    held_up = Refused("scheduler is starting, and cannot yet: the store is locked", status=503)
    told = list[str]()
    with pytest.raises(Refused) as caught:
        Patient(Scheduler(STARTING, held_up), PLACE, told.append, lambda _s: None).get("/api/runs")
    assert told == ["the scheduler is starting; waiting for it", held_up.what]
    assert caught.value.what == held_up.what
    assert "by itself" in caught.value.mend


def test_an_action_that_broke_off_is_asked_again_under_the_same_key(home: Callable[..., None]) -> None:
    """Nobody knows whether it was done; the scheduler does. Each action has a key of its own."""
    home()
    scheduler, naps = Scheduler(BROKE_OFF, BROKE_OFF, {"ok": 1}), list[float]()
    patient = Patient(scheduler, PLACE, lambda _text: None, naps.append)
    assert patient.post("/api/jobs/a/trigger") == {"ok": 1}
    assert patient.post("/api/jobs/a/trigger") == {"ok": 1}
    assert scheduler.keys[0] is not None
    assert scheduler.keys[0] == scheduler.keys[1] == scheduler.keys[2] != scheduler.keys[3]
    assert naps == [GRACE_S, 2 * GRACE_S]


def test_one_that_keeps_breaking_off_is_given_up(home: Callable[..., None]) -> None:
    """And where it is gone then, the error is what happened to the action, not that nobody runs now."""
    home()
    scheduler, naps = Scheduler(BROKE_OFF), list[float]()
    with pytest.raises(Unreachable, match="broke off"):
        Patient(scheduler, PLACE, lambda _text: None, naps.append).post("/api/jobs/a/trigger")
    assert len(naps) == REPEATS
    with pytest.raises(Unreachable, match="broke off"):
        Patient(Scheduler(BROKE_OFF, NOBODY), PLACE, lambda _text: None, lambda _s: None).post("/api/reload")


def test_a_secret_answer_is_not_kept_for_a_repetition(home: Callable[..., None]) -> None:
    """A link to sign in with: one that broke off is asked for anew, by hand."""
    home()
    scheduler = Scheduler(BROKE_OFF)
    with pytest.raises(Unreachable):
        Patient(scheduler, PLACE, lambda _text: None, lambda _s: pytest.fail("waited")).post("/api/links")
    assert scheduler.keys == [None]


def test_an_action_waits_for_the_next_lead(home: Callable[..., None]) -> None:
    """Given in the moment of a failover it is done by whoever leads then, or refused when that takes too long."""
    home()
    scheduler, told = Scheduler(BETWEEN, BETWEEN, {"ok": 1}), list[str]()
    assert Patient(scheduler, PLACE, told.append, lambda _s: None).post("/api/nodes/a/drain") == {"ok": 1}
    assert len(told) == 1
    assert len(set(scheduler.keys)) == 1
    naps = list[float]()
    with pytest.raises(Refused, match="nobody leads"):
        Patient(Scheduler(BETWEEN), PLACE, told.append, naps.append).post("/api/nodes/a/drain")
    assert BETWEEN_S <= sum(naps) <= BETWEEN_S + 1


def test_a_question_does_not_wait_for_a_lead(home: Callable[..., None]) -> None:
    """Who asks wants to know that nobody leads."""
    home()
    with pytest.raises(Refused, match="changes hands"):
        Patient(Scheduler(BETWEEN), PLACE, lambda _t: None, lambda _s: pytest.fail("waited")).get("/api/runs")


def test_an_action_waits_where_who_leads_was_killed(home: Callable[..., None]) -> None:
    """Until its lease is over and another leads; a store that cannot be reached is nothing to wait for."""
    home()
    dead = Refused("a leads, and the scheduler at db1:8470 cannot be reached", status=503)
    assert Patient(Scheduler(dead, {"ok": 1}), PLACE, lambda _t: None, lambda _s: None).post("/api/x") == {"ok": 1}
    gone = Refused("this scheduler's store is out of reach: the server cannot be reached (refused)", status=503)
    with pytest.raises(Refused):
        Patient(Scheduler(gone), PLACE, lambda _t: None, lambda _s: pytest.fail("waited")).post("/api/x")
