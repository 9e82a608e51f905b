"""Who may come in, as the credential files say it: programs with a token, people with a password, what each may do.

Neither a token nor a password is ever here: only what can tell whether somebody has it. Spec: jobs.md 13.1, 13.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum


class Role(StrEnum):
    """What somebody may do: look; act on runs and jobs; all of that and the scheduler itself."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def covers(self, needed: Role) -> bool:
        """Whether who has this role may do what needs that one."""
        order = list(Role)
        return order.index(self) >= order.index(needed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A program that may come in. `sha256` is of its token, 64 lower-case hex; `expires` is its last day, in UTC."""

    name: str
    sha256: str = field(repr=False)
    role: Role
    teams: frozenset[str] = frozenset()
    expires: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A person who may sign in. `password_hash` is Argon2's or PBKDF2's line, checked for its form."""

    name: str
    password_hash: str = field(repr=False)
    role: Role
    teams: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What both files hold. None: no such file is configured, which is not the same as an empty one."""

    tokens: tuple[Token, ...] | None = None
    users: tuple[User, ...] | None = None

    @property
    def is_open(self) -> bool:
        """Whether no file says who may come in: then only the kernel's word counts."""
        return self.tokens is None and self.users is None

    def user(self, name: str) -> User | None:
        """Return the user of that name."""
        return next((user for user in self.users or () if user.name == name), None)
