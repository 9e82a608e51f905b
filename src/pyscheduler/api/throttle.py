"""How often a sign-in may fail: for each name and for each address. Spec: jobs.md 13.1 "Login limit".

FAILURES within WINDOW_S lock the name, or the address, for LOCK_S. A try counts as a failure from its beginning, so
that a thousand at once are no way round; the one that succeeds is taken back, from its name and its address alike, but
what failed before it from that address stays. An IPv6 address counts as its /64, since who has one address there has
them all. Both tables are bounded: the key that was tried longest ago makes room. Pure: the caller brings the time.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

FAILURES: Final = 5
WINDOW_S: Final = 300.0
LOCK_S: Final = 30.0
KEYS: Final = 10_000


class Table:
    """The latest tries of each key, on a clock of seconds."""

    def __init__(self, keys: int = KEYS) -> None:
        self._keys = keys
        self._tries: OrderedDict[str, deque[float]] = OrderedDict()
        self._told: dict[str, float] = {}
        """Locks that somebody has heard of: by key, the try that began it. No key is here that is not in `_tries`."""

    def __len__(self) -> int:
        return len(self._tries)

    def wait_s(self, key: str, now_s: float) -> float:
        """Return for how long the key is locked, 0 where it is not."""
        tries = self._tries.get(key)
        if tries is None or len(tries) < FAILURES or tries[0] <= tries[-1] - WINDOW_S:
            return 0.0
        return max(0.0, tries[-1] + LOCK_S - now_s)

    def note(self, key: str, now_s: float) -> None:
        """Count a try as a failure."""
        self._tries.setdefault(key, deque(maxlen=FAILURES)).append(now_s)
        self._tries.move_to_end(key)
        while len(self._tries) > self._keys:
            key, _ = self._tries.popitem(last=False)
            self._told.pop(key, None)

    def is_news(self, key: str, now_s: float) -> bool:
        """Whether the key is locked, and this is the first time that anybody asks so of this lock."""
        if self.wait_s(key, now_s) == 0.0:
            return False
        began, before = self._tries[key][-1], self._told.get(key)
        self._told[key] = began
        return before != began

    def take_back(self, key: str, at_s: float) -> None:
        """Let a try of that instant not have been a failure."""
        tries = self._tries.get(key)
        if tries is not None and at_s in tries:
            tries.remove(at_s)
            if not tries:
                self.forget(key)

    def forget(self, key: str) -> None:
        """Let the key have failed never."""
        self._tries.pop(key, None)
        self._told.pop(key, None)


class Throttle:
    """Both tables together."""

    def __init__(self) -> None:
        self._names, self._addresses = Table(), Table()

    def begin(self, name: str, address: str, now_s: float) -> float:
        """Count a try and return 0, or return for how many seconds none is looked at."""
        place = network_of(address)
        wait_s = max(self._names.wait_s(name, now_s), self._addresses.wait_s(place, now_s))
        if wait_s == 0.0:
            self._names.note(name, now_s)
            self._addresses.note(place, now_s)
        return wait_s

    def is_news(self, name: str, address: str, now_s: float) -> bool:
        """Whether a refused try is the first that one of its locks refuses: those after it need no word."""
        news = self._names.is_news(name, now_s)
        return self._addresses.is_news(network_of(address), now_s) or news

    def succeeded(self, name: str, address: str, began_s: float) -> None:
        """Say that the try which began then was right: its name starts afresh, its address is as it was."""
        self._names.forget(name)
        self._addresses.take_back(network_of(address), began_s)


def network_of(address: str) -> str:
    """Return what counts as one place: an IPv4 address, an IPv6 network of 64 bits, or the text as it is."""
    try:
        found = ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        return str(ip_network((found, 64), strict=False))
    return address
