"""The credential files: which programs and which people may come in. Spec: jobs.md 13.2.

Both are YAML lists, read like the configuration but for one thing: nothing of the environment enters them, so a `$` of
a password line stays what it is. Every fault of both files is said at once, at its place; no text of a hash is ever
shown, because somebody will put a password there by mistake.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import Field

from pyscheduler.config.complaints import Complaints, Spot, shown
from pyscheduler.config.compose import Budget
from pyscheduler.config.fields import Day, Name, words
from pyscheduler.config.lenient import compose_leniently
from pyscheduler.config.password_lines import check_password_line, check_token_hash
from pyscheduler.config.reading import Reading, Value, fault, scalar
from pyscheduler.config.schema_job import Shape
from pyscheduler.config.shapes import read_shape
from pyscheduler.config.source import check_text, read_bytes
from pyscheduler.config.tree import Items, TreeError
from pyscheduler.config.values import BadValue
from pyscheduler.config.variables import Variables
from pyscheduler.errors import ConfigError
from pyscheduler.model.job import Settings
from pyscheduler.model.person import Credentials, Role, Token, User
from pyscheduler.model.problem import Problem, Severity

MAX_BYTES: Final = 1 << 20
MAX_ENTRIES: Final = 10_000
_NOTHING: Final = Reading(Variables({}))
_OTHERS_MAY: Final = "chmod 600 it"


class _Hidden(Value):
    """Metadata of a text that is never shown and into which nothing is filled."""

    def read(self, value: object, _info: object) -> object:
        try:
            return self.parse(scalar(value))
        except BadValue as error:
            raise fault(error.what, error.mend) from None


RoleWord = Annotated[Role, words({role.value: role for role in Role})]


class TokenKeys(Shape):
    """One program."""

    name: Name
    token_sha256: Annotated[str, _Hidden(check_token_hash, {"type": "string"})]
    role: RoleWord
    teams: list[Name] | None = None
    expires: Day | None = None


class UserKeys(Shape):
    """One person."""

    name: Name
    password_hash: Annotated[str, _Hidden(check_password_line, {"type": "string"})]
    role: RoleWord
    teams: list[Name] | None = Field(default=None)


def read_credentials(settings: Settings) -> tuple[Credentials, tuple[Problem, ...]]:
    """Return what the files of these settings hold, and warnings. Raises ConfigError with all faults of both."""
    complaints = Complaints()
    tokens = users = None
    if settings.api_tokens_file is not None:
        read = _entries(TokenKeys, settings.api_tokens_file, 0, complaints)
        tokens = tuple(_token(keys) for keys in _unique(read, ("name", "token_sha256")))
    if settings.users_file is not None:
        read_users = _entries(UserKeys, settings.users_file, 1, complaints)
        users = tuple(_user(keys) for keys in _unique(read_users, ("name",)))
    problems = complaints.sorted(lambda text: text)
    if complaints.errors:
        raise ConfigError(problems)
    return Credentials(tokens=tokens, users=users), tuple(problems)


K = TypeVar("K", TokenKeys, UserKeys)


def _entries(model: type[K], path: Path, order: int, complaints: Complaints) -> list[tuple[K, Spot]]:
    """Return the sound entries of one file with their places, after complaining about the others."""
    name = os.fspath(path)
    try:
        data, mode = read_bytes(name, MAX_BYTES), stat.S_IMODE(path.stat().st_mode)
        check_text(data)
        root = compose_leniently(data, Budget()).root
    except TreeError as error:
        complaints.add(order, Problem(name, error.line, error.column, error.what, error.mend))
        return []
    except (BadValue, OSError) as error:
        what = error.what if isinstance(error, BadValue) else f"cannot be read: {error.strerror}"
        complaints.add(order, Problem(name, 0, 0, what))
        return []
    _check_mode(name, mode, order, complaints)
    if root is None:
        # An editor that was interrupted leaves such a file; taken for "nobody" it would sign everybody out.
        complaints.add(order, Problem(name, 1, 1, "the file is empty", "write [] if nobody may come in by it"))
        return []
    spot = Spot(complaints, order, name, root, (1, 1))
    if not isinstance(root, Items) or len(root) > MAX_ENTRIES:
        spot.error((), f"must be a list of at most {MAX_ENTRIES:,} entries", "begin each entry with -")
        return []
    spots = [Spot(complaints, order, name, item, root.item_place(number)) for number, item in enumerate(root)]
    read = ((read_shape(model, each, _NOTHING), each) for each in spots)
    return [(keys, each) for keys, each in read if keys is not None]


def _check_mode(name: str, mode: int, order: int, complaints: Complaints) -> None:
    """Complain where others may write the file, and so let themselves in; warn where they may read it."""
    if mode & stat.S_IWOTH:
        what, severity = "anybody may write this file and let themselves in", Severity.ERROR
    elif mode & (stat.S_IWGRP | stat.S_IROTH | stat.S_IRGRP):
        what, severity = "other users of this machine may read or write this file", Severity.WARNING
    else:
        return
    complaints.add(order, Problem(name, 0, 0, f"{what} (mode {mode:04o})", _OTHERS_MAY, None, severity))


def _unique(entries: Iterable[tuple[K, Spot]], keys: tuple[str, ...]) -> list[K]:
    """Return the entries after complaining about names and hashes that come twice."""
    seen: dict[tuple[str, Any], int] = {}
    kept = []
    for entry, spot in entries:
        for key in keys:
            value = getattr(entry, key)
            first = seen.setdefault((key, value), spot.place[0])
            if first != spot.place[0]:
                word = shown(value) if key == "name" else "this hash"
                spot.error((key,), f"{word} stands here twice, first in line {first}", "remove one")
        kept.append(entry)
    return kept


def _token(keys: TokenKeys) -> Token:
    return Token(
        name=keys.name,
        sha256=keys.token_sha256,
        role=keys.role,
        teams=frozenset(keys.teams or ()),
        expires=keys.expires,
    )


def _user(keys: UserKeys) -> User:
    return User(name=keys.name, password_hash=keys.password_hash, role=keys.role, teams=frozenset(keys.teams or ()))
