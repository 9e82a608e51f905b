"""One complaint about the configuration: where, what, how to mend."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """An error refuses the configuration; a warning only speaks."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """One complaint. `line` and `column` are 1-based; 0 means the file as a whole."""

    file: str
    line: int
    column: int
    message: str
    mend: str = ""
    job: str | None = None
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        place = self.file
        if self.line:
            place += f":{self.line}" + (f":{self.column}" if self.column else "")
        subject = f"job {self.job}: " if self.job else ""
        tail = f"; {self.mend}" if self.mend else ""
        return f"{place}: {subject}{self.message}{tail}"
