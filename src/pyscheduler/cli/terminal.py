"""What the far end of an output stream can show: how wide, in colour or not, in Unicode or plain ASCII.

A pipe or a file gets no colour and no width, so nothing is cut there. Symbols fall back to ASCII where the encoding
cannot hold them or the locale says C: Python writes UTF-8 under LANG=C, but the terminal behind it may not read it.
Sources: no-color.org; PEP 540.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

PLAIN_LOCALES: Final = ("", "C", "POSIX")
WIDE: Final = 100
"""From this width on there is room for whole offsets, and for columns that tables leave out below it."""
NARROWEST: Final = 20
"""A terminal that claims to be narrower (0 columns: an unset size) is not believed."""


class Stream(Protocol):
    """As much of a text stream as is looked at."""

    @property
    def encoding(self) -> str | None: ...

    def isatty(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Terminal:
    """One output stream's abilities. `width` in columns, None where nothing is to be cut."""

    width: int | None = None
    height: int | None = None
    colour: bool = False
    unicode: bool = True

    @classmethod
    def of(cls, stream: Stream, environ: Mapping[str, str]) -> Terminal:
        """Return what `stream` can show in this environment."""
        unicode = _holds_symbols(stream.encoding) and _locale(environ).partition(".")[0] not in PLAIN_LOCALES
        # C.UTF-8 is a locale that says so itself.
        unicode = unicode or (_holds_symbols(stream.encoding) and "UTF" in _locale(environ).upper())
        if not stream.isatty():
            return cls(unicode=unicode)
        import shutil  # a pipe, where most programs read, need not pay for it

        size = shutil.get_terminal_size()
        return cls(
            width=size.columns if size.columns >= NARROWEST else 80,
            height=size.lines,
            colour=not environ.get("NO_COLOR") and environ.get("TERM") != "dumb",
            unicode=unicode,
        )

    @property
    def is_narrow(self) -> bool:
        """Whether tables must do with less than WIDE columns."""
        return self.width is not None and self.width < WIDE

    def symbol(self, symbol: str, plain: str) -> str:
        """Return the symbol, or what stands for it in ASCII."""
        return symbol if self.unicode else plain


def _locale(environ: Mapping[str, str]) -> str:
    """Return the locale in force for characters: the first of the three variables that says anything."""
    return next((value for name in ("LC_ALL", "LC_CTYPE", "LANG") if (value := environ.get(name))), "")


def _holds_symbols(encoding: str | None) -> bool:
    try:
        "✓…→".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
