"""The texts of errors that programs match on. Spec: pipeline.md 1.2, 18."""

from __future__ import annotations

from typing import Final

ERROR_INVALID_EVENT: Final = "invalid event"
"""An event met a state that has no transition for it."""
