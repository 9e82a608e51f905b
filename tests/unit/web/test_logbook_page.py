"""Lines of the logbook as people read and search them."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from pyscheduler.model.run import LogbookLine
from pyscheduler.web.logbook_page import detail_text
from pyscheduler.web.words import Times
from tests.builders import DAY, NOON

BERLIN = Times(ZoneInfo("Europe/Berlin"), DAY)


def line(**detail: object) -> LogbookLine:
    return LogbookLine(at=NOON, actor="ann", action="hold", detail=detail)


def test_a_detail_is_told_in_words() -> None:
    """Names without underscores, words without quotes, what is empty not at all."""
    assert detail_text(line(exit_code=3, reason="no space", note="", before=None)) == "exit code 3, reason no space"
    assert detail_text(line(keys=["a", "b"])) == 'keys ["a", "b"]'


def test_instants_are_told_in_the_schedulers_zone() -> None:
    """With the offset; a text that only looks like a date stays what it is."""
    assert detail_text(line(at="2027-05-20T12:00:00.25+00:00"), BERLIN) == "at 2027-05-20 14:00:00+02:00"
    assert detail_text(line(reason="2027-05-20"), BERLIN) == "reason 2027-05-20"
