"""Reading a log from a scheduler piece by piece, and following it from attempt to attempt."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.cli.faults import CommandError, Refused
from pyscheduler.cli.follow import LATER_S, PIECE, SOON_S, Follower, Reader, copy_once, start_of_tail
from pyscheduler.cli.spout import Raw
from tests.unit.cli.prompt import a_run

RUN = "load.2027-05-20.1"


@dataclass
class Attempt:
    data: bytes = b""
    ended: bool = False
    there: bool = True


@dataclass
class FakeLogs:
    """A run whose logs grow as a test says: each nap plays the next scene."""

    attempts: list[Attempt] = field(default_factory=list)
    state: str = "running"
    reason: str = ""
    scenes: list[Callable[[], None]] = field(default_factory=list)
    naps: list[float] = field(default_factory=list)
    biggest: int = 0
    refusal: Refused | None = None

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        assert len(self.naps) < 100, "it follows for ever"
        if self.scenes:
            self.scenes.pop(0)()

    def _attempt(self, number: int | None) -> Attempt:
        if not self.attempts:
            raise Refused("it was never started", status=404)
        attempt = self.attempts[-1 if number is None else number - 1]
        if not attempt.there:
            raise Refused("there is no log yet", status=404)
        return attempt

    def get(self, path: str, **query: Any) -> Any:
        if self.refusal is not None:
            raise self.refusal
        if not path.endswith("/log"):
            return {"run": a_run(RUN, state=self.state, reason=self.reason, attempt=len(self.attempts))}
        attempt = self._attempt(query.get("attempt"))
        if query.get("tail"):
            lines = attempt.data.decode(errors="replace").split("\n")
            lines = lines[:-1] if lines[-1] == "" else lines
            kept = lines[-query["tail"] :]
            return {"lines": kept, "truncated": len(kept) < len(lines), "size": len(attempt.data)}
        number = query.get("attempt") or len(self.attempts)
        ended, latest = attempt.ended, len(self.attempts)
        return {"attempt": number, "ended": ended, "latest_attempt": latest, "state": self.state}

    def raw(self, path: str, **query: Any) -> tuple[bytes, Mapping[str, str]]:
        assert path.endswith("/log")
        data = self._attempt(query["attempt"]).data
        self.biggest = max(self.biggest, query["limit"])
        piece = data[query["offset"] : query["offset"] + query["limit"]]
        return piece, {"x-log-size": str(len(data))}

    def post(self, path: str, body: Mapping[str, object] | None = None, *, key: str | None = None) -> Any:
        raise AssertionError("following changes nothing")


def reader_of(logs: FakeLogs) -> tuple[Reader, io.BytesIO]:
    out = io.BytesIO()
    return Reader(logs, RUN, "stdout", Raw(out)), out


def follow(logs: FakeLogs, tail: int | None = None) -> tuple[bytes, list[str]]:
    reader, out = reader_of(logs)
    told: list[str] = []
    Follower(reader, told.append, logs.sleep).follow(tail)
    return out.getvalue(), told


def test_a_log_is_copied_in_pieces() -> None:
    """However large it is, a piece at a time."""
    logs = FakeLogs([Attempt(bytes(range(256)) * 1000)])
    reader, out = reader_of(logs)
    assert reader.copy(1) == 256_000
    assert out.getvalue() == logs.attempts[0].data
    assert logs.biggest == PIECE


@given(
    lines=st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), max_size=30),
    ends=st.booleans(),
    wanted=st.integers(min_value=1, max_value=40),
)
def test_a_tail_begins_at_its_first_line(lines: list[bytes], ends: bool, wanted: int) -> None:
    """Whether the last line is finished or not, and whatever bytes it has."""
    data = b"\n".join(lines) + (b"\n" if ends and lines else b"")
    logs = FakeLogs([Attempt(data)])
    reader, out = reader_of(logs)
    reader.start = start_of_tail(reader, 1, wanted)
    reader.copy(1)
    whole = data.split(b"\n")
    whole = whole[:-1] if whole[-1] == b"" else whole
    end = b"\n" if data.endswith(b"\n") else b""
    assert out.getvalue() == (b"\n".join(whole[-wanted:]) + end if whole else data)


@dataclass
class Restless(FakeLogs):
    """Between two pieces something happens, as often as `left` says."""

    happens: Callable[[], None] = lambda: None
    left: int = 1

    def raw(self, path: str, **query: Any) -> tuple[bytes, Mapping[str, str]]:
        answer = super().raw(path, **query)
        if self.left:
            self.left -= 1
            self.happens()
        return answer


def test_a_log_that_is_cut_while_it_is_printed_is_begun_again() -> None:
    """As `max_log` does with one that is at its bound; who cuts for ever is given up."""
    only = Attempt(b"x" * PIECE + b"more\n")

    def cut() -> None:
        only.data = b"cut\n"

    reader, out = reader_of(Restless([only], happens=cut))
    told: list[str] = []
    copy_once(reader, None, None, told.append)
    assert out.getvalue() == b"x" * PIECE + b"cut\n"
    assert told == ["--- the log was cut; once more:"]

    def cut_further() -> None:
        only.data = only.data[: len(only.data) // 2]

    only.data = b"line\n" * 100_000
    reader, _ = reader_of(Restless([only], happens=cut_further, left=100))
    with pytest.raises(CommandError, match="again and again"):
        copy_once(reader, 1, 5, told.append)


def test_what_is_printed_is_of_one_attempt() -> None:
    """The latest one when it was asked for, though a retry begins in the middle."""
    attempts = [Attempt(b"x" * PIECE + b"first\n")]
    logs = Restless(attempts, happens=lambda: attempts.append(Attempt(b"y" * PIECE + b"again\n")))
    reader, out = reader_of(logs)
    copy_once(reader, None, None, lambda _: None)
    assert out.getvalue() == attempts[0].data


def test_following_prints_what_comes_and_ends_with_the_run() -> None:
    """The last bytes are printed even when the run ended just before."""
    first = Attempt(b"one\n")
    logs = FakeLogs([first])

    def more() -> None:
        first.data += b"two\n"

    def over() -> None:
        first.data += b"three\n"
        first.ended, logs.state = True, "succeeded"

    logs.scenes = [more, over]
    out, told = follow(logs)
    assert out == b"one\ntwo\nthree\n"
    assert told == [f"--- {RUN}: succeeded"]


def test_what_is_written_last_is_printed_too() -> None:
    """Whether an attempt has ended is asked before its log is read: what had ended by then has written all it will."""
    last = Attempt(b"first\n")

    class Racing(FakeLogs):
        """Its attempt writes its last words, and ends, just when somebody asks how it stands."""

        def get(self, path: str, **query: Any) -> Any:
            if path.endswith("/log") and self.naps:
                last.data, last.ended, self.state = b"first\nlast words\n", True, "succeeded"
            return super().get(path, **query)

    assert follow(Racing([last]))[0] == b"first\nlast words\n"


def test_following_goes_on_with_the_next_attempt() -> None:
    """A retry's log follows the failed one's, with a remark between them."""
    first = Attempt(b"failed\n", ended=True)
    logs = FakeLogs([first], state="retry_wait")

    def again() -> None:
        logs.attempts.append(Attempt(b"better\n"))
        logs.state = "running"

    def over() -> None:
        logs.attempts[1].ended, logs.state = True, "succeeded"

    logs.scenes = [lambda: None, again, lambda: None, over]
    out, told = follow(logs)
    assert out == b"failed\nbetter\n"
    assert told == [f"--- attempt 2 of {RUN}:", f"--- {RUN}: succeeded"]


def test_no_attempt_is_passed_over() -> None:
    """Three quick retries while nobody looked are all printed."""
    logs = FakeLogs([Attempt(b"1\n", ended=True), Attempt(b"2\n", ended=True)], state="running")
    reader, out = reader_of(logs)

    def quick() -> None:
        logs.attempts += [Attempt(b"3\n", ended=True), Attempt(b"4\n", ended=True)]
        logs.state = "failed"

    logs.scenes = [quick]
    Follower(reader, lambda _line: None, logs.sleep).follow(None)
    assert out.getvalue() == b"2\n3\n4\n"


def test_a_log_that_was_cut_is_read_from_its_beginning() -> None:
    """As by logrotate's copytruncate; the follower says so."""
    first = Attempt(b"a long first part\n")
    logs = FakeLogs([first])

    def cut() -> None:
        first.data = b"new\n"

    def over() -> None:
        first.ended, logs.state = True, "succeeded"

    logs.scenes = [cut, lambda: None, over]
    out, told = follow(logs)
    assert out == b"a long first part\nnew\n"
    assert told[0] == "--- the log was cut; from its beginning:"


