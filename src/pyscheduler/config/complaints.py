"""All complaints of one loading, gathered, put in order, and freed of secrets. Spec: jobs.md 1.1 "Collection".

A complaint never stops the reading; after MAX_PROBLEMS the reading may stop, because nobody reads on and a hostile
text must not be answered at length. Order is that of the files, then lines, then columns.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from pyscheduler.config.tree import Block, Items, Place, Tree
from pyscheduler.model.problem import Problem, Severity

MAX_PROBLEMS: Final = 1_000
MAX_COMPARED: Final = 20_000
"""How many words may be compared in the search for near ones: each costs microseconds, and names come in thousands."""
MANY: Final = 200
"""Among more words than this, only those that begin or end alike and are about as long are compared."""

Loc: TypeAlias = tuple[str | int, ...]
"""A path of keys and list indices below a Spot. Parts that the tree does not have are stepped over."""

_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def shown(text: str, limit: int = 60) -> str:
    """Return `text` in quotes on one line, as people may see it: control characters escaped, cut to `limit`."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return f'"{_UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), cut)}"'


class Complaints:
    """The complaints of one loading. `errors` counts the errors; `full` asks the reader to stop."""

    def __init__(self) -> None:
        self._found: list[tuple[int, int, int, Problem]] = []
        self._compared = 0
        self._given_up = False
        self.errors = 0

    @property
    def full(self) -> bool:
        return self._given_up or self.errors >= MAX_PROBLEMS

    def give_up(self) -> None:
        """Look at nothing more: what there is has outgrown its bounds, and an error says so."""
        self._given_up = True

    def add(self, order: int, problem: Problem) -> None:
        """Note a complaint about the file that was loaded as number `order`."""
        if problem.severity is Severity.ERROR:
            self.errors += 1
        if len(self._found) < 2 * MAX_PROBLEMS:
            self._found.append((order, problem.line, problem.column, problem))

    def did_you_mean(self, word: str, *known: Iterable[str]) -> str:
        """Return `did you mean "x"?` for the nearest known word, or nothing."""
        if self._compared > MAX_COMPARED:
            return ""
        words = [each for some in known for each in some]
        if len(words) > MANY:
            words = [each for each in words if _may_be_near(word, each)]
        self._compared += len(words)
        near = difflib.get_close_matches(word[:64], words, n=1, cutoff=0.6)
        folded = {each.lower(): each for each in words} if not near else {}
        guess = near[0] if near else folded.get(word.lower())
        return f'did you mean "{guess}"?' if guess else ""

    def sorted(self, redact: Callable[[str], str]) -> list[Problem]:
        """Return all complaints in order, every value of the environment taken out."""
        ordered = sorted(self._found, key=lambda found: found[:3])
        problems = [_redacted(found[3], redact) for found in ordered]
        if self.errors >= MAX_PROBLEMS:
            what = f"{self.errors} errors or more: the rest was not looked at"
            problems.append(Problem(problems[-1].file, 0, 0, what))
        return problems


def _may_be_near(word: str, other: str) -> bool:
    alike = word[:1].lower() == other[:1].lower() or word[-1:].lower() == other[-1:].lower()
    return alike and abs(len(word) - len(other)) <= 3


def _redacted(problem: Problem, redact: Callable[[str], str]) -> Problem:
    message, mend = redact(problem.message), redact(problem.mend)
    if message == problem.message and mend == problem.mend:
        return problem
    return Problem(problem.file, problem.line, problem.column, message, mend, problem.job, problem.severity)


class Spot:
    """A node of a file that complaints point into: the file, the node, where it stands, and whose job it is.

    `path` begins every message ("scheduler" gives `scheduler.timezone: …`). `fallback` is where keys come from that
    the node does not have itself: a job's defaults.
    """

    __slots__ = ("complaints", "fallback", "file", "job", "order", "path", "place", "tree")

    def __init__(
        self,
        complaints: Complaints,
        order: int,
        file: str,
        tree: Tree,
        place: Place,
        *,
        path: tuple[str, ...] = (),
        job: str | None = None,
        fallback: Spot | None = None,
    ) -> None:
        self.complaints, self.order, self.file, self.tree, self.place = complaints, order, file, tree, place
        self.path, self.job, self.fallback = path, job, fallback

    def below(self, key: str, *, named: bool = True, job: str | None = None, fallback: Spot | None = None) -> Spot:
        """Return the spot of a key's value. `named` puts the key into the path of messages."""
        assert isinstance(self.tree, Block)
        path = (*self.path, key) if named else self.path
        tree, place = self.tree[key], self.tree.value_place(key)
        return Spot(self.complaints, self.order, self.file, tree, place, path=path, job=job, fallback=fallback)

    def error(self, loc: Loc, what: str, mend: str = "", *, at_key: bool = False) -> None:
        """Complain about the value at `loc`; `at_key` points to its key instead."""
        self._add(loc, what, mend, Severity.ERROR, at_key=at_key)

    def key_error(self, loc: Loc, what: str, mend: str = "") -> None:
        """Complain about the last key of `loc` itself: `what` names it."""
        home, place = self._home(loc, at_key=True)
        self._report(home, place, loc[:-1], what, mend, Severity.ERROR)

    def warning(self, loc: Loc, what: str, mend: str = "", *, at_key: bool = False) -> None:
        """Warn about the value at `loc`; `at_key` points to its key instead."""
        self._add(loc, what, mend, Severity.WARNING, at_key=at_key)

    def locate(self, loc: Loc, *, at_key: bool = False) -> Place:
        """Return the place of the deepest part of `loc` that the tree has."""
        node: Tree | None = self.tree
        place = self.place
        for part in loc:
            if isinstance(node, Block) and isinstance(part, str) and part in node:
                place = node.key_place(part) if at_key and part == loc[-1] else node.value_place(part)
                node = node[part]
            elif isinstance(node, Items) and isinstance(part, int) and part < len(node):
                place = node.item_place(part)
                node = node[part]
        return place

    def _add(self, loc: Loc, what: str, mend: str, severity: Severity, *, at_key: bool) -> None:
        home, place = self._home(loc, at_key=at_key)
        self._report(home, place, loc, what, mend, severity)

    def _home(self, loc: Loc, *, at_key: bool) -> tuple[Spot, Place]:
        """Return where `loc` was written: here, or in the fallback where only that has its first key."""
        other = self.fallback
        if other is not None and loc and loc[0] not in self.tree and loc[0] in other.tree:
            return other, other.locate(loc, at_key=at_key)
        return self, self.locate(loc, at_key=at_key)

    def _report(self, home: Spot, place: Place, loc: Loc, what: str, mend: str, severity: Severity) -> None:
        keys = (part for part in loc if isinstance(part, str) and part[:1] not in "<[")
        path = ".".join(shown(key, 80)[1:-1] for key in (*self.path, *keys))
        message = f"{path}: {what}" if path else what
        self.complaints.add(home.order, Problem(home.file, *place, message, mend, self.job, severity))
