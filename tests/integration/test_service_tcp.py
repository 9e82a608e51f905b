"""The TCP listener of a real service: where it listens, what it refuses to begin with, who comes in without a word."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pyscheduler.api.callers import user_name
from tests.ports import kept_port
from tests.serving import DRIVER, Served, served
from tests.visitors import Visitor, port_of, put, tokens

STRANGER = 65534
AS_STRANGER = ("setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups")
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
OURS = {"X_Pysched": "1"}


def text(listen: str = '"127.0.0.1:0"', more: str = "") -> str:
    line = f"listen: {listen}, " if listen else ""
    return (
        f"scheduler: {{{line}state_dir: state, log_dir: logs{more}}}\n"
        "jobs:\n"
        '  quick: {command: "true", schedule: manual}\n'
    )


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("tcp"), text()) as found:
        yield found.start()


def test_our_own_user_comes_in_by_loopback_as_themselves(service: Served) -> None:
    """The kernel says whose connection it is; the logbook has the name."""
    visitor = Visitor(port_of(service))
    assert visitor.ask("GET", "/api/runs").status == 200
    made = visitor.ask("POST", "/api/jobs/quick/trigger", {}, **OURS)
    assert made.status == 200, made
    (line,) = service.get(f"/api/events?run={made.body['run']['run_id']}&action=trigger")["events"]
    assert line["actor"] == user_name(os.geteuid())


def test_what_another_sites_page_could_send_is_refused(service: Served) -> None:
    """A foreign origin, no origin without our header, another name for this machine."""
    visitor = Visitor(port_of(service))
    for headers in ({}, {"origin": "http://evil.example"}, {"origin": "null", **OURS}):
        assert visitor.ask("POST", "/api/jobs/quick/trigger", {}, **headers).status == 403
    own = {"origin": f"http://127.0.0.1:{visitor.port}"}
    assert visitor.ask("POST", "/api/jobs/quick/trigger", {}, **own).status == 200
    answer = visitor.ask("GET", "/api/health", host="evil.example")
    assert (answer.status, answer.body["error"]) == (403, "forbidden host")


def test_the_address_is_told_to_who_may_know(service: Served) -> None:
    """Port 0 is any free one: somebody has to say which."""
    assert service.get("/api/scheduler")["listen"] == f"127.0.0.1:{port_of(service)}"


# --------------------------------------------------------------------------- other users of this machine


def as_stranger(script: str, port: int) -> str:
    """Run a program of another user; returns what it printed."""
    done = subprocess.run(
        [*AS_STRANGER, sys.executable, "-I", "-c", script, str(port)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


ASKS = """
import sys, urllib.error, urllib.request
def ask(method, path, **headers):
    request = urllib.request.Request(f"http://127.0.0.1:{sys.argv[1]}{path}", method=method, headers=headers)
    try:
        return urllib.request.build_opener().open(request, timeout=30).status
    except urllib.error.HTTPError as error:
        return error.code
trigger = {"Content-Type": "application/json", "X-Pysched": "1"}
print(ask("GET", "/api/health"), ask("GET", "/api/runs"), ask("GET", "/"))
print(ask("POST", "/api/jobs/quick/trigger", **trigger))
"""
RUNS = """
import socket, struct, sys
request = (b"POST /api/jobs/quick/trigger HTTP/1.1\\r\\nHost: localhost\\r\\nX-Pysched: 1\\r\\n"
           b"Content-Type: application/json\\r\\nContent-Length: 2\\r\\n\\r\\n{}")
for how in range(60):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
        if how % 3 == 2:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(request)
        if how % 3 == 1:
            connection.shutdown(socket.SHUT_WR)
            print(connection.recv(12).decode())
"""


@ROOT
@pytest.mark.root
def test_another_user_of_this_machine_gets_nothing_but_the_health(service: Served) -> None:
    """403 for all that is not public."""
    assert as_stranger(ASKS, port_of(service)).split() == ["200", "403", "403", "403"]


@ROOT
@pytest.mark.root
def test_another_user_who_hangs_up_at_once_is_not_taken_for_root(service: Served) -> None:
    """The kernel shows sockets that nobody owns any more as root's: whoever sends and closes must not act by that."""
    line, refused = " POST /api/jobs/quick/trigger ", " POST /api/jobs/quick/trigger 403 "
    before, were_refused = service.said().count(line), service.said().count(refused)
    answers = as_stranger(RUNS, port_of(service)).split("\n")
    assert set(filter(None, answers)) <= {"HTTP/1.1 403"}
    service.until(lambda: service.said().count(line) >= before + 20, "those that arrived were looked at")
    as_stranger(ASKS, port_of(service))  # whatever came before has been looked at by now
    said = service.said()  # once: the last line may be written after its answer was heard
    assert said.count(line) - before == said.count(refused) - were_refused


@ROOT
@pytest.mark.root
def test_another_user_comes_in_by_a_link_once(service: Served) -> None:
    """What `pysched open` prints: made on the Unix socket, good for one browser, and for nobody else after that."""
    url = service.post("/api/links")["url"]
    script = f"""
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
def ask(path, **headers):
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    answer.read()
    return answer
first = ask({url.partition(str(port_of(service)))[2]!r})
cookie = first.headers["Set-Cookie"].partition(";")[0]
print(first.status, ask("/api/runs", Cookie=cookie).status, ask("/api/runs").status,
      ask({url.partition(str(port_of(service)))[2]!r}).status)
"""
    assert as_stranger(script, port_of(service)).split() == ["303", "200", "403", "410"]
    (session,) = service.get("/api/sessions")["sessions"]
    assert (session["user"], session["via"]) == (user_name(os.geteuid()), "link")
    code = url.rpartition("/")[2]
    assert code not in service.said(), "a link is nothing to be read in a log"


