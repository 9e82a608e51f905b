"""Is it this user's password."""

from __future__ import annotations

import hashlib

import pytest
from argon2 import PasswordHasher

from pyscheduler.api import passwords
from pyscheduler.api.passwords import LONGEST, Passwords, fits_line
from pyscheduler.model.person import Credentials, Role, User

CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
SALT = bytes(range(16))


def pbkdf2(password: str, rounds: int = 1000) -> str:
    key = hashlib.pbkdf2_hmac("sha256", password.encode(), SALT, rounds)
    return f"pbkdf2_sha256${rounds}${SALT.hex()}${key.hex()}"


LINES = {"argon2": CHEAP.hash("s\u20accret"), "pbkdf2": pbkdf2("s\u20accret")}


@pytest.mark.parametrize("kind", list(LINES))
def test_the_right_password_fits_and_no_other(kind: str) -> None:
    """Neither a longer one nor a shorter, nor one with another letter."""
    assert fits_line(LINES[kind], "s\u20accret")
    for wrong in ("", "s\u20accre", "s\u20accret ", "S\u20accret", "s\udcffcret", "x" * (LONGEST + 1)):
        assert not fits_line(LINES[kind], wrong)


def test_a_line_that_is_none_fits_nothing() -> None:
    """It cannot come out of a file; if it does, nobody gets in by it."""
    assert not fits_line("$argon2id$nonsense", "nonsense")


async def test_who_has_the_password_is_the_user() -> None:
    """An unknown name, a wrong password, another's password and no users at all are all nobody."""
    ann = User(name="ann", password_hash=LINES["argon2"], role=Role.OPERATOR)
    bob = User(name="bob", password_hash=pbkdf2("other"), role=Role.ADMIN)
    credentials, desk = Credentials(users=(ann, bob)), Passwords()
    try:
        assert await desk.check(credentials, "ann", "s\u20accret") is ann
        assert await desk.check(credentials, "bob", "s\u20accret") is None
        assert await desk.check(credentials, "eve", "s\u20accret") is None
        assert await desk.check(credentials, "eve", "other") is None
        assert await desk.check(Credentials(users=()), "ann", "s\u20accret") is None
    finally:
        desk.close()


async def test_an_unknown_name_is_checked_against_a_line_like_a_known_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same one each time: neither one answer nor many tell which names exist."""
    lines: list[str] = []

    def fits(line: str, _password: str) -> bool:
        lines.append(line)
        return True

    monkeypatch.setattr(passwords, "fits_line", fits)
    users = tuple(User(name=f"u{n}", password_hash=f"line{n}", role=Role.VIEWER) for n in range(5))
    desk = Passwords()
    try:
        for _ in range(3):
            assert await desk.check(Credentials(users=users), "eve", "x") is None
    finally:
        desk.close()
    assert len(lines) == 3
    assert set(lines) < {user.password_hash for user in users}
    assert len(set(lines)) == 1
