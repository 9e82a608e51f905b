"""The demo's course: serve, trigger, watch, tell how it ended. Waits for facts, each with a deadline."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Final

from pyscheduler.cli import board, faults
from pyscheduler.cli.asking import View
from pyscheduler.cli.client import SocketClient
from pyscheduler.cli.place import Place
from pyscheduler.cli.session import Session
from pyscheduler.cli.times import parse_instant
from pyscheduler.model.run import FINAL_STATES
from pyscheduler.service import Options, serve

LOOK_S: Final = 0.2
PATIENCE_S: Final = 180.0
CLIENT_S: Final = 10.0
FIRST: Final = ("extract-america", "extract-asia", "extract-europe", "extract-others")
CHAIN: Final = (*FIRST, "transform", "load", "report", "clean-up")
GOOD: Final = frozenset({"succeeded", "skipped"})
SHOWN_OF_REPORT: Final = 10


class Show:
    """One run of the demo."""

    def __init__(self, session: Session, place: Place, env: Mapping[str, str]) -> None:
        self._session, self._place, self._env = session, place, env
        self._client = SocketClient(place.socket, place.config, CLIENT_S)
        self._painted = 0
        self._told: dict[str, tuple[str, int]] = {}

    async def run(self) -> int:
        """Serve the example while the chain runs; returns the exit code."""
        ready, stop = asyncio.Event(), asyncio.Event()
        self._session.say(f"A scheduler starts in {self._place.config.parent} ...")
        serving = asyncio.create_task(serve(self._place.config, options=Options(env=self._env), ready=ready, stop=stop))
        playing = asyncio.create_task(self._play(ready))
        try:
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.wait({serving, playing}, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            self._session.note(f"error: the chain has not ended within {PATIENCE_S:.0f} s")
        finally:
            interrupted, over = stop.is_set(), playing.done()  # a signal sets `stop`, too
            playing.cancel()
            stop.set()
            served = await serving
        if interrupted:
            return faults.INTERRUPTED
        if over:
            return await playing
        if served:
            self._session.note(f"error: the scheduler ended; {self._place.config.parent / 'pysched.log'} says why")
        return served or faults.FAILED

    async def _play(self, ready: asyncio.Event) -> int:
        await ready.wait()
        day = await asyncio.to_thread(self._free_day)
        self._session.say(f"The night's jobs start, for run date {day}.\n")
        for job in FIRST:
            await asyncio.to_thread(self._client.post, f"/api/jobs/{job}/trigger", {"run_date": day.isoformat()})
        while True:
            runs = await asyncio.to_thread(self._runs, day)
            self._show(runs)
            if len(runs) >= len(CHAIN) and all(run["state"] in FINAL_STATES for run in runs):
                return self._tell_end(runs, day)
            await asyncio.sleep(LOOK_S)

    def _free_day(self) -> date:
        """Return the latest working day before today for which the chain has not run."""
        today = date.fromisoformat(self._client.get("/api/health")["today"])
        for back in range(1, 366):
            day = today - timedelta(days=back)
            if day.weekday() < 5 and not self._client.get("/api/runs", run_date=day.isoformat(), limit=1)["runs"]:
                return day
        raise faults.CommandError("the demo has run for every day of the year", mend="remove its folder")

    def _runs(self, day: date) -> list[View]:
        found = self._client.get("/api/runs", run_date=day.isoformat())["runs"]
        return sorted(found, key=lambda run: (CHAIN.index(run["job"]) if run["job"] in CHAIN else 99, run["seq"]))

    # ----------------------------------------------------------------- showing

    def _show(self, runs: list[View]) -> None:
        """Repaint the board on a terminal; elsewhere print a line for each change."""
        if self._session.terminal.width is not None:
            self._paint(runs)
            return
        for run in runs:
            now = run["state"], run["attempt"]
            if self._told.get(run["run_id"]) != now:
                self._told[run["run_id"]] = now
                reason = f" ({run['reason']})" if run["reason"] else ""
                at = self._place.times.full(parse_instant(run["updated_at"]))
                self._session.say(f"{at}  {run['run_id']}: {run['state']}{reason}")

    def _board(self, runs: list[View]) -> Iterator[str]:
        now = self._session.now()
        today = self._place.times.local(now).date()
        return board.board(runs, today, self._place.times, now, self._session.terminal)

    def _paint(self, runs: list[View]) -> None:
        lines = list(self._board(runs))
        up = f"\x1b[{self._painted}A" if self._painted else ""
        sys.stdout.write(up + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
        sys.stdout.flush()
        self._painted = len(lines)

    def _tell_end(self, runs: list[View], day: date) -> int:
        session, folder = self._session, self._place.config.parent
        if session.terminal.width is None:
            session.say()
            session.say_all(self._board(runs))
        session.say(f"\n{board.counts_text(board.counts(runs))}")
        report = folder / "reports" / f"{day}.md"
        if any(run["state"] not in GOOD for run in runs) or not report.is_file():
            session.note(f"error: not as it should have gone; the jobs' own words are in {folder / 'logs'}")
            return faults.FAILED
        session.say(f"The report: {report}\n")
        session.say_all(f"  {line}".rstrip() for line in report.read_text().splitlines()[:SHOWN_OF_REPORT])
        session.say(f"\nTo go on from here: cd {folder}, then `pysched serve`; README.md there goes through it.")
        return faults.OK
