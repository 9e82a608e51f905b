"""The process is as new in every test of the pipeline."""

from __future__ import annotations

from tests.pipes import fresh

__all__ = ["fresh"]
