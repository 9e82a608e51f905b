"""Which scheduler is meant, and that no token goes where others can read it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.cli.address import LONGEST_TOKEN, Address, Elsewhere, is_loopback, read_address, read_token
from pyscheduler.cli.faults import WrongUsage
from tests.unit.cli.prompt import Prompt


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://night.example", Address(True, "night.example", 443)),
        ("https://night.example:8470/", Address(True, "night.example", 8470)),
        ("https://night.example/sched/", Address(True, "night.example", 443, "/sched")),
        ("http://127.0.0.1:8470", Address(False, "127.0.0.1", 8470)),
        ("http://localhost:8470", Address(False, "localhost", 8470)),
        ("http://[::1]:8470", Address(False, "::1", 8470)),
    ],
)
def test_an_address_is_read_and_said_again(text: str, address: Address) -> None:
    """As it was typed, but for a slash at its end and the usual port."""
    assert read_address(text, "--url") == address
    assert str(address) == text.rstrip("/")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("night.example", "no address"),
        ("ftp://night.example", "no address"),
        ("https://", "no address"),
        ("https://night.example:port", "no address"),
        ("https://night.example:99999", "no address"),
        ("https://night.example/a b", "no address"),
        ("https://night.example/\r\nX: y", "no address"),
        ("https://nächt.example", "no address"),
        ("https://ann:s3cret@night.example", "a name, a password"),
        ("https://night.example/?token=s3cret", "a name, a password"),
        ("http://night.example:8470", "is another machine"),
        ("http://192.0.2.7", "is another machine"),
        ("http://127.0.0.1.example", "is another machine"),
        ("http://0.0.0.0:8470", "is another machine"),
    ],
)
def test_what_is_none_is_refused(text: str, what: str) -> None:
    """Nothing is guessed, and what may be a secret is not repeated."""
    with pytest.raises(WrongUsage) as raised:
        read_address(text, "--url")
    assert what in str(raised.value)
    assert "s3cret" not in str(raised.value)


@given(st.text())
def test_no_text_makes_it_fail_in_another_way(text: str) -> None:
    """An address, or wrong usage."""
    try:
        assert isinstance(read_address(text, "--url", insecure_http=True), Address)
    except WrongUsage:
        return


def test_plain_http_to_another_machine_must_be_asked_for() -> None:
    """By its own option, which no variable stands for."""
    assert read_address("http://night.example", "--url", insecure_http=True).port == 80


@pytest.mark.parametrize(
    ("host", "is_one"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("LOCALHOST", True), ("localhost.example", False)],
)
def test_this_machine_is_known_by_name_alone(host: str, is_one: bool) -> None:
    """No resolver, which others may own, is asked."""
    assert is_loopback(host) is is_one


def test_the_option_goes_before_a_file_and_a_file_before_the_variable() -> None:
    """Two at once are refused; what is for an address and has none is, too."""
    environ = {"PYSCHED_URL": "https://there.example"}
    assert Elsewhere().address({}, is_file_given=False) is None
    assert Elsewhere().address({"PYSCHED_URL": ""}, is_file_given=False) is None
    assert str(Elsewhere().address(environ, is_file_given=False)) == "https://there.example"
    assert Elsewhere().address(environ, is_file_given=True) is None
    assert str(Elsewhere("https://here.example").address(environ, is_file_given=False)) == "https://here.example"
    for elsewhere, is_file_given in ((Elsewhere("https://x.example"), True), (Elsewhere(token_file="t"), False)):
        with pytest.raises(WrongUsage):
            elsewhere.address({}, is_file_given=is_file_given)
    with pytest.raises(WrongUsage):
        Elsewhere("http://127.0.0.1", ca_file="ca.pem").address({}, is_file_given=False)


def test_a_token_is_the_only_line_of_its_file(tmp_path: Path) -> None:
    """With or without an end of line; others that can read it are remarked upon."""
    file = tmp_path / "token"
    file.write_text("abc-DEF_123\n")
    file.chmod(0o600)
    noted: list[str] = []
    assert read_token(file, noted) == "abc-DEF_123"
    assert noted == []
    file.chmod(0o640)
    assert read_token(file, noted) == "abc-DEF_123"
    assert noted == [f"remark: {file} has mode 0640: others can read the token; chmod 600 it"]


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"two words", b"a\nb", b"\xff\xfe", b"x" * (LONGEST_TOKEN + 1), b"a\x00b"]
)
def test_a_file_without_a_token_is_refused(tmp_path: Path, data: bytes) -> None:
    """And what it holds is not repeated."""
    file = tmp_path / "token"
    file.write_bytes(data)
    with pytest.raises(WrongUsage) as raised:
        read_token(file, [])
    assert str(raised.value).startswith(f"{file}: the file holds no token")


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    """With the reason."""
    with pytest.raises(WrongUsage, match="No such file"):
        read_token(tmp_path / "none", [])


def test_a_token_file_may_be_named_by_a_variable(tmp_path: Path) -> None:
    """The option goes before it."""
    for name in "ab":
        (tmp_path / name).write_text(f"token-{name}")
    environ = {"PYSCHED_TOKEN_FILE": str(tmp_path / "a")}
    assert Elsewhere().token({}) is None
    assert Elsewhere().token(environ) == "token-a"
    assert Elsewhere(token_file=str(tmp_path / "b")).token(environ) == "token-b"


def test_files_of_the_scheduler_are_not_looked_for_here(pysched: Prompt) -> None:
    """`diff NEW` compares with a file that lies there."""
    said = pysched("--url", "https://night.example", "diff", "new.yaml")
    assert said.code == 2
    assert "the scheduler's files are on the scheduler's own machine alone" in said.err


def test_a_file_is_no_mistake_where_a_variable_names_an_address(pysched: Prompt) -> None:
    """It says which is meant, as an option or as an argument."""
    environ = {"PYSCHED_URL": "https://night.example"}
    for typed in (["-c", str(pysched.config), "forecast"], ["forecast", str(pysched.config)]):
        assert pysched(*typed, environ=environ).code == 0
    said = pysched("--url", "https://night.example", "forecast", str(pysched.config))
    assert (said.code, "name two schedulers" in said.err) == (2, True)
