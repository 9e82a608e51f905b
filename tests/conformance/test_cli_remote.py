"""The command line against a scheduler at an address: the same commands, the same output, the same exit codes.

A relay stands where the TCP listener does, so both ways lead to one scheduler; who may come in by TCP is tested with
the listener. Issue: the console, "the CLI works against a remote scheduler".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hours import MIDNIGHT, NIGHTLY, clear_of
from tests.relay import Relay, certificate, relay
from tests.shell import Shell, shell

TEXT = r"""
scheduler: {name: night, timezone: Europe/Berlin}
pools: {disk: 1}
defaults: {schedule: manual}
jobs:
  bytes: {command: "printf 'before\\n\\377\\376\\303\\n\\342\\202 cut\\nafter\\n'; printf 'oops\\n' >&2"}
  slow: {command: "echo one; sleep 1; echo two"}
  fails: {command: "exit 3"}
  holder: {command: "sleep 300", pools: {disk: 1}}
  after: {command: "true", schedule: "0 3 1 1 *", depends_on: [fails]}
  nightly: {command: "true", schedule: "30 2 * * *", tags: [night]}
  follows: {command: "true", depends_on: [nightly], schedule: []}
  tokyo: {command: "true", schedule: {at: "09:00"}, timezone: Asia/Tokyo}
  nigh: {command: "sleep 300", schedule: "0 3 * * *", overlap: allow}
  afar: {command: "sleep 300", schedule: "0 3 * * *", overlap: allow}
  off: {command: "true", schedule: "@daily", enabled: false}
