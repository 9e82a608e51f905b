"""Each type of notifier against the real thing: a server, a mailbox, a process, a file. Spec: jobs.md 15.3."""

from __future__ import annotations

import email
import email.policy
import json
import os
import socket
import ssl
import sys
import time
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.alerts import NotifyError
from pyscheduler.alerts.definition import Definition
from pyscheduler.alerts.message import Message, message_of
from pyscheduler.alerts.notifiers import notifier_of
from pyscheduler.model.job import Settings
from tests.receivers import hook, post
from tests.relay import certificate
from tests.unit.alerts.test_message import an_alert
from tests.yard import alive

SETTINGS = Settings(state_dir=Path("/s"), log_dir=Path("/l"))


def a_message(text: str = "load failed: exit 1") -> Message:
    return message_of(an_alert(text, reason="exit 1"), "night")


def send(folder: Path, kind: str, message: Message | None = None, *, timeout_s: float = 60.0, **options: Any) -> None:
    """Send one message by a notifier of these options."""
    definition = Definition(
        name="n",
        kind=kind,
        options=options,
        folder=folder,
        timeout_s=timeout_s,
        withheld=frozenset({"NOT_FOR_COMMANDS"}),
    )
    notifier_of(definition, SETTINGS).send(message or a_message())


# --------------------------------------------------------------------------- log


def test_a_log_gets_one_line_an_alert(tmp_path: Path) -> None:
    """Beside the configuration, appended, and each line is JSON."""
    send(tmp_path, "log", path="alerts.jsonl")
    send(tmp_path, "log", a_message("a\nb"), path="alerts.jsonl")
    lines = (tmp_path / "alerts.jsonl").read_text().splitlines()
    assert [json.loads(line)["message"] for line in lines] == ["load failed: exit 1", "a b"]


def test_a_log_that_cannot_be_written_fails(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        send(tmp_path, "log", path="no/such/folder.jsonl")


# --------------------------------------------------------------------------- command


def test_a_command_has_the_alert_on_its_standard_input(tmp_path: Path) -> None:
    send(tmp_path, "command", command="cat > got.json")
    assert json.loads((tmp_path / "got.json").read_text())["kind"] == "failed"
    send(tmp_path, "command", command=[sys.executable, "-c", "import sys; open('two', 'w').write(sys.stdin.read())"])
    assert json.loads((tmp_path / "two").read_text())["run_id"] == "load.2027-05-20.1"


def test_a_command_that_does_not_read_it_is_no_fault(tmp_path: Path) -> None:
    """Not even where the alert is larger than a pipe."""
    send(tmp_path, "command", message_of(an_alert(reason="x" * 300_000), "night"), command="true")


def test_a_command_that_fails_says_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(NotifyError, match="the command ended with exit 3: no such channel"):
        send(tmp_path, "command", command="echo first >&2; echo 'no such channel' >&2; exit 3")
    with pytest.raises(NotifyError, match="the command ended with signal 9"):
        send(tmp_path, "command", command="kill -9 $$")


def test_a_command_that_writes_without_end_keeps_nobody_and_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotifyError, match="exit 1: end"):
        send(tmp_path, "command", command="head -c 3000000 /dev/zero >&2; echo; echo end >&2; exit 1")


def test_a_command_and_all_it_started_end_at_the_timeout(tmp_path: Path) -> None:
    command = "sleep 60 & echo $! > child; echo $$ > leader; sleep 60"
    with pytest.raises(NotifyError, match="the command did not end within 5 s"):
        send(tmp_path, "command", command=command, timeout_s=5.0)  # a busy machine may take that long to begin
    pids = [int((tmp_path / name).read_text()) for name in ("leader", "child")]
    until = time.monotonic() + 60
    while any(map(alive, pids)):
        assert time.monotonic() < until, "somebody outlived the timeout"
        time.sleep(0.01)


def test_a_command_does_not_see_what_the_configuration_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Field case FC-082: the other notifiers' secrets are not in its environment."""
    monkeypatch.setenv("NOT_FOR_COMMANDS", "s3cret")
    monkeypatch.setenv("FOR_ALL", "hello")
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/x")
    send(tmp_path, "command", command="env > env")
    seen = (tmp_path / "env").read_text()
    assert "hello" in seen
    assert "s3cret" not in seen
    assert "NOTIFY_SOCKET" not in seen


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        send(tmp_path, "command", command=["/no/such/program"])


# --------------------------------------------------------------------------- HTTP


