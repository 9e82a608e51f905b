"""THE SERVICE: the one place that names concrete classes and ties them together.

`serve(path)` keeps a scheduler running; `run(path)` does so for a command. docs/adr/0004-service.md says why it is
built this way.

*Invariant:* the service decides nothing about jobs. It owns the process: lock, socket, signals, launcher, and one
engine after the other.
"""

from pyscheduler.service.serve import Options, run, serve

__all__ = ["Options", "run", "serve"]
