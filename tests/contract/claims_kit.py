"""What the claims' tests share: a store that several incarnations meet on, with a clock that only tests move.

`PLACES` are the databases; every test of the contract takes a `Meeting` and knows no more of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import dict_row

from pyscheduler.model.lease import Identity, OnLost, Timing
from pyscheduler.model.run import Outcome, RunState
from pyscheduler.store import rows
from pyscheduler.store.claims import Claim, Claims, Door, Held, Occurrence, Report, Start, Watermark
from pyscheduler.store.claims.postgres_door import PostgresDoor
from pyscheduler.store.claims.sqlite_door import SqliteDoor
from pyscheduler.store.postgres.connect import address_of
from tests.contract.store_kit import a_schema

PLACES: Final = ("sqlite", "postgres")
"""What each statement is tried on; where it is locks that are tried, every server (`test_claims_races.py`)."""
NOON: Final = datetime(2027, 5, 20, 12, tzinfo=UTC)
DAY: Final = date(2027, 5, 20)
TIMING: Final = Timing()
OVER_S: Final = TIMING.lease_s + 1
"""After so long without a heartbeat a lease is over."""

_CLOCK = """
CREATE TABLE test_clock (at BIGINT NOT NULL);
INSERT INTO test_clock VALUES ({noon});
CREATE OR REPLACE FUNCTION db_now() RETURNS BIGINT LANGUAGE sql VOLATILE AS $$ SELECT at FROM test_clock $$;
"""


@dataclass
class Meeting:
    """One store and whoever meets on it. Its clock stands still unless it is moved."""

    state_dir: Path
    url: str | None = None
    opened: list[Claims] = field(default_factory=list)
    doors: list[Door] = field(default_factory=list)
    mark: str = field(default_factory=lambda: uuid4().hex[:8])
    _now: int = rows.micros(NOON)

    def door(self, name: str = "pysched claims") -> Door:
        """Return a door of its own."""
        made: Door = (
            SqliteDoor(self.state_dir, sync=False, clock=lambda: self._now)
            if self.url is None
            else PostgresDoor(self.url, name=self.known_as(name))
        )
        self.doors.append(made)
        return made

    def known_as(self, name: str) -> str:
        """Return what the server calls this door: it is shared, and other tests have their own of the same name."""
        return f"{self.mark} {name}"

    def join(self, inc_id: str, *, register: bool = True, timing: Timing = TIMING, **who: Any) -> Claims:
        """Return an incarnation, registered, on a connection of its own."""
        me = Identity(**({"inc_id": inc_id, "host_id": "h1", "boot_id": "b1", "pid_ns": "n1", "node": inc_id} | who))
        claims = Claims(self.door(inc_id), me, timing)
        self.opened.append(claims)
        if register:
            claims.register()
        return claims

    def advance(self, seconds: float) -> None:
        """Move the database's clock."""
        self._now += round(seconds * 1_000_000)
        if self.url is not None:
            self.run(f"UPDATE test_clock SET at = {self._now}")

    @property
    def now(self) -> datetime:
        """The database's clock."""
        return rows.instant(self._now)

    def run(self, sql: str) -> list[dict[str, Any]]:
        """Run a statement behind everybody's back."""
        if self.url is None:
            with closing(sqlite3.connect(self.state_dir / "pysched.db")) as connection:
                connection.row_factory = sqlite3.Row
                found = [dict(row) for row in connection.execute(sql)]
                connection.commit()
                return found
        with closing(psycopg.connect(**address_of(self.url).arguments, row_factory=dict_row)) as server:
            cursor = server.execute(sql.encode())
            found = cursor.fetchall() if cursor.description else []
            server.commit()
            return found

    def row(self, run_id: str) -> dict[str, Any]:
        """Return a run's row."""
        (found,) = self.run(f"SELECT * FROM runs WHERE run_id = '{run_id}'")
        return found

    def state(self, run_id: str) -> tuple[str, int, str | None]:
        """Return a run's state, token and owner."""
        row = self.row(run_id)
        return row["state"], row["token"], row["owner_inc"]

    def attempts(self, run_id: str) -> list[dict[str, Any]]:
        """Return the run's attempts, the first first."""
        return self.run(f"SELECT * FROM attempts WHERE run_id = '{run_id}' ORDER BY attempt")

    def lines(self) -> list[str]:
        """Return what the logbook says has been done."""
        return [row["action"] for row in self.run("SELECT action FROM events ORDER BY id")]

    def lease(self, name: str) -> dict[str, Any]:
        """Return a row of the leases."""
        (found,) = self.run(f"SELECT * FROM leases WHERE name = '{name}'")
        return found

    def begin_clock(self) -> None:
        """Put the test's clock in the place of the server's."""
        if self.url is not None:
            self.door().write(lambda _: None)  # makes the tables
            self.run(_CLOCK.format(noon=self._now))

    def close(self) -> None:
        for door in self.doors:
            door.close()


