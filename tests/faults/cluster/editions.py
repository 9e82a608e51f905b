"""The schedule as it is edited during a storm: one job of it, of which some due times are in every edition.

Whoever follows an older edition than the others therefore makes the same runs for these times, and none of them may be
missing, however often the schedule changes (`EVERY_S`); times that only some editions have are made once or not at all.
"""

from __future__ import annotations

from typing import Final

PLACE: Final = "@EDITED@"
"""Where the edited job stands in a crew's configuration."""
NAME: Final = "edited"
EVERY_S: Final = 4
"""All editions are due then."""
EDITIONS: Final = (
    'schedule: "*/4 * * * * *"',
    'schedule: "*/2 * * * * *", nice: 1',
    'schedule: "* * * * * *", retries: {count: 1, delay: 1s}',
    'schedule: ["*/4 * * * * *", "1-59/4 * * * * *"], criticality: high',
)


def edited(config: str, command: str, edition: int) -> str:
    """Return the configuration with this edition of the job."""
    return config.replace(PLACE, f'{NAME}: {{command: "{command}", {EDITIONS[edition]}}}')
