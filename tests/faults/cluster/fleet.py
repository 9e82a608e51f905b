"""Schedulers on fake hosts: each host has its own wire to the store and its own machine id, each scheduler a folder.

What a host is, as far as the protocol can tell: a machine id (`PYSCHED_HOST_ID`), and a way to the store that can fail
without the others'. Schedulers of one host can see each other's processes and read each other's folders, as they could
on a real one; so they may prove each other's death and adopt each other's attempts.
"""

from __future__ import annotations

import itertools
import json
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from pyscheduler.cluster.identity import HOST_VARIABLE
from tests.faults.cluster import places, recorder
from tests.faults.cluster.editions import edited
from tests.faults.cluster.history import TASK, History, Promises, Room, effects_in
from tests.faults.cluster.points import FOLDER
from tests.faults.cluster.proxy import Proxy, network
from tests.faults.cluster.recorder import Connection
from tests.faults.cluster.spaces import Space
from tests.faults.cluster.stable import Life, Stable, end_all, stable
from tests.servers.kinds import Server

STORE: Final = "FAULTS_STORE"
"""The variable from which a configuration takes the store's address."""
LOG: Final = "FAULTS_LOG"
"""The variable from which it takes the effects log's path."""
WAIT_S: Final = 60.0
MOST_FAILURES: Final = 6
"""So many ends in a row that nobody caused are a fault of the scheduler."""


@dataclass(frozen=True)
class Crew:
    """What kind of schedulers run, on how many hosts, with which jobs."""

    argv: tuple[str, ...]
    config: str
    """The YAML. In it `@STATE@` is the scheduler's own folder, `@NODE@` its name, `@FOLDER@` the test's folder, and
    `@EDITED@` the job of which there are several editions (`editions.py`)."""
    hosts: int = 3
    processes: int = 2
    env: tuple[tuple[str, str], ...] = ()
    steps: tuple[tuple[str, int], ...] = ()
    """Jobs of which no due time may be without a run, and the seconds between two of their due times."""
    room: Room = field(default_factory=Room)
    """How much may run at once."""

    @property
    def reads_again(self) -> bool:
        """Whether these schedulers read their configuration again when they are told to; else only at a start."""
        return self.argv[0] == "serve"


@dataclass(frozen=True)
class Host:
    """One fake host: where its schedulers are started, where they find the store, and what lies between."""

    herd: Stable
    address: tuple[str, int]
    wire: Proxy | Space

    def cut(self) -> None:
        """Let nothing pass, and tell nobody."""
        self.wire.black_hole() if isinstance(self.wire, Proxy) else self.wire.cut()

    def heal(self) -> None:
        self.wire.heal()


class Slot:
    """The place of one scheduler on its host: it may be started there again and again."""

    def __init__(self, fleet: Fleet, host: int, number: int) -> None:
        self.fleet = fleet
        self.host = host
        self.number = number
        self.home = fleet.folder / f"h{host}.p{number}"
        self.home.mkdir()
        self.edit(0)
        self.life: Life | None = None
        self.due_s: float | None = None
        """When it is to be started again; None while it lives."""
        self._births = itertools.count(1)
        self.ends: list[int | None] = []

    @property
    def app(self) -> str:
        """The name under which every life of this place is known to the store's server."""
        return f"h{self.host}.p{self.number}"

    def edit(self, edition: int) -> None:
        """Write the configuration, with this edition of the edited job; who reads meanwhile reads one or the other."""
        words = {"@STATE@": str(self.home / "state"), "@NODE@": self.app.replace(".", "-"),
                 "@FOLDER@": str(self.fleet.folder)}  # fmt: skip
        config = edited(self.fleet.crew.config, f"sh @FOLDER@/task.sh ${{{LOG}}} 0.1 0", edition)
        for name, stands_for in words.items():
            config = config.replace(name, stands_for)
        part = self.home / "pysched.yaml.new"
        part.write_text(config)
        part.rename(self.home / "pysched.yaml")

    def start(self) -> None:
        """Start a scheduler here."""
        fleet = self.fleet
        env = {
            HOST_VARIABLE: f"host-{self.host}",
            STORE: fleet.address_of(self.host, f"{self.app}.{next(self._births)}"),
            LOG: str(fleet.log),
            FOLDER: str(self.home),
            **dict(fleet.crew.env),
        }
        name = f"{fleet.db}.{self.app}.{len(self.ends) + 1}"
        herd = fleet.hosts[self.host].herd
        self.life = herd.start(name, fleet.crew.argv, env=env, log=self.home / "said", cwd=self.home)
        self.due_s = None

    def look(self, now_s: float, again_s: float = 0.2) -> None:
        """Note an end that nobody here asked for, and start again what is due."""
        if self.life is not None and self.life.ended.is_set():
            self.ends.append(self.life.code)
            self.life = None
            fails = self.ends[-MOST_FAILURES:]
            is_hopeless = len(fails) == MOST_FAILURES and all(code is not None and code > 0 for code in fails)
            assert not is_hopeless, f"{self.app} ends again and again: {self.ends}\n{self.said()[-3000:]}"
            if self.due_s is None:
                self.due_s = now_s + again_s
        if self.life is None and self.due_s is not None and now_s >= self.due_s:
            self.start()

    def said(self) -> str:
        path = self.home / "said"
        return path.read_text(errors="replace") if path.exists() else ""


