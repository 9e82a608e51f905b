"""What a stored token or password looks like."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher

from pyscheduler.config.password_lines import check_password_line, check_token_hash
from pyscheduler.config.values import BadValue

SALT, KEY = "ab" * 16, "cd" * 32


def argon2(m: int = 65536, t: int = 3, p: int = 4) -> str:
    return f"$argon2id$v=19$m={m},t={t},p={p}$De8GTLFb2jScIK1vDOxJVQ$w07RkQRy0DxB1JHfOd1b0yMODzwXKgwfFPr78Qlx8YI"


def test_what_our_own_commands_make_is_taken() -> None:
    """And the PBKDF2 lines of the specification."""
    for line in (PasswordHasher().hash("x"), argon2(), f"pbkdf2_sha256$100000${SALT}${KEY}"):
        assert check_password_line(line) == line
    assert check_token_hash("0a" * 32) == "0a" * 32


@pytest.mark.parametrize("text", ["", "0A" * 32, "0a" * 31, "0a" * 33, "0g" * 32, "0a" * 32 + "\n", "hunter2"])
def test_what_is_no_token_hash_is_refused_without_being_shown(text: str) -> None:
    """It may be the token itself."""
    with pytest.raises(BadValue) as refused:
        check_token_hash(text)
    assert not text or text not in str(refused.value)


@pytest.mark.parametrize(
    "line",
    [
        *("", "hunter2", "$1$salt$hash", argon2() + "$", argon2().upper(), "\n" + argon2(), argon2()[:-30]),
        *(f"pbkdf2_sha256$1000${SALT}", f"pbkdf2_sha1$1000${SALT}${KEY}", f"pbkdf2_sha256$-1${SALT}${KEY}"),
        f"pbkdf2_sha256$1000${SALT.upper()}${KEY}",
    ],
)
def test_what_is_no_password_line_is_refused_without_being_shown(line: str) -> None:
    """It may be the password itself."""
    with pytest.raises(BadValue) as refused:
        check_password_line(line)
    assert not line or line not in str(refused.value)


@pytest.mark.parametrize(
    "line",
    [
        argon2(m=1 << 21),
        argon2(m=1),
        argon2(t=999),
        argon2(p=999),
        f"pbkdf2_sha256$99999999${SALT}${KEY}",
        f"pbkdf2_sha256$1${SALT}${KEY}",
    ],
)
def test_a_line_that_costs_too_much_or_nothing_is_refused(line: str) -> None:
    """One sign-in must not take the machine's memory, nor be guessed a million times a second."""
    with pytest.raises(BadValue, match="are allowed"):
        check_password_line(line)