def test_following_waits_for_a_first_attempt() -> None:
    """And says why there is none yet, each reason once."""
    logs = FakeLogs([], state="waiting", reason="waiting for extract (2027-05-20)")

    def started() -> None:
        logs.attempts.append(Attempt(b"at last\n", ended=True))
        logs.state, logs.reason = "succeeded", ""

    logs.scenes = [lambda: None, lambda: None, started]
    out, told = follow(logs)
    assert out == b"at last\n"
    assert told == [f"--- {RUN}: waiting (waiting for extract (2027-05-20))", f"--- {RUN}: succeeded"]


def test_a_run_that_never_starts_ends_the_following() -> None:
    """A skipped run has no log, and will have none."""
    logs = FakeLogs([], state="skipped", reason="skip by ann")
    assert follow(logs) == (b"", [f"--- {RUN}: skipped (skip by ann)"])


def test_a_log_that_is_not_there_yet_is_waited_for() -> None:
    """The attempt runs, its file comes a moment later."""
    first = Attempt(b"here\n", there=False)
    logs = FakeLogs([first])

    def there() -> None:
        first.there = True

    def over() -> None:
        first.ended, logs.state = True, "succeeded"

    logs.scenes = [there, over]
    assert follow(logs)[0] == b"here\n"


def test_a_log_that_was_removed_ends_with_its_run() -> None:
    """Nothing waits for ever."""
    first = Attempt(b"", there=False)
    logs = FakeLogs([first], state="succeeded")
    assert follow(logs) == (b"", [f"--- {RUN}: succeeded"])