class Fleet:
    """All of it: server, wires, schedulers, the store's memory. Made by `fleet`."""

    def __init__(self, folder: Path, crew: Crew, server: Server, hosts: list[Host], db: str) -> None:
        self.folder = folder
        self.crew = crew
        self.server = server
        self.hosts = hosts
        self.db = db
        self.log = folder / "effects"
        (folder / "task.sh").write_text(TASK)
        self.slots = [Slot(self, host, number) for host in range(crew.hosts) for number in range(crew.processes)]

    def address_of(self, host: int, app: str) -> str:
        """Return the store's address as a scheduler of this host has it: over the host's wire, under its own name."""
        plain = places.address(self.server.place, self.db, self.hosts[host].address, places.ROLE)
        return f"{plain}?application_name={quote(app)}"

    def proxy(self, host: int) -> Proxy:
        wire = self.hosts[host].wire
        assert isinstance(wire, Proxy), "this host is a network namespace"
        return wire

    def connect(self) -> Connection:
        """Return a connection past every wire; waits for a server that is just starting."""
        return places.connect(self.server.place, self.db)

    def slot(self, host: int, number: int) -> Slot:
        return self.slots[host * self.crew.processes + number]

    def start_all(self) -> None:
        for slot in self.slots:
            slot.start()

    def look(self) -> None:
        for slot in self.slots:
            slot.look(time.monotonic())

    def until(self, true: Callable[[], Any], what: str, wait_s: float = WAIT_S) -> Any:
        """Wait for a fact, and return it; meanwhile whoever ended is started again."""
        found = self.wait(true, wait_s)
        assert found, f"in vain: {what}\n{self.tell()}"
        return found

    def wait(self, true: Callable[[], Any], wait_s: float = WAIT_S) -> Any:
        """Wait for a fact, and return it; False where it did not come."""
        deadline = time.monotonic() + wait_s
        while not (found := true()):
            if time.monotonic() > deadline:
                return False
            self.look()
            time.sleep(0.05)
        return found

    def stop_all(self) -> None:
        """Ask every scheduler to stop, and wait until they have."""
        for slot in self.slots:
            slot.due_s = None
            if slot.life is not None:
                slot.life.signal(signal.SIGCONT)
                slot.life.signal(signal.SIGTERM)
        for slot in self.slots:
            if slot.life is not None:
                assert slot.life.ended.wait(WAIT_S), f"{slot.app} does not stop:\n{self.tell()}"
                slot.ends.append(slot.life.code)
                slot.life = None

    def kill_all(self) -> None:
        """End every scheduler that still lives, as a crash would."""
        for slot in self.slots:
            if slot.life is not None:
                slot.life.signal(signal.SIGCONT)
                slot.life.signal(signal.SIGKILL)
                slot.life.ended.wait(10)

    def history(self, promises: Promises) -> History:
        """Return all that happened so far."""
        with self.connect() as on:
            return History(recorder.changes(on), effects_in(self.log), promises)

    def tell(self) -> str:
        """Return what a person wants to see of a test that failed."""
        parts = [f"--- {slot.app} {slot.ends}\n{slot.said()[-1500:]}" for slot in self.slots]
        try:
            with self.connect() as on:
                rows = on.execute(
                    "SELECT run_id, state, token, owner_inc, attempt, reason FROM runs "
                    "WHERE state NOT IN ('succeeded', 'failed', 'cancelled', 'skipped') ORDER BY scheduled_at LIMIT 20"
                ).fetchall()
            parts.append("open runs:\n" + "\n".join(json.dumps(row) for row in rows))
        except Exception as error:
            parts.append(f"the store does not answer: {error}")
        return "\n".join(parts)


@dataclass(frozen=True)
class Ground:
    """What many tests share: a server of their own, and a process that is warm."""

    server: Server
    herd: Stable
    prepare: Callable[[str], None]
    """Makes the tables in the store whose address it is given."""


@contextmanager
def fleet(folder: Path, crew: Crew, ground: Ground, apart: Sequence[Space] = ()) -> Iterator[Fleet]:
    """Make a database, wires and places; no scheduler is started yet.

    With `apart` each host is a network namespace, else it has a proxy.
    """
    server = ground.server
    with ExitStack() as stack:
        places.let_in(server.place)
        db = places.new_database(server.place, places.ROLE)
        stack.callback(places.drop_database, server.place, db)
        ground.prepare(places.address(server.place, db, who=places.ROLE))
        with places.connect(server.place, db) as on:
            recorder.install(on)
        stack.callback(end_all, folder)
        if apart:
            port = server.place.port
            hosts = [Host(stack.enter_context(stable(space.where)), (space.gate, port), space) for space in apart]
        else:
            net = stack.enter_context(network())
            proxies = [net.proxy(server.place.host, server.place.port) for _ in range(crew.hosts)]
            hosts = [Host(ground.herd, ("127.0.0.1", proxy.port), proxy) for proxy in proxies]
        made = Fleet(folder, crew, server, hosts, db)
        stack.callback(made.kill_all)
        yield made
