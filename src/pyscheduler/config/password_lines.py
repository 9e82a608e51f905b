"""What a stored token or password looks like: the form alone, checked when a credential file is read.

Costs are bounded here, because whoever may write the file must not be able to stop the service with one line, and
because a line that is checked at every sign-in must not take the machine's memory. Spec: jobs.md 13.2.
"""

from __future__ import annotations

import re
from typing import Final

from pyscheduler.config.values import BadValue

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_PBKDF2: Final = re.compile(r"pbkdf2_sha256\$([0-9]{1,9})\$((?:[0-9a-f]{2}){8,64})\$([0-9a-f]{64})")
_ARGON2: Final = re.compile(
    r"\$argon2(?:id|i|d)\$v=(?:16|19)\$m=([0-9]{1,9}),t=([0-9]{1,4}),p=([0-9]{1,3})"
    r"\$[A-Za-z0-9+/]{11,128}\$[A-Za-z0-9+/]{22,128}"
)
PBKDF2_ROUNDS: Final = range(1_000, 10_000_001)
ARGON2_KIB: Final = range(8, (1 << 20) + 1)
ARGON2_PASSES: Final = range(1, 65)
ARGON2_LANES: Final = range(1, 65)


def check_token_hash(text: str) -> str:
    """Return the text if it is a SHA-256 in lower-case hex; else raise BadValue."""
    if not _SHA256.fullmatch(text):
        raise BadValue("is no SHA-256: it has 64 characters, 0 to 9 and a to f", "`pysched hash-token` makes one")
    return text


def check_password_line(text: str) -> str:
    """Return the text if it is a line of Argon2 or PBKDF2 with costs that can be borne; else raise BadValue."""
    if found := _PBKDF2.fullmatch(text):
        _within(found[1], PBKDF2_ROUNDS, "rounds")
    elif found := _ARGON2.fullmatch(text):
        _within(found[1], ARGON2_KIB, "KiB of memory")
        _within(found[2], ARGON2_PASSES, "passes")
        _within(found[3], ARGON2_LANES, "lanes")
    else:
        raise BadValue("is no password hash of Argon2 or PBKDF2", "`pysched hash-password` makes one")
    return text


def _within(number: str, bounds: range, of_what: str) -> None:
    if int(number) not in bounds:
        raise BadValue(f"asks for {int(number):,} {of_what}, and {bounds[0]:,} to {bounds[-1]:,} are allowed")
