"""A bag that travels with a job or a task: an id, values by name, and the context it was born from."""

from __future__ import annotations

import uuid
from typing import Any


class Context:
    """Values that executors and hooks pass to each other. Spec: pipeline.md 1.2.

    A context starts with its parent's values, copied: what is added later on one side is not seen on the other.
    """

    def __init__(self, context_id: str | None = None, parent: Context | None = None) -> None:
        self.context_id = context_id or str(uuid.uuid4())
        self.parent = parent
        self.context: dict[str, Any] = dict(parent.context) if parent is not None else {}

    def with_value(self, key: str, value: Any) -> Context:
        """Keep a value under a name and return this context, so that calls can be chained."""
        self.context[key] = value
        return self


def new(context_id: str | None = None) -> Context:
    """Return a context without a parent."""
    return Context(context_id)


def born(parent: Context, context_id: str | None = None) -> Context:
    """Return a child of `parent`, with its values and an id of its own."""
    return Context(context_id, parent)
