"""PyScheduler: a crash-safe job scheduler that always knows why a job did not run."""

from pyscheduler.__about__ import __version__

__all__ = ["__version__"]
