"""The folder that identities and notes lie in, made when it is first needed.

Its name must be as durable as a note in it: a guardian syncs the note and this folder before it reaps the job, and
after a power cut both would be gone with a name that was never synced. `state_dir` itself is the store's to make.
"""

from __future__ import annotations

import os


def make_folder(folder: str) -> None:
    """Make the folder and sync its name; nothing happens where it is there. Raises OSError."""
    if os.path.isdir(folder):
        return
    os.makedirs(folder, 0o700, exist_ok=True)
    above = os.open(os.path.dirname(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(above)
    finally:
        os.close(above)
