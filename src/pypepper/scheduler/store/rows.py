"""Record ↔ row: what the SQL stores write and read, pure. Spec: pipeline.md 13.

`payload` and `results` are JSON text, null for None, so an empty payload stays an empty payload. A version of 0 (rows
of the first releases) reads back as 1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pypepper.scheduler.store.interfaces import JobRecord


def to_row(record: JobRecord) -> dict[str, Any]:
    """Return the columns of a record; TypeError for a payload or results that JSON cannot say."""
    return {
        "id": record.id,
        "category": record.category,
        "channel_id": record.channel_id,
        "status": str(record.status),
        "created": record.created,
        "updated": record.updated,
        "workflow_count": record.workflow_count,
        "version": record.version,
        "payload": _text(record.payload),
        "results": _text(record.results),
        "error": record.error,
    }


def to_record(row: Mapping[str, Any]) -> JobRecord:
    """Return the record of a row."""
    return JobRecord(
        id=row["id"],
        category=row["category"],
        channel_id=row["channel_id"],
        status=row["status"],
        created=row["created"],
        updated=row["updated"],
        workflow_count=row["workflow_count"],
        version=row["version"] or 1,
        payload=_value(row["payload"]),
        results=_value(row["results"]),
        error=row["error"],
    )


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, separators=(",", ":"))


def _value(text: str | None) -> Any:
    return None if text is None else json.loads(text)