"""
WINDOW = ("--from", "2027-05-20", "--to", "2027-05-27")


@pytest.fixture(scope="module")
def pysched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    clear_of(MIDNIGHT, NIGHTLY, zone="Europe/Berlin")
    with shell(tmp_path_factory.mktemp("night"), TEXT.replace(", schedule: []", "")) as found:
        found.serve()
        found.until_state(found.trigger("bytes", "--reason", "a test"), "succeeded")
        found.until_state(found.trigger("fails"), "failed")
        found.until_state(found.trigger("holder"), "running")
        found.trigger("holder")
        yield found


@pytest.fixture(scope="module")
def far(pysched: Shell) -> Iterator[Relay]:
    with relay(pysched.home / "state" / "api.sock") as found:
        yield found


LOOKS = [
    ("",),
    ("status", "--json"),
    ("jobs",),
    ("jobs", "--tag", "night", "--json"),
    ("runs",),
    ("runs", "--state", "failed", "--json"),
    ("runs", "--job", "nosuch"),
    ("show", "fails"),
    ("show", "bytes", "--json"),
    ("show", "nosuch"),
    ("log", "bytes"),
    ("log", "bytes", "--stderr"),
    ("log", "bytes", "--tail", "2"),
    ("log", "bytes", "--follow"),
    ("log", "fails"),
    ("events",),
    ("events", "--since", "yesterday", "--json"),
    ("why", "after", "2028-01-01"),
    ("why", "holder"),
    ("why", "fails", "--json"),
    ("why", "nosuch"),
    ("next", "--after", "2027-05-20"),
    ("next", "--after", "2027-05-20", "--json"),
    ("next", "nightly", "--after", "2027-10-30", "-n", "3"),
    ("next", "nightly", "--after", "2027-03-27", "--json"),
    ("next", "tokyo", "--after", "2027-05-20"),
    ("next", "off"),
    ("next", "bytes", "--json"),
    ("next", "nihgtly"),
    ("forecast", *WINDOW),
    ("forecast", *WINDOW, "--job", "nightly", "--json"),
    ("forecast", *WINDOW, "--job", "nihgtly"),
    ("diff",),
    ("diff", "--json"),
    ("catch-up",),
    ("alerts",),
    ("alerts", "--dead", "--json"),
    ("audit", "verify"),
    ("audit", "list", "--action", "trigger"),
    ("audit", "--json"),
]


@pytest.mark.parametrize("typed", LOOKS, ids=" ".join)
def test_looking_is_the_same_from_afar(pysched: Shell, far: Relay, typed: tuple[str, ...]) -> None:
    """Byte for byte, with the same exit code; what an error says as well, but for where."""
    words = [word for word in typed if word]
    config = str(pysched.config)
    near = pysched.inside("-c", config, *words)
    away = pysched.inside("--url", far.url, *words)
    assert away.code == near.code
    assert _timeless(away.raw.decode("latin-1")) == _timeless(near.raw.decode("latin-1"))
    assert away.err == near.err


def _timeless(text: str) -> str:
    """Leave out what moves on between two looks."""
    text = re.sub(r"\b(?:\d+[dhms])*\d+(?:\.\d+)?s\+", "N+", text)
    return re.sub(r'"now": "[^"]*"|"commits": \d+', "NOW", text)


def test_the_board_is_the_same_from_afar(pysched: Shell, far: Relay) -> None:
    """But for the clock in it."""
    near, away = pysched.inside("-c", str(pysched.config), "status"), pysched.inside("--url", far.url, "status")
    clock = re.compile(r"\d\d:\d\d:\d\d|\d+[ms]\d*s?\+?")
    assert clock.sub("T", away.out) == clock.sub("T", near.out)


ACTS = [
    ("trigger", "{job}", "--run-date", "2027-05-20", "--reason", "by hand"),
    ("trigger", "nosuch"),
    ("trigger", "off"),
    ("hold", "{run}"),
    ("hold", "{run}", "--json"),
    ("release", "{run}"),
    ("rerun", "fails", "--json"),
    ("skip", "{run}", "--reason", "x"),
    ("mark-success", "{run}", "nosuch.2027-05-20.1"),
    ("backfill", "{job}", "--from", "2026-05-18", "--to", "2026-05-20"),
    ("pause", "{job}", "--reason", "x"),
    ("resume", "{job}"),
    ("reload",),
    ("reload", "--json"),
    ("kill", "{run}"),
]


@pytest.mark.parametrize("typed", ACTS, ids=" ".join)
def test_acting_is_the_same_from_afar(pysched: Shell, far: Relay, typed: tuple[str, ...]) -> None:
    """Done to two runs or two jobs alike, or the same refusal twice: nothing differs but their names."""
    done = []
    for access, job in ((("-c", str(pysched.config)), "nigh"), (("--url", far.url), "afar")):
        run = pysched.trigger("holder") if "{run}" in typed else ""
        done.append((pysched.inside(*access, *(word.format(run=run, job=job) for word in typed)), run))
    (near, first), (away, second) = done
    assert away.code == near.code
    assert _numberless(away.out, second) == _numberless(near.out, first)
    assert _numberless(away.err, second) == _numberless(near.err, first)


def _numberless(text: str, run: str) -> str:
    text = text.replace(run, "RUN") if run else text
    text = re.sub(r"\b(nigh|afar)\b", "JOB", text)
    text = re.sub(r"\b(\w+)\.\d{4}-\d\d-\d\d\.\d+", r"\1.N", text)
    text = re.sub(r"\d{4}-\d\d-\d\d", "DAY", text)
    return re.sub(r'"seq": \d+|"[a-z_]+_at": "[^"]*"|\d\d:\d\d:\d\d\S*', "N", text)


@pytest.mark.parametrize("cuts", [1, 3])
def test_an_action_whose_answer_is_cut_is_done_once(pysched: Shell, far: Relay, cuts: int) -> None:
    """The connection breaks after the deed: it is asked for again, and told of the run that it made."""
    before = {run["run_id"] for run in pysched.ok("runs", "--job", "slow", "--json").json["runs"]}
    far.cuts = cuts
    done = pysched.inside("--url", far.url, "trigger", "slow")
    assert done.code == 0, done
    new = {run["run_id"] for run in pysched.ok("runs", "--job", "slow", "--json").json["runs"]} - before
    assert len(new) == 1
    assert new.pop() in done.out


def test_all_next_firings_are_one_question(pysched: Shell, far: Relay) -> None:
    """However many jobs there are, up to a thousand."""
    pysched.inside("--url", far.url, "version")
    far.requests.clear()
    assert pysched.inside("--url", far.url, "next").code == 0
    assert sum(b" /api/next?" in request for request in far.requests) == 1
    assert not [request for request in far.requests if b" /api/jobs" in request]


def test_a_log_is_followed_to_its_runs_end(pysched: Shell, far: Relay) -> None:
    """Through attempts that are still to come."""
    run = pysched.trigger("slow")
    done = pysched.inside("--url", far.url, "log", "-f", run)
    assert (done.code, done.out) == (0, "one\ntwo\n")
    assert f"--- {run}: succeeded" in done.err


def test_the_environment_names_it_too(pysched: Shell, far: Relay, tmp_path: Path) -> None:
    """PYSCHED_URL and PYSCHED_TOKEN_FILE; -c goes before them; a token that others can read is remarked upon."""
    token = tmp_path / "token"
    token.write_text("s3cret-token\n")
    token.chmod(0o600)
    far.requests.clear()
    done = pysched.inside("jobs", PYSCHED_URL=far.url, PYSCHED_TOKEN_FILE=str(token))
    assert (done.code, done.err) == (0, "")
    assert b"authorization: bearer s3cret-token\r\n" in far.requests[0].lower()
    token.chmod(0o644)
    done = pysched.inside("jobs", "--url", far.url, "--token-file", str(token))
    assert done.code == 0
    assert done.err == f"remark: {token} has mode 0644: others can read the token; chmod 600 it\n"
    far.requests.clear()
    assert pysched.inside("jobs", "-c", str(pysched.config), PYSCHED_URL=far.url).code == 0
    assert far.requests == []


def test_by_https_with_an_authority_of_its_own(pysched: Shell, tmp_path: Path) -> None:
    """One that is not trusted gets no token; with --ca-file it is."""
    pair = certificate(tmp_path)
    token = tmp_path / "token"
    token.write_text("s3cret-token")
    token.chmod(0o600)
    with relay(pysched.home / "state" / "api.sock", pair) as safe:
        given = ("--url", safe.url, "--token-file", str(token))
        done = pysched.inside(*given, "jobs")
        assert done.code == 1
        assert done.err.startswith(f"error: {safe.url}: there is no safe connection (")
        assert safe.requests == []
        assert pysched.inside(*given, "--ca-file", str(pair[0]), "jobs").code == 0
        assert b"bearer s3cret-token" in safe.requests[0].lower()
        done = pysched.inside(*given, "--ca-file", str(token), "jobs")
        assert (done.code, "--ca-file takes a PEM file" in done.err) == (2, True)


def answer(status: str, body: str, *more: str) -> bytes:
    head = [f"HTTP/1.1 {status}", "Content-Type: application/json", "Connection: close", *more]
    return ("\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]) + body).encode()


@pytest.mark.parametrize(
    ("said", "error", "mend"),
    [
        (answer("401 X", '{"error": "unauthorised"}'), "unauthorised", "name a file with a token: --token-file FILE"),
        (
            answer("403 X", '{"error": "forbidden", "mend": "this needs the role operator"}'),
            "forbidden",
            "this needs the role operator",
        ),
        (answer("403 X", '{"error": "forbidden host"}'), "forbidden host", "name a file with a token"),
        (
            answer("302 X", "", "Location: https://elsewhere.example/login"),
            "the answer points elsewhere (https://elsewhere.example/login), and no redirect is followed",
            "give the scheduler's own address",
        ),
        (
            answer("200 X", "<html>", "Content-Type: text/html").replace(b"Content-Type: application/json\r\n", b""),
            "a page answered, with status 200: this is no scheduler's API, or something is before it",
            "give the scheduler's own address",
        ),
        (
            b"SSH-2.0-OpenSSH_9.2\r\n",
            "the scheduler broke off in the middle of its answer, or this is no HTTP",
            "is it",
        ),
    ],
)
def test_what_goes_wrong_says_how_to_mend_it(
    pysched: Shell, far: Relay, monkeypatch: pytest.MonkeyPatch, said: bytes, error: str, mend: str
) -> None:
    """In the scheduler's words where it has any."""
    monkeypatch.setattr(far, "instead", said)
    done = pysched.inside("--url", far.url, "jobs")
    assert done.code == 1
    first, second = done.err.splitlines()
    assert first == f"error: {far.url}: {error}"
    assert second.startswith(f"  mend: {mend}")


def test_a_token_that_is_not_known_is_told_apart(
    pysched: Shell, far: Relay, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """From none at all."""
    token = tmp_path / "token"
    token.write_text("x")
    token.chmod(0o600)
    for status, mend in (("401", "not one of the scheduler's"), ("403", "role does not cover")):
        monkeypatch.setattr(far, "instead", answer(f"{status} X", '{"error": "x"}'))
        done = pysched.inside("--url", far.url, "--token-file", str(token), "jobs")
        assert mend in done.err


def test_nobody_at_the_address_is_said(pysched: Shell) -> None:
    """And no store is read in its place."""
    done = pysched.inside("--url", "http://127.0.0.1:9", "status")
    assert done.code == 1
    assert done.err.startswith("error: http://127.0.0.1:9: nothing listens there\n")
