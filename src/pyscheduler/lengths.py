"""How a length of time is said to people, in tables and on pages alike: at most two units."""

from __future__ import annotations

from typing import Final

_UNITS: Final = (("d", 86400, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1))
_LEAST: Final = 0.05
"""Seconds below which a length is only said to be shorter than a tenth."""


def length(seconds: float) -> str:
    """Return seconds as `<0.1s`, `0.4s`, `12s`, `3m05s`, `1h02m` or `2d03h`."""
    if seconds < 0:
        return "-" + length(-seconds)
    if 0 < seconds < _LEAST:
        return "<0.1s"
    if seconds < 9.95:
        return f"{seconds:.1f}s" if seconds % 1 else f"{seconds:.0f}s"
    whole = round(seconds)
    for big, big_s, small, small_s in _UNITS:
        if whole >= big_s:
            return f"{whole // big_s}{big}{whole % big_s // small_s:02d}{small}"
    return f"{whole}s"
