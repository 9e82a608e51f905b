"""How deep a body is nested, found out without reading it as JSON: who reads it recursively must not be led astray.

Spec: jobs.md 13.7.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Final

from pyscheduler.errors import BadRequest

DEEPEST: Final = 100
_NO_BRACKETS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[^\[\]{}"]++', re.DOTALL)
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def check_depth(body: bytes) -> None:
    """Raise BadRequest where brackets outside of strings are open more than DEEPEST deep."""
    if body.count(b"[") + body.count(b"{") <= DEEPEST:
        return
    depths = accumulate(_STEPS[bracket] for bracket in _NO_BRACKETS.sub(b"", body))
    if any(depth > DEEPEST for depth in depths):
        raise BadRequest(f"the body is nested more than {DEEPEST} deep", mend="send flat JSON: nothing here needs more")
