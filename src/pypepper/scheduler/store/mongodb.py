"""Job stores in MongoDB: the collection `scheduler_jobs`, one document a job, `_id` the job's id. Spec: pipeline.md 13.

A put is a conditional `$set`, which never names `created`; where nothing matched, an insert; where that finds the id
taken, the conditional `$set` once more. Each is atomic by itself, so no lock is held between them. Nothing is contacted
before the first operation. An empty payload reads back as None.

Every wait has a bound (CONNECT_MS, ANSWER_MS), and a write is answered when it is in the server's journal, unless the
uri says otherwise.
"""

from __future__ import annotations

import builtins
import threading
from dataclasses import fields as fields_of
from typing import Any, Final

import mongoengine
from mongoengine.connection import ConnectionFailure, disconnect, get_db
from pymongo.collection import Collection
from pymongo.errors import AutoReconnect, DuplicateKeyError
from pymongo.uri_parser import parse_uri

from pypepper.common.log import log
from pypepper.helper.db.uri import build_mongodb_uri
from pypepper.scheduler.store.doubt import put_through_a_break
from pypepper.scheduler.store.interfaces import IJobStore, JobRecord
from pypepper.scheduler.store.lifecycle import existing_statuses_put_may_replace
from pypepper.scheduler.store.settings import server_settings

DEFAULT_ALIAS: Final = "pypepper_scheduler_jobs"
COLLECTION: Final = "scheduler_jobs"
CONNECT_MS: Final = 10_000
ANSWER_MS: Final = 30_000

_BOUNDS: Final = {
    "serverSelectionTimeoutMS": CONNECT_MS,
    "connectTimeoutMS": CONNECT_MS,
    "socketTimeoutMS": ANSWER_MS,
    "journal": True,
}
"""Given where the uri does not say: a keyword would win over the uri."""


_FIELDS: Final = tuple(field.name for field in fields_of(JobRecord) if field.name != "id")


class SchedulerJobDoc(mongoengine.Document):  # type: ignore[misc]
    """The document, for programs that query the collection with mongoengine; the store itself speaks to the driver."""

    id = mongoengine.StringField(primary_key=True)
    category = mongoengine.StringField(null=True)
    channel_id = mongoengine.StringField(required=True)
    status = mongoengine.StringField(required=True)
    created = mongoengine.StringField(required=True)
    updated = mongoengine.StringField(required=True)
    workflow_count = mongoengine.IntField(default=0)
    version = mongoengine.IntField(default=1)
    payload = mongoengine.DictField(null=True)
    results = mongoengine.ListField(null=True)
    error = mongoengine.StringField(null=True)

    meta = {"collection": COLLECTION, "db_alias": DEFAULT_ALIAS, "strict": False, "auto_create_index": False}  # noqa: RUF012


class MongoJobStore(IJobStore):
    """Records in one collection.

    `uri`, or `host port username (or user) password db auth_source`; ValueError when neither is enough. `alias` names
    mongoengine's connection: a second store of the same alias disconnects the first.
    """

    def __init__(
        self,
        *,
        uri: str | None = None,
        alias: str = DEFAULT_ALIAS,
        auth_source: str | None = None,
        uuid_representation: str = "standard",
        **settings: Any,
    ) -> None:
        self.alias = alias
        self._uri = uri or _uri(auth_source or "admin", settings)
        self._collection: Collection[dict[str, Any]] | None = None
        self._connecting = threading.Lock()
        self._connect()

    def put(self, record: JobRecord) -> bool:
        """Insert or update; see IJobStore.put. RuntimeError if the row goes in the middle of it."""
        return put_through_a_break(record, self._put, self.get, lambda error: isinstance(error, AutoReconnect))

    def get(self, job_id: str) -> JobRecord | None:
        """Return the record of a job, or None."""
        found = self._jobs().find_one({"_id": job_id})
        return None if found is None else _to_record(found)

    def list(self, channel_id: str | None = None) -> builtins.list[JobRecord]:
        """Return all records, or one channel's, in the database's order."""
        return [
            _to_record(found) for found in self._jobs().find({} if channel_id is None else {"channel_id": channel_id})
        ]

    def delete(self, job_id: str) -> None:
        """Forget one job; an unknown id is fine."""
        self._delete({"_id": job_id})

    def clear(self) -> None:
        """Forget all jobs."""
        self._delete({})

    def close(self) -> None:
        """Disconnect; the next call connects again."""
        with self._connecting:
            if self._collection is not None:
                self._collection = None
                disconnect(self.alias)

    def _put(self, record: JobRecord) -> bool:
        jobs, document = self._jobs(), _to_document(record)
        if _update(jobs, record, document):
            return True
        try:
            jobs.insert_one(document)
        except DuplicateKeyError:
            if _update(jobs, record, document):
                return True
            if jobs.find_one({"_id": record.id}, {"_id": 1}) is None:
                raise RuntimeError(f"job {record.id} is missing after DuplicateKeyError: somebody deleted it") from None
            return False
        return True

    def _delete(self, which: dict[str, Any]) -> None:
        try:
            self._jobs().delete_many(which)
        except AutoReconnect:
            self._jobs().delete_many(which)

    def _jobs(self) -> Collection[dict[str, Any]]:
        return self._collection if self._collection is not None else self._connect()

    def _connect(self) -> Collection[dict[str, Any]]:
        """Set the connection up (nothing is contacted), taking the alias from whoever had it."""
        with self._connecting:
            if self._collection is None:
                _take(self.alias)
                said = {name.lower() for name in parse_uri(self._uri)["options"]}
                bounds = {name: value for name, value in _BOUNDS.items() if name.lower() not in said}
                mongoengine.connect(host=self._uri, alias=self.alias, uuidRepresentation="standard", **bounds)
                self._collection = get_db(self.alias)[COLLECTION]
            return self._collection


def _take(alias: str) -> None:
    try:
        disconnect(alias)
    except ConnectionFailure:
        log.debug(f"nobody was connected as {alias}")


def _uri(auth_source: str, settings: dict[str, Any]) -> str:
    for other in ("sslmode", "charset"):
        settings.pop(other, None)
    server = server_settings("mongodb", default_port=27017, **settings)
    return build_mongodb_uri(
        username=server.username,
        password=server.password,
        host=server.host,
        port=server.port,
        db=server.db,
        auth_source=auth_source,
    )


def _update(jobs: Collection[dict[str, Any]], record: JobRecord, document: dict[str, Any]) -> bool:
    """Replace all but id and created, and count the version, where status and version allow; tell whether they do."""
    kept = ("_id", "created")
    may = {
        "_id": record.id,
        "version": record.version,
        "status": {"$in": sorted(existing_statuses_put_may_replace(record.status))},
    }
    change = {name: value for name, value in document.items() if name not in kept}
    result = jobs.update_one(may, {"$set": change | {"version": record.version + 1}})
    return result.matched_count == 1


def _to_document(record: JobRecord) -> dict[str, Any]:
    return {"_id": record.id} | {name: getattr(record, name) for name in _FIELDS}


def _to_record(found: dict[str, Any]) -> JobRecord:
    fields = {name: found[name] for name in _FIELDS if name in found}
    fields["version"] = fields.get("version") or 1
    fields["payload"] = fields.get("payload") or None
    return JobRecord(id=found["_id"], **fields)
