"""Is it this user's password? Answered on threads of its own, two at a time: a hash is slow and large on purpose.

An unknown name costs what a known one costs: it is checked against the line of some user, always the same one for the
same name, so that neither one answer nor many tell which names exist. Spec: jobs.md 13.2.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from pyscheduler.api.threads import Threads
from pyscheduler.model.person import Credentials, User

WORKERS: Final = 2
WAITING: Final = 20
LONGEST: Final = 1000
"""Characters of a password that are looked at; whatever is longer is wrong."""
_NOBODY: Final = "$argon2id$v=19$m=65536,t=3,p=4$De8GTLFb2jScIK1vDOxJVQ$w07RkQRy0DxB1JHfOd1b0yMODzwXKgwfFPr78Qlx8YI"
"""A line that no password fits, for when there are no users at all."""


class Passwords:
    """Checks passwords, off the loop."""

    def __init__(self) -> None:
        self._threads = Threads(WORKERS, WAITING, "passwords")
        self._salt = secrets.token_bytes(16)

    async def check(self, credentials: Credentials, name: str, password: str) -> User | None:
        """Return the user of that name if the password is theirs. Raises Unavailable where too many wait already."""
        user = credentials.user(name)
        line = self._decoy(credentials, name) if user is None else user.password_hash
        fits = await self._threads(fits_line, line, password)
        return user if fits else None

    def _decoy(self, credentials: Credentials, name: str) -> str:
        users = credentials.users or ()
        if not users:
            return _NOBODY
        drawn = hmac.digest(self._salt, name.encode("utf-8", "replace"), "sha256")
        return users[int.from_bytes(drawn[:8], "big") % len(users)].password_hash

    def close(self) -> None:
        """Take no more passwords."""
        self._threads.close()


def fits_line(line: str, password: str) -> bool:
    """Whether a password fits a stored line. Slow on purpose: not for the loop."""
    if len(password) > LONGEST:
        return False
    typed = password.encode("utf-8", "replace")
    if line.startswith("pbkdf2_sha256$"):
        _, rounds, salt, key = line.split("$")
        made = hashlib.pbkdf2_hmac("sha256", typed, bytes.fromhex(salt), int(rounds))
        return hmac.compare_digest(made, bytes.fromhex(key))
    try:
        return PasswordHasher().verify(line, typed)
    except (VerificationError, InvalidHashError):
        return False
