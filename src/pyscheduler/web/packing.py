"""Pages made small for the wire: a board of two hundred rows is 280 kB, of which gzip leaves a fifteenth.

Compressing is work for a helper thread; zlib lets the loop run meanwhile. The lowest level takes half the time of the
usual one and leaves a tenth more.

What is compressed tells something by its length (BREACH): a secret that stands in every page beside text that a
stranger may choose could be guessed bit by bit. So no page carries the same secret twice: the session's token is
masked anew for each (`api/intent.masked`). Whoever adds another secret to a page must do the same.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from typing import Final

WORTH_IT: Final = 1024
"""Bytes; less is sent as it is."""
_REFUSED: Final = re.compile(r"q=0(\.0*)?", re.IGNORECASE)
_LEVEL: Final = 1
_GZIP: Final = 31
"""zlib's word for the largest window in a gzip frame. The frame has no time in it: the same page is the same bytes."""


def takes_gzip(accepted: Iterable[str]) -> bool:
    """Whether whoever sent these `Accept-Encoding` headers names gzip and does not refuse it."""
    for part in ",".join(accepted).split(","):
        name, _, weight = part.partition(";")
        if name.strip().lower() == "gzip":
            return _REFUSED.fullmatch(weight.replace(" ", "")) is None
    return False


def packed(body: bytes) -> bytes:
    """Return the bytes in a gzip frame."""
    press = zlib.compressobj(_LEVEL, wbits=_GZIP)
    return press.compress(body) + press.flush()
