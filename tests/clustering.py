"""Several `serve` processes on one PostgreSQL: fake hosts with names and folders of their own, for tests that kill."""

from __future__ import annotations

import secrets
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql

from tests.servers.kinds import Place
from tests.serving import Served

SECRET = "a secret of tests, long enough"
TIMES: Mapping[str, str] = {
    "heartbeat": "0.3s",
    "lease": "4s",
    "margin": "1.5s",
    "kill_grace": "0.3s",
    "observe": "1s",
    "sweep": "0.3s",
    "authority_lease": "5s",
}
"""Short ones (claims.md C14), as they hold together; the lead is not lost by who stands still for three seconds."""
A_LONG_LEASE: Mapping[str, str] = {"authority_lease": "600s", "lease": "600s", "margin": "60s"}
"""Instead of them where nobody's death is waited for: who stands still for a few seconds on a busy machine leads on."""
HEAD = """
scheduler:
  store: "${STORE_URL}"
  state_dir: state
  listen: 127.0.0.1:0
  cluster:
    node: "${NODE}"
    secret: "${CLUSTER_SECRET}"
"""


@contextmanager
def fresh_database(place: Place) -> Iterator[str]:
    """Make a database of its own for one test; gives its address."""
    name = f"t_{secrets.token_hex(6)}"
    with psycopg.connect(**_login(place), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        who = f"{place.username}:{quote(place.password, safe='')}"
        yield f"postgresql+psycopg://{who}@{place.host}:{place.port}/{name}"
    finally:
        with psycopg.connect(**_login(place), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _login(place: Place) -> dict[str, Any]:
    return {
        "host": place.host,
        "port": place.port,
        "user": place.username,
        "password": place.password,
        "dbname": place.db,
    }


class Cluster:
    """Schedulers of one store. `text` is what the configuration says beside the settings."""

    def __init__(self, home: Path, url: str, text: str, *, cluster: Mapping[str, object] | None = None) -> None:
        self.home, self.url = home, url
        times = "".join(f"    {key}: {value}\n" for key, value in {**TIMES, **(cluster or {})}.items())
        self.text = HEAD.strip("\n") + "\n" + times + textwrap.dedent(text)
        self.effects = home / "effects"
        self.nodes: dict[str, Served] = {}

    def node(self, name: str, *, host: str | None = None, wrapper: tuple[str, ...] = (), **more: str) -> Served:
        """Return a scheduler that is not started yet; `host` makes two share a machine, `more` is environment."""
        folder = self.home / name
        folder.mkdir()
        env = {
            "STORE_URL": self.url,
            "NODE": name,
            "CLUSTER_SECRET": SECRET,
            "PYSCHED_HOST_ID": host or f"host of {name}",
            "EFFECTS": str(self.effects),
            **more,
        }
        self.nodes[name] = Served(folder, self.text, env=env, wrapper=wrapper)
        return self.nodes[name]

    def done(self) -> list[str]:
        """Return what jobs have appended to the effects, in its order."""
        return self.effects.read_text().splitlines() if self.effects.exists() else []

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Ask the database."""
        with psycopg.connect(self.url.replace("+psycopg", "")) as connection:
            return connection.execute(query.encode()).fetchall()

    @contextmanager
    def shut(self) -> Iterator[None]:
        """Let nobody reach the database, and end what is open: for the schedulers it is away."""
        address = self.url.replace("+psycopg", "")
        name = address.rpartition("/")[2]
        server = address.removesuffix(name) + "postgres"
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(sql.Identifier(name)))
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
            try:
                yield
            finally:
                connection.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(sql.Identifier(name)))

    def clear(self) -> None:
        """End whatever is left."""
        for node in self.nodes.values():
            node.clear()


def is_standby(served: Served) -> bool:
    """Whether it answers, and another leads."""
    health = served.health()
    return health is not None and "standing by" in served.said()
