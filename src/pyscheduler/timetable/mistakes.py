"""What the author of a schedule can get wrong, said in three parts: which field, what is wrong, how to mend it.

Config adds the file, line and column; this room knows none of them.
"""

from __future__ import annotations


class ScheduleError(ValueError):
    """A schedule that cannot be understood, or that can never fire.

    `field` is the part of the text to blame (`hour`, `macro`, `every`, `schedule` for the whole); `what` is a clause
    for people, `mend` the next step or empty.
    """

    def __init__(self, field: str, what: str, mend: str = "") -> None:
        super().__init__(field, what, mend)
        self.field, self.what, self.mend = field, what, mend

    def __str__(self) -> str:
        return f"{self.what}; {self.mend}" if self.mend else self.what


class UnknownZone(ValueError):
    """No such time zone in the zone data; never replaced by UTC in silence (field case FC-020).

    `near` holds names that were perhaps meant.
    """

    def __init__(self, name: str, near: tuple[str, ...] = ()) -> None:
        super().__init__(name, near)
        self.name, self.near = name, near

    def __str__(self) -> str:
        hint = f"did you mean {' or '.join(self.near)}?" if self.near else "use an IANA name such as Europe/Berlin"
        return f"there is no time zone {self.name!r}; {hint}"
