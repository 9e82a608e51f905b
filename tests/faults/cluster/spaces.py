"""Hosts as network namespaces: each has its own interface, whose other end is here and can be taken down.

Where namespaces are not permitted (`missing()` says why) the same tests run through the proxies.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.fixtures import must_have
from tests.servers.kinds import Postgres


@dataclass(frozen=True)
class Space:
    """One namespace: `where` are the words that start a command in it, `gate` the address of this side of its wire."""

    name: str
    gate: str
    wire: str

    @property
    def where(self) -> tuple[str, ...]:
        return (_ip(), "netns", "exec", self.name)

    def cut(self) -> None:
        """Take the wire down: nothing passes, nobody is told."""
        _run("link", "set", self.wire, "down")

    def heal(self) -> None:
        _run("link", "set", self.wire, "up")


class OpenPostgres(Postgres):
    """A server that listens on every interface; the password is asked for on each."""

    def make(self) -> None:
        super().make()
        with (self.folder / "data" / "pg_hba.conf").open("a") as rules:
            rules.write("host all all 10.0.0.0/8 scram-sha-256\n")

    def command(self) -> list[str]:
        return [part.replace(f"listen_addresses={self.place.host}", "listen_addresses=*") for part in super().command()]


def fresh_open_postgres() -> OpenPostgres:
    """Make and start one in a new folder; `kinds.discard` ends it."""
    must_have("postgres")
    server = OpenPostgres(Path(tempfile.mkdtemp(prefix="pepper-postgres-")), durable=True)
    server.make()
    server.start()
    return server


def missing() -> str | None:
    """Return why there are no namespaces here, None where there are."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip", path=_PATH) is None:
        return "no `ip` (apt-get install iproute2)"
    name = f"pysched-try-{os.getpid()}"
    if subprocess.run([_ip(), "netns", "add", name], capture_output=True, check=False).returncode:
        return "network namespaces are not permitted here"
    _run("netns", "del", name)
    return None


@contextmanager
def spaces(count: int) -> Iterator[list[Space]]:
    """Give so many namespaces, each with a wire of its own to here."""
    with ExitStack() as stack:
        made = []
        for number in range(count):
            short = f"{os.getpid() % 100_000}x{number}"
            net = f"10.{os.getpid() % 200 + 20}.{number}"
            space = Space(f"pysched-{short}", f"{net}.1", f"pys{short}")
            _run("netns", "add", space.name)
            stack.callback(_run, "netns", "del", space.name)
            _run("link", "add", space.wire, "type", "veth", "peer", "name", "eth0", "netns", space.name)
            _run("addr", "add", f"{net}.1/24", "dev", space.wire)
            _run("link", "set", space.wire, "up")
            for words in (("addr", "add", f"{net}.2/24", "dev", "eth0"), ("link", "set", "eth0", "up"),
                          ("link", "set", "lo", "up")):  # fmt: skip
                _run("-n", space.name, *words)
            made.append(space)
        yield made


_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def _ip() -> str:
    found = shutil.which("ip", path=_PATH)
    assert found is not None
    return found


def _run(*words: str) -> None:
    done = subprocess.run([_ip(), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"