# --------------------------------------------------------------------------- what it will not begin with


def refused(home: Path, config: str, *said: str) -> None:
    """Start a service that must refuse, before anything is made."""
    with served(home, config) as service:
        assert service.start(ready=False).wait() == 2
        assert not service.state.exists()
        for each in said:
            assert each in service.said()


def test_a_taken_port_is_refused_with_its_holder_named(tmp_path: Path) -> None:
    """Where the address was written: nobody may believe that it is served there."""
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        refused(tmp_path, text(f'"127.0.0.1:{port}"'), f"is taken by pid {os.getpid()}", "write another address")


WITH_A_DEFAULT_OF_ITS_OWN = """
from dataclasses import replace
from pyscheduler.service import address
bind = address.bind
def bound(config, credentials):
    assert not config.settings.listen_is_given
    return bind(replace(config, settings=replace(config.settings, listen="127.0.0.1:PORT")), credentials)
address.bind = bound
"""
"""Before a driver: the real default is taken and let go of by schedulers of other tests."""


def test_where_nobody_wrote_an_address_a_taken_default_is_no_obstacle(tmp_path: Path) -> None:
    """Two schedulers on one machine work as they come; the second one says that it has no TCP."""
    for home in ("a", "b"):
        (tmp_path / home).mkdir()
    with kept_port() as port:
        driver = WITH_A_DEFAULT_OF_ITS_OWN.replace("PORT", str(port)) + DRIVER
        with (
            served(tmp_path / "a", text(""), driver=driver) as first,
            served(tmp_path / "b", text(""), driver=driver) as second,
        ):
            first.start()
            assert port_of(first) == port
            second.start()
            assert f"no TCP listener: the default 127.0.0.1:{port} is taken" in second.said()
            assert second.get("/api/scheduler")["listen"] is None
            assert second.ask("POST", "/api/links").status == 409


@pytest.mark.parametrize("listen", ['"0.0.0.0:0"', '"[::]:0"'])
def test_the_network_is_not_let_in_without_credential_files(tmp_path: Path, listen: str) -> None:
    """Nobody could tell who comes."""
    refused(tmp_path, text(listen), "lets the network in, and nothing says who may come")


def test_a_faulty_credential_file_is_refused(tmp_path: Path) -> None:
    """All that is wrong with it, before anything is made; and one that is missing."""
    put(tmp_path, "tokens.yaml", "- {name: ci}\n")
    config = text(more=", api_tokens_file: tokens.yaml, users_file: nowhere.yaml")
    refused(tmp_path, config, "tokens.yaml:1:3: token_sha256: is missing", "nowhere.yaml: cannot be read")


def test_a_second_service_of_one_folder_hears_that_it_is_the_second(tmp_path: Path) -> None:
    """Not that some port is taken."""
    with served(tmp_path, text()) as service:
        service.start()
        service.write(text(f'"127.0.0.1:{port_of(service)}"'))
        with served(tmp_path, text(f'"127.0.0.1:{port_of(service)}"')) as second:
            second.log = tmp_path / "second.log"
            assert second.start(ready=False).wait() == 1
            assert f"another scheduler (pid {service.pid}) already serves this state_dir" in second.said()
        assert service.is_well()


# --------------------------------------------------------------------------- other ways to listen


def test_tcp_may_be_off(tmp_path: Path) -> None:
    """Then the Unix socket is all there is."""
    with served(tmp_path, text("off")) as service:
        service.start()
        assert service.get("/api/scheduler")["listen"] is None
        assert "listening at" not in service.said()


def test_ipv6_works_as_well(tmp_path: Path) -> None:
    """Our own user is known there too."""
    with served(tmp_path, text('"[::1]:0"')) as service:
        service.start()
        visitor = Visitor(port_of(service), "::1")
        assert visitor.ask("GET", "/api/runs").status == 200
        assert service.get("/api/scheduler")["listen"] == f"[::1]:{visitor.port}"


def test_the_network_comes_in_where_it_says_who_it_is(tmp_path: Path) -> None:
    """All interfaces, with a tokens file: whoever is nobody gets 401, from this machine too."""
    put(tmp_path, "tokens.yaml", tokens())
    with served(tmp_path, text('"[::]:0"', ", api_tokens_file: tokens.yaml")) as service:
        service.start()
        for host in ("127.0.0.1", "::1"):
            visitor = Visitor(port_of(service), host)
            assert visitor.ask("GET", "/api/runs").status == 401
            assert visitor.ask("GET", "/api/runs", authorization="Bearer token-of-viewer").status == 200


def test_who_uses_up_the_connections_of_tcp_does_not_shut_the_unix_socket(service: Served) -> None:
    """Each listener counts its own."""
    port = port_of(service)
    held = [socket.create_connection(("127.0.0.1", port)) for _ in range(1000)]
    try:
        service.until(lambda: Visitor(port).ask("GET", "/api/health").status == 503, "TCP is full")
        assert service.is_well()
    finally:
        for each in held:
            each.close()
    service.until(lambda: Visitor(port).ask("GET", "/api/health").status == 200, "there is room again")
