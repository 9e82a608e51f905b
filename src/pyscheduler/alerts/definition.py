"""A notifier as the configuration defines it, with the environment's values put in for one send. Spec: jobs.md 15.3.

What is read here never leaves this room: `hide` takes every value of the environment, and every option that is a secret
by its nature, out of a text before anybody sees it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pyscheduler.config import Config
from pyscheduler.config.templates import REDACTED_FROM, expand, redact
from pyscheduler.config.values import parse_duration, parse_int

RESERVED: Final = ("type", "timeout", "retries")
SECRET_OPTIONS: Final = ("url", "webhook_url", "api_url", "bot_token", "password", "headers")
"""Options whose values are hidden even where they are typed in clear: an address is the key to many a hook."""
HIDDEN: Final = "***"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One notifier. Lengths of time are in seconds; relative paths of its options lie in `folder`.

    `retry_count` tries follow the first one.
    """

    name: str
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    folder: Path
    timeout_s: float = 10.0
    retry_count: int = 5
    delay_s: float = 10.0
    max_delay_s: float = 600.0
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    withheld: frozenset[str] = frozenset()
    """Names of the variables that no process we start may see."""

    def wait_after(self, tries: int) -> float:
        """Return the seconds to wait after the n-th try: delay * 2^(n-1), at most max_delay, or delay if longer."""
        longest = max(self.max_delay_s, self.delay_s)
        return float(min(self.delay_s * 2.0 ** min(tries - 1, 64), longest))

    def hide(self, text: str) -> str:
        """Return a text without any secret that this notifier knows."""
        for secret in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return redact(text, self.variables)

    def _secrets(self) -> Iterator[str]:
        for name in SECRET_OPTIONS:
            value = self.options.get(name)
            found = value.values() if isinstance(value, Mapping) else [value]
            yield from (each for each in found if isinstance(each, str) and len(each) >= REDACTED_FROM)


def definition_of(config: Config, name: str) -> Definition | None:
    """Return a notifier of a configuration, None where it has none of that name."""
    typed = config.notifiers.get(name)
    if typed is None:
        return None
    filled: dict[str, Any] = _filled(typed, config.variables)
    retries = filled.get("retries") or {}
    times = {
        "timeout_s": filled.get("timeout"),
        "delay_s": retries.get("delay"),
        "max_delay_s": retries.get("max_delay"),
    }
    given: dict[str, Any] = {key: float(parse_duration(text)) for key, text in times.items() if text is not None}
    if retries.get("count") is not None:
        given["retry_count"] = parse_int(retries["count"])
    return Definition(
        name=name,
        kind=filled["type"],
        options={key: value for key, value in filled.items() if key not in RESERVED},
        folder=config.path.parent,
        variables=config.variables,
        withheld=config.withheld,
        **given,
    )


def _filled(value: Any, variables: Mapping[str, str]) -> Any:
    """Return a value as typed with every `${NAME}` put in."""
    if isinstance(value, Mapping):
        return {key: _filled(each, variables) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, variables) for each in value]
    return expand(value, lambda name: variables[name])
