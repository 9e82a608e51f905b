"""What a soak came to, as a person keeps it: written anew after every seed, so that a soak that is ended has one too.

`report.json` and `report.md` in a folder of its own, and beside them all that is known of each seed that went wrong.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.faults.cluster.nemesis import Kind
from tests.faults.cluster.tale import Tale

BITTEN: Final = {
    "lost_running": "started attempts revoked (`lost_running`)",
    "lost_claimed": "claims handed out again (`lost_claimed`)",
    "start_refused": "starts refused (`start_refused`)",
    "superseded": "late reports kept (`superseded`)",
    "adopted": "attempts adopted",
    "start_aborted": "starts taken back (`start_aborted`)",
}
COUNTED: Final = {
    "runs": "runs",
    "executions": "executions",
    "faults": "faults",
    "incarnations": "incarnations",
    "fenced": "of them fenced",
    "takeovers": "epochs of authority",
    "configurations": "configurations put in force",
    **BITTEN,
}
"""What is counted, and what it is called."""


@dataclass
class Entry:
    """One seed."""

    seed: int
    crew: str
    sort: str
    """`calm`, `outage` or `storm`."""
    seconds: float
    counts: dict[str, int] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    """What does not hold; or why the seed could not be judged, in one line."""
    unsettled: bool = False
    """Whether something due had not ended in its time."""


def entry_of(crew: str, tale: Tale) -> Entry:
    return Entry(
        tale.plan.seed, crew, tale.plan.sort, round(tale.seconds, 1), dict(tale.counts), dict(tale.faults),
        [str(wrong) for wrong in tale.broken], tale.unsettled,
    )  # fmt: skip


class Ledger:
    """The seeds so far. Safe to use from several threads."""

    def __init__(self, folder: Path, asked_s: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("seed-*.txt"):
            old.unlink()
        self._folder, self._asked_s = folder, asked_s
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self.entries: list[Entry] = []

    def add(self, entry: Entry, told: str = "") -> None:
        """Write a seed down; `told` is all that is known of it, where it went wrong."""
        with self._lock:
            self.entries.append(entry)
            if told:
                self._write(f"seed-{entry.seed}.txt", told)
            self._write("report.json", json.dumps(self._report(), indent=1))
            self._write("report.md", "\n".join(self._page()) + "\n")

    @property
    def wrong(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.broken]

    def total(self, *crews: str) -> Counter[str]:
        """Return what was counted in the seeds of these crews, or of all."""
        return sum((Counter(e.counts) for e in self.entries if not crews or e.crew in crews), Counter())

    @property
    def _faults(self) -> Counter[str]:
        return sum((Counter(entry.faults) for entry in self.entries), Counter())

    def _write(self, name: str, words: str) -> None:
        part = self._folder / f".{name}"
        part.write_text(words)
        part.replace(self._folder / name)

    def _report(self) -> dict[str, Any]:
        return {
            "asked_s": self._asked_s,
            "took_s": round(time.monotonic() - self._began, 1),
            "cores": os.cpu_count(),
            "total": dict(self.total()),
            "faults": {str(kind): self._faults[kind] for kind in Kind},
            "broken": len(self.wrong),
            "seeds": [asdict(entry) for entry in self.entries],
        }

    def _page(self) -> Iterator[str]:
        crews = sorted({entry.crew for entry in self.entries})
        minutes = (time.monotonic() - self._began) / 60
        sorts = Counter(entry.sort for entry in self.entries)
        yield "# Soak of a cluster"
        yield ""
        told = ", ".join(f"{number} {sort}" for sort, number in sorts.items())
        yield f"{len(self.entries)} seeds ({told}) in {minutes:.0f} min, on {os.cpu_count()} cores."
        yield f"{len(self.wrong)} of them broken, {sum(entry.unsettled for entry in self.entries)} not settled in time."
        yield ""
        yield from _table(
            ["", *(f"`{crew}`" for crew in crews), "all"],
            [["seeds", *(sum(entry.crew == crew for entry in self.entries) for crew in crews), len(self.entries)]]
            + [
                [word, *(self.total(crew)[name] for crew in crews), self.total()[name]]
                for name, word in COUNTED.items()
            ],
        )
        yield ""
        yield from _table(["fault", "times"], [[str(kind), self._faults[kind]] for kind in Kind])
        for entry in self.wrong:
            yield ""
            yield f"Seed {entry.seed} of `{entry.crew}` (`seed-{entry.seed}.txt`):"
            yield from (f"- {wrong}" for wrong in entry.broken[:10])


def _table(head: list[str], rows: list[list[Any]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(f'{cell:,}' if isinstance(cell, int) else cell for cell in row)} |"