def test_following_can_begin_at_the_tail() -> None:
    """Only the last lines of what was there, then all that comes."""
    first = Attempt(b"1\n2\n3\n")
    logs = FakeLogs([first])

    def over() -> None:
        first.data += b"4\n"
        first.ended, logs.state = True, "succeeded"

    logs.scenes = [over]
    assert follow(logs, tail=1)[0] == b"3\n4\n"


def test_the_tail_of_a_log_that_is_not_there_yet_is_waited_for() -> None:
    """The attempt's row is there before its file."""
    only = Attempt(there=False)

    def comes() -> None:
        only.there, only.data, only.ended = True, b"one\n", True
        logs.state = "succeeded"

    logs = FakeLogs([only], scenes=[comes])
    assert follow(logs, 3) == (b"one\n", [f"--- {RUN}: succeeded"])


def test_looks_become_rarer_while_nothing_comes() -> None:
    """From a tenth of a second up to one, and quick again once something came."""
    first = Attempt(b"")
    logs = FakeLogs([first])

    def more() -> None:
        first.data += b"x\n"

    def over() -> None:
        first.ended, logs.state = True, "succeeded"

    logs.scenes = [lambda: None] * 5 + [more, lambda: None, over]
    follow(logs)
    assert logs.naps[:6] == [0.1, 0.2, 0.4, 0.8, LATER_S, LATER_S]
    assert logs.naps[6] == SOON_S


def test_another_refusal_is_not_swallowed() -> None:
    """A scheduler that stops ends the following with its words."""
    logs = FakeLogs([Attempt(b"x")])

    def gone() -> None:
        logs.refusal = Refused("scheduler is stopping", status=503)

    logs.scenes = [gone]
    with pytest.raises(Refused, match="stopping"):
        follow(logs)
