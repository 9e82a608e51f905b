"""What an operator named and there is not: said with the name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from pyscheduler.errors import NotFound


def no_such_job(name: str, names: Iterable[str]) -> NotFound:
    """Return the error for a job that the configuration in force has not got; letter case alone is no difference."""
    folded = {other.casefold(): other for other in names}
    near = get_close_matches(name.casefold(), list(folded), n=1)
    mend = f"did you mean {folded[near[0]]}?" if near else "`pysched jobs` lists them"
    return NotFound(f"there is no job {name[:100]}", mend=mend)