@contextmanager
def a_meeting(request: pytest.FixtureRequest, tmp_path: Path, place: str) -> Iterator[Meeting]:
    """Give a fresh store in one of PLACES."""
    if place == "sqlite":
        meeting = Meeting(tmp_path / "state")
        yield meeting
        meeting.close()
        return
    with a_schema(request.getfixturevalue("server_place")(place)) as url:
        meeting = Meeting(tmp_path / "state", url)
        meeting.begin_clock()
        yield meeting
        meeting.close()


# --------------------------------------------------------------------------- short ways


def occurrence(number: int = 1, job: str = "nightly", **fields: Any) -> Occurrence:
    """Return the job's firing of that minute after noon."""
    given: dict[str, Any] = {"job": job, "run_date": DAY, "scheduled_at": NOON + timedelta(minutes=number)}
    return Occurrence(**(given | fields))


def offered(meeting: Meeting, count: int = 1, *, job: str = "nightly", **fields: Any) -> list[str]:
    """Make that many runs, offered in the order of their numbers; returns their ids. The maker resigns at once."""
    maker = meeting.join(f"maker-{job}")
    epoch = maker.take_authority()
    assert epoch is not None
    due = [occurrence(number, job, **fields) for number in range(1, count + 1)]
    made = maker.materialise(epoch, due, [Watermark(job, None, NOON + timedelta(days=1))])
    maker.resign(epoch)
    assert len(made) == count
    return made


def engines(meeting: Meeting, count: int = 1, *, job: str = "nightly") -> list[str]:
    """Make runs about which the engine decides."""
    return offered(meeting, count, job=job, on_lost=OnLost.ENGINE)


def start_of(claim: Claim, **fields: Any) -> Start:
    """Return what starts a claim."""
    given: dict[str, Any] = {
        "run_id": claim.run_id, "token": claim.token, "attempt": claim.attempt + 1,
        "key": f"{claim.run_id}.{claim.token}",
    }  # fmt: skip
    return Start(**(given | fields))


def started(claims: Claims, count: int = 1) -> list[Claim]:
    """Claim so many runs and start them."""
    taken = claims.claim(count)
    assert len(taken) == count
    assert claims.start([start_of(each) for each in taken]) == {each.run_id for each in taken}
    return taken


def held(claim: Claim) -> Held:
    """Return the claim as it is given back."""
    return Held(claim.run_id, claim.token)


def report(claim: Claim | Held, to: RunState | None = RunState.SUCCEEDED, **fields: Any) -> Report:
    """Return the report that an attempt has succeeded; or failed, where its run is to be something else."""
    outcome = Outcome.SUCCEEDED if to in (RunState.SUCCEEDED, None) else Outcome.FAILED
    return replace(Report(run_id=claim.run_id, token=claim.token, outcome=outcome, to=to), **fields)