def test_a_webhook_gets_the_json_and_the_headers(tmp_path: Path) -> None:
    with hook(status=204) as server:
        send(tmp_path, "webhook", url=f"{server.url}/in?a=b", headers={"X-Token": "t"})
    (got,) = server.got
    assert (got.method, got.path, got.json["message"]) == ("POST", "/in?a=b", "load failed: exit 1")
    assert (got.headers["Content-Type"], got.headers["X-Token"]) == ("application/json", "t")


def test_a_name_and_password_in_the_address_are_a_header(tmp_path: Path) -> None:
    with hook() as server:
        send(tmp_path, "webhook", url=f"http://ann:p%40ss@127.0.0.1:{server.port}/")
    assert server.got[0].headers["Authorization"] == "Basic YW5uOnBAc3M="


@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_anything_but_success_is_a_failure(tmp_path: Path, status: int) -> None:
    with hook(status=status) as server, pytest.raises(NotifyError, match=rf"127\.0\.0\.1 answered {status}$"):
        send(tmp_path, "webhook", url=f"{server.url}/hook-key-1234")


def test_a_redirect_is_refused_and_not_followed(tmp_path: Path) -> None:
    """What was meant for one address is never sent to another."""
    with hook() as other, hook(status=307, headers={"Location": other.url}) as server:
        with pytest.raises(NotifyError, match="answered 307: redirects are not followed"):
            send(tmp_path, "webhook", url=server.url)
        assert other.got == []


