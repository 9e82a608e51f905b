"""What the text reads of the environment, and the promise that no complaint shows it. Spec: jobs.md 1.4.

One Variables lives through one loading. It remembers each name that was read with its value: those names are withheld
from jobs (DESIGN 8 row 7) and those values are taken back out of every message.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyscheduler.config.templates import expand, redact, variables_in
from pyscheduler.config.values import BadValue


class Variables:
    """The environment as one configuration reads it.

    `read` holds every `${NAME}` met so far with its value; `plain` the names whose values went into something other
    than a template, so that a parsed configuration holds them in clear.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self.read: dict[str, str] = {}
        self.plain: set[str] = set()

    def expand(self, text: str) -> str:
        """Return `text` with its variables filled in. Raises BadValue that names an unset one."""
        if "$" not in text:
            return text
        self.plain |= variables_in(text)
        return expand(text, self._value)

    def note(self, text: str) -> str:
        """Return a template as typed, its variables checked and remembered. Raises BadValue that names an unset one."""
        if "$" in text:
            for name in sorted(variables_in(text)):
                self._value(name)
        return text

    def redact(self, text: str) -> str:
        """Return `text` without any value read so far."""
        return redact(text, self.read) if self.read else text

    def _value(self, name: str) -> str:
        if name not in self.read:
            value = self._env.get(name)
            if value is None:
                raise BadValue(f"reads ${{{name}}}, which is not set", f"set {name} in the scheduler's environment")
            self.read[name] = value
        return self.read[name]
