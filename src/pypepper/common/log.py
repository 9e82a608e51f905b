"""The pipeline's log: six words on the standard library's logger `pypepper`. Spec: pipeline.md 1.2 and 16.

A library should not decide where lines go. So nothing is attached until a level or colour is asked for; from then on
lines go to standard error, but only while the program has given the root logger no handler of its own. Colour is
shown on a terminal only.
"""

from __future__ import annotations

import logging
import sys
from typing import Final

TRACE: Final = 5
"""Below DEBUG: what only somebody who debugs the pipeline itself wants to read."""
logging.addLevelName(TRACE, "TRACE")

LEVELS: Final = {
    "TRACE": TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARNING": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
_COLOURS: Final = {
    TRACE: "\x1b[2m",
    logging.DEBUG: "\x1b[36m",
    logging.INFO: "\x1b[32m",
    logging.WARNING: "\x1b[33m",
    logging.ERROR: "\x1b[31m",
    logging.CRITICAL: "\x1b[1;31m",
}
_LINE: Final = "%(asctime)s %(levelname)s %(message)s"


class _Screen(logging.Handler):
    """Writes to whatever standard error is now, and only where nobody else listens at the root."""

    colorize = False

    def emit(self, record: logging.LogRecord) -> None:
        if logging.getLogger().handlers:
            return
        try:
            line = self.format(record)
            if self.colorize and sys.stderr.isatty():
                line = f"{_COLOURS.get(record.levelno, '')}{line}\x1b[0m"
            sys.stderr.write(line + "\n")
        except Exception:  # noqa: BLE001 — the house rule of logging: a line that cannot be written stops nobody
            self.handleError(record)


class Log:
    """`trace debug info warn error fatal`, each taking one finished message."""

    def __init__(self, name: str = "pypepper") -> None:
        self.logger = logging.getLogger(name)
        self._screen = _Screen()
        self._screen.setFormatter(logging.Formatter(_LINE))

    def trace(self, msg: object) -> None:
        """Say what only somebody who debugs the pipeline wants to read."""
        self._say(TRACE, msg)

    def debug(self, msg: object) -> None:
        """Say what helps to follow one job."""
        self._say(logging.DEBUG, msg)

    def info(self, msg: object) -> None:
        """Say what happened as it should. Each job says so twice: nobody listening must cost next to nothing."""
        if self.logger.isEnabledFor(logging.INFO):
            self._say(logging.INFO, msg)

    def warn(self, msg: object) -> None:
        """Say what went wrong and was dealt with."""
        self._say(logging.WARNING, msg)

    def error(self, msg: object) -> None:
        """Say what went wrong and needs somebody."""
        self._say(logging.ERROR, msg)

    def fatal(self, msg: object) -> None:
        """Say what ends the program; it ends nothing by itself."""
        self._say(logging.CRITICAL, msg)

    def set_log_level(self, level: str) -> None:
        """Show this level (a word of LEVELS, in any case) and what is graver; ValueError for another word."""
        known = LEVELS.get(level.upper())
        if known is None:
            raise ValueError(f"unknown log level {level!r}: write one of {', '.join(LEVELS)}")
        self.logger.setLevel(known)
        self._listen()

    def set_colorize(self, colorize: bool) -> None:
        """Colour the lines, where standard error is a terminal."""
        self._screen.colorize = colorize
        self._listen()

    def _listen(self) -> None:
        if self._screen not in self.logger.handlers:
            self.logger.addHandler(self._screen)

    def _say(self, level: int, msg: object) -> None:
        self.logger.log(level, "%s", msg, stacklevel=3)


log: Final = Log()
"""The one log of the process."""
