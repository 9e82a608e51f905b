"""A configuration as bytes, for a pipe or a file of our own: pickle that can make nothing but our own values.

Whoever can write such bytes could otherwise have any code run when they are read. Only the classes named here are ever
looked up; everything else is refused before it is imported.
"""

from __future__ import annotations

import io
import pickle
from enum import Enum
from typing import Any, Final

_MODEL: Final = "pyscheduler.model."
_ALLOWED: Final = frozenset(
    {
        ("pyscheduler.config.result", "Config"),
        ("datetime", "date"),
        ("datetime", "datetime"),
        ("datetime", "time"),
        ("pathlib", "PosixPath"),
        ("builtins", "frozenset"),
        ("builtins", "set"),
    }
)


class ForeignBytes(ValueError):
    """The bytes are not what `dumps` makes."""


class _Writer(pickle.Pickler):
    def reducer_override(self, value: object) -> Any:
        """Write a member of an enum as its class and value: Python before 3.11.4 would ask for `getattr` instead."""
        return (type(value), (value.value,)) if isinstance(value, Enum) else NotImplemented


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _ALLOWED or (module.startswith(_MODEL) and "." not in name):
            found = super().find_class(module, name)
            if isinstance(found, type):
                return found
        raise ForeignBytes(f"{module}.{name} is no part of a configuration")


def dumps(value: object) -> bytes:
    """Return values of the configuration as bytes."""
    written = io.BytesIO()
    _Writer(written, protocol=5).dump(value)
    return written.getvalue()


def loads(data: bytes) -> Any:
    """Return the values; raises ForeignBytes for anything `dumps` did not make."""
    try:
        return _Reader(io.BytesIO(data)).load()
    except ForeignBytes:
        raise
    except Exception as error:  # noqa: BLE001 - damaged pickles raise whatever their accidental opcodes come upon
        raise ForeignBytes(f"no configuration ({type(error).__name__})") from None
