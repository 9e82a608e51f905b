"""The one exception that every room of pypepper may raise.

What a caller can provoke by an illegal transition or event is an `InternalException`; wrong arguments are `ValueError`.
Spec: pipeline.md 1.2, 18.
"""

from __future__ import annotations


class InternalException(Exception):
    """Something was asked of an object that its present state does not allow."""
