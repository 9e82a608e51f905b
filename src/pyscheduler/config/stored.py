"""A configuration from the store, as it counts on this machine. DESIGN 6.

The texts are laid out in a folder of their own, as they lay around their main file, and read as files are. What belongs
to a machine (its folders, addresses, files of credentials, its place in the cluster) is taken from this machine's own
main file; everything else is the stored text's. A file that is included by an absolute path must lie here too.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pyscheduler.config.offload import load_in_process
from pyscheduler.config.result import Config
from pyscheduler.model.config_record import ConfigRecord
from pyscheduler.model.job import ConfigSource, Settings

OF_A_MACHINE: Final = (
    "state_dir",
    "log_dir",
    "store",
    "listen",
    "listen_is_given",
    "api_tokens_file",
    "users_file",
    "secure_cookies",
    "cluster",
)
"""Settings that are this machine's own, whatever the stored text says."""
_DEEP: Final = "a/b/c/d/e/f/g/h"
"""How far up from its main file a configuration may include."""


async def load_stored(
    record: ConfigRecord, own: Config, *, env: Mapping[str, str], allow_inactive: bool = False
) -> Config:
    """Return a stored configuration with this machine's own settings. Raises ConfigError, OSError."""
    if record.digest == own.digest:
        return own
    if has_texts_of(record, own):
        return replace(own, sources=record.sources, digest=record.digest)
    folder = await asyncio.to_thread(tempfile.TemporaryDirectory, prefix="pysched-config-")
    try:
        main = await asyncio.to_thread(_lay_out, record, Path(folder.name))
        found = await load_in_process(main, env=env, today=own.loaded_on, allow_inactive=allow_inactive)
    finally:
        await asyncio.to_thread(folder.cleanup)
    return _at_home(found, record, own, main.parent)


def has_texts_of(record: ConfigRecord, own: Config) -> bool:
    """Whether a machine's own files say the same and lie the same around their main file, wherever that lies."""

    def texts(sources: Sequence[ConfigSource]) -> list[tuple[str, str]]:
        home = os.path.dirname(os.path.abspath(sources[0].path)) if sources else ""
        return [(os.path.relpath(os.path.abspath(source.path), home), source.text) for source in sources]

    return texts(record.sources) == texts(own.sources)


def _lay_out(record: ConfigRecord, folder: Path) -> Path:
    """Write the texts as they lay around the main file, the first of them; returns its place."""
    base = folder / _DEEP
    names = [os.path.abspath(source.path) for source in record.sources]
    home = os.path.dirname(names[0])
    for name, source in zip(names, record.sources, strict=True):
        place = Path(os.path.normpath(base / os.path.relpath(name, home)))
        if place.is_relative_to(folder):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(source.text.encode("utf-8", "surrogatepass"))
    return base / os.path.basename(names[0])


def _at_home(found: Config, record: ConfigRecord, own: Config, laid_out: Path) -> Config:
    home = os.path.dirname(os.path.abspath(record.sources[0].path))

    def real(path: str) -> str:
        return os.path.normpath(os.path.join(home, os.path.relpath(path, laid_out)))

    jobs = {
        name: replace(job, source=replace(job.source, file=real(job.source.file))) for name, job in found.jobs.items()
    }
    return replace(
        found,
        path=own.path,
        jobs=jobs,
        sources=record.sources,
        digest=record.digest,
        settings=_settings(found.settings, own.settings),
        warnings=tuple(replace(problem, file=real(problem.file)) for problem in found.warnings),
        patterns={},
    )


def _settings(stored: Settings, own: Settings) -> Settings:
    return replace(stored, **{name: getattr(own, name) for name in OF_A_MACHINE})