def test_nobody_there_and_nobody_who_answers(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        with pytest.raises(NotifyError, match=r"127\.0\.0\.1 cannot be reached: Connection refused"):
            send(tmp_path, "webhook", url=f"http://127.0.0.1:{port}/key")
        silent.listen()
        with pytest.raises(NotifyError, match=r"127\.0\.0\.1 did not answer within 0\.3 s"):
            send(tmp_path, "webhook", url=f"http://127.0.0.1:{port}/key", timeout_s=0.3)


@pytest.mark.parametrize(
    "url", ["ftp://x/y", "file:///etc/passwd", "http:///x", "http://x\n/", "http://a b/", "x", "http://x:0/"]
)
def test_an_address_that_is_none_is_refused_without_being_named(tmp_path: Path, url: str) -> None:
    with pytest.raises(ValueError, match=r"^the address ") as refused:
        send(tmp_path, "webhook", url=url)
    assert url not in str(refused.value)


def test_a_header_that_is_none_is_not_shown(tmp_path: Path) -> None:
    with hook() as server, pytest.raises(NotifyError) as refused:
        send(tmp_path, "webhook", url=server.url, headers={"X-Token": "s3cret\nX: y"})
    assert "s3cret" not in str(refused.value)


def test_slack_gets_one_line(tmp_path: Path) -> None:
    with hook() as server:
        send(tmp_path, "slack", webhook_url=f"{server.url}/services/T/B/x")
    assert server.got[0].json == {"text": "[high] load failed: exit 1"}


def test_telegram_gets_the_same_line(tmp_path: Path) -> None:
    with hook() as server:
        send(tmp_path, "telegram", bot_token="12:ab", chat_id="-42", api_url=server.url)
    assert server.got[0].path == "/bot12:ab/sendMessage"
    assert server.got[0].json == {"chat_id": "-42", "text": "[high] load failed: exit 1"}


# --------------------------------------------------------------------------- mail


def test_a_mail_has_the_line_as_subject_and_the_json_as_text(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "host": "127.0.0.1",
        "from": "p@example.org",
        "starttls": "false",
        "username": "u",
        "password": "p",
    }
    with post() as server:
        message = a_message("load failed:\nBcc: all@example.org\udcff")
        send(tmp_path, "email", message, port=str(server.port), to=["a@example.org", "b@example.org"], **options)
    mail = email.message_from_bytes(server.mails[0], policy=email.policy.default)
    assert mail["Subject"] == "[pysched high] load failed: Bcc: all@example.org?"
    assert (mail["To"], mail["Bcc"]) == ("a@example.org, b@example.org", None)
    assert mail["Message-ID"] == "<load.2027-05-20.1.failed.1@example.org>"
    assert json.loads(mail.get_content())["kind"] == "failed"
    assert [line for line in server.said if line.startswith("rcpt")] == [
        "rcpt TO:<a@example.org>",
        "rcpt TO:<b@example.org>",
    ]


def test_a_mail_that_is_refused_says_why_without_what(tmp_path: Path) -> None:
    options: dict[str, Any] = {"host": "127.0.0.1", "from": "p@example.org", "to": "a@example.org", "starttls": "false"}
    with (
        post(refuses="550 no such user") as server,
        pytest.raises(NotifyError, match=r"127\.0\.0\.1 did not take the mail"),
    ):
        send(tmp_path, "email", port=str(server.port), **options)


def test_a_mail_is_not_sent_in_clear_unless_asked_for(tmp_path: Path) -> None:
    """starttls is on by default, and a server without it gets nothing."""
    options: dict[str, Any] = {"host": "127.0.0.1", "from": "p@example.org", "to": "a@example.org"}
    with post() as server, pytest.raises(NotifyError):
        send(tmp_path, "email", port=str(server.port), **options)
    assert server.mails == []


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody has signed, and its key."""
    return certificate(tmp_path_factory.mktemp("tls"))


def safe(trusted: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*trusted)
    return context


SAFE: dict[str, Any] = {"host": "127.0.0.1", "from": "p@example.org", "to": "a@example.org"}


@pytest.mark.parametrize(("smtps", "more"), [(False, {}), (True, {"smtps": "true"})])
def test_a_mail_goes_encrypted_where_the_certificate_is_trusted(
    tmp_path: Path, trusted: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, smtps: bool, more: dict[str, Any]
) -> None:
    """By STARTTLS, or from the first byte; name and password too."""
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted[0]))
    with post(tls=safe(trusted), smtps=smtps) as server:
        send(tmp_path, "email", port=str(server.port), username="u", password="p", **SAFE, **more)
    assert (len(server.mails), server.safe) == (1, [True])


@pytest.mark.parametrize(("smtps", "more"), [(False, {}), (True, {"smtps": "true"})])
def test_a_server_that_nobody_vouches_for_gets_nothing(
    tmp_path: Path, trusted: tuple[Path, Path], smtps: bool, more: dict[str, Any]
) -> None:
    with post(tls=safe(trusted), smtps=smtps) as server, pytest.raises(OSError, match="certificate verify failed"):
        send(tmp_path, "email", port=str(server.port), **SAFE, **more)
    assert server.mails == []


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"port": "465"}, "SMTP_SSL"),
        ({"port": "465", "starttls": "false"}, "SMTP_SSL"),
        ({"port": "465", "smtps": "false"}, "SMTP"),
        ({"port": "2465", "smtps": "true"}, "SMTP_SSL"),
        ({}, "SMTP"),
    ],
)
def test_port_465_means_tls_from_the_first_byte_unless_a_key_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], kind: str
) -> None:
    class Reached(Exception):
        pass

    def reached(name: str) -> Any:
        def connect(*_: object, **__: object) -> Any:
            raise Reached(name)

        return connect

    monkeypatch.setattr("smtplib.SMTP", reached("SMTP"))
    monkeypatch.setattr("smtplib.SMTP_SSL", reached("SMTP_SSL"))
    with pytest.raises(Reached, match=f"^{kind}$"):
        send(tmp_path, "email", **SAFE, **options)


# --------------------------------------------------------------------------- plug-ins


class Pigeon:
    """A plug-in as somebody else would write it."""

    flown: list[Any] = []  # noqa: RUF012 - the test reads it

    def __init__(self, definition: Any, settings: Any) -> None:
        if "loft" not in definition.options:
            raise ValueError("a pigeon needs a loft")
        self._loft, self._name = definition.options["loft"], settings.name

    async def send(self, alert: Any) -> None:
        if self._loft == "burnt":
            raise NotifyError("the loft has burnt down")
        Pigeon.flown.append((self._loft, self._name, alert["alert_id"]))


def test_a_plug_in_sends_by_its_own_coroutine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = EntryPoints([EntryPoint("pigeon", f"{__name__}:Pigeon", "pyscheduler.notifiers")])
    monkeypatch.setattr("pyscheduler.alerts.notifiers.plugin.entry_points", lambda **given: points.select(**given))
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    send(tmp_path, "pigeon", loft="east")
    assert Pigeon.flown == [("east", "pysched", "load.2027-05-20.1:failed:1")]
    with pytest.raises(NotifyError, match="burnt"):
        send(tmp_path, "pigeon", loft="burnt")
    with pytest.raises(ValueError, match="needs a loft"):
        send(tmp_path, "pigeon")
    with pytest.raises(ValueError, match="there is no plug-in for notifiers of type crow"):
        send(tmp_path, "crow")


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    """Ten thousand alerts must not cost ten thousand descriptors."""
    with hook() as server:
        send(tmp_path, "webhook", url=server.url)
        send(tmp_path, "command", command="true")
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            send(tmp_path, "log", path="x")
            send(tmp_path, "command", command="true")
        until = time.monotonic() + 60
        while len(os.listdir("/proc/self/fd")) > before:  # who fed the last command may still be closing its pipe
            assert time.monotonic() < until, "descriptors are left open"
            time.sleep(0.01)
