"""From a mapping of the text to a checked shape, with every fault of it said at its place.

pydantic checks all keys of a mapping and names each fault by its path; here the path becomes file, line and column and
the fault a sentence. A shape with a fault is no shape: what is returned is whole, or None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from pyscheduler.config.complaints import Loc, Spot, shown
from pyscheduler.config.reading import Reading

M = TypeVar("M", bound=BaseModel)

_KINDS = {"<text>": "text", "<list>": "a list", "<mapping>": "a mapping"}


def read_shape(model: type[M], spot: Spot, reading: Reading) -> M | None:
    """Return the mapping at `spot` as `model`, or None after complaining about everything that is wrong with it."""
    try:
        return model.model_validate(spot.tree, context=reading)
    except ValidationError as invalid:
        for error in invalid.errors(include_url=False, include_input=False):
            _complain(model, spot, error["type"], error["loc"], error.get("ctx") or {}, error["msg"])
        return None


@dataclass(frozen=True, slots=True)
class Salvage(Generic[M]):
    """The sound keys of a mapping that has faults. Of a list whose sound items remain, `kept` says which those are."""

    keys: M
    kept: Mapping[str, Sequence[int]]


def salvaged(model: type[M], spot: Spot, reading: Reading, by_item: str = "") -> Salvage[M] | None:
    """Return what can be read of a mapping whose faults have been said; None where that is nothing.

    A faulty key is left out; of the list under the key `by_item` only the faulty items are.
    """
    if not isinstance(spot.tree, dict):
        return None
    tree: dict[str, Any] = dict(spot.tree)
    kept: dict[str, list[int]] = {}
    for _ in range(2):
        try:
            return Salvage(model.model_validate(tree, context=reading), kept)
        except ValidationError as invalid:
            _leave_out(tree, [error["loc"] for error in invalid.errors(include_url=False)], kept, by_item)
    return None


def _leave_out(tree: dict[str, Any], locs: list[Loc], kept: dict[str, list[int]], by_item: str) -> None:
    bad: dict[str, set[object]] = {}
    for loc in locs:
        if loc and str(loc[0]) in tree:
            bad.setdefault(str(loc[0]), set()).add(loc[1] if len(loc) > 1 else None)
    for name, items in bad.items():
        value = tree.pop(name)
        if (
            name == by_item
            and name not in kept
            and isinstance(value, list)
            and all(isinstance(item, int) for item in items)
        ):
            kept[name] = [number for number in range(len(value)) if number not in items]
            tree[name] = [value[number] for number in kept[name]]


def _complain(model: type[BaseModel], spot: Spot, kind: str, loc: Loc, ctx: dict[str, Any], message: str) -> None:
    if kind == "extra_forbidden":
        word = str(loc[-1])
        hint = spot.complaints.did_you_mean(word, known_keys(model, loc[:-1]))
        spot.key_error(loc, f"unknown key {shown(word)}", hint)
        return
    what, mend = _said(kind, ctx, message)
    if ctx.get("word"):
        mend = spot.complaints.did_you_mean(ctx["word"], ctx["among"]) or mend
    if loc and loc[-1] == "[key]":
        spot.key_error(loc[:-1], what, mend)
    else:
        spot.error(loc, what, mend)


def _said(kind: str, ctx: dict[str, Any], message: str) -> tuple[str, str]:
    if kind == "fault":
        return str(ctx["what"]), str(ctx["mend"])
    if kind == "missing":
        return "is missing", ""
    if kind in ("model_type", "model_attributes_type", "dict_type", "mapping_type"):
        return "must be a mapping", "write KEY: VALUE lines, indented below it"
    if kind == "list_type":
        return "must be a list", "write [A, B], or lines that begin with -"
    if kind == "too_short":
        return "is an empty list", "name at least one"
    if kind.startswith("union_tag"):
        tags = [part.strip(" '") for part in str(ctx.get("expected_tags", "")).split(",")]
        return f"must be {' or '.join(_KINDS.get(tag, tag) for tag in tags)}", ""
    return message, ""


def known_keys(model: type[BaseModel], loc: Loc) -> list[str]:
    """Return the keys that the mapping at `loc` below `model` may have."""
    here = model
    for part in loc:
        for name, info in here.model_fields.items():
            if part == (info.alias or name):
                here = _model_in(info.annotation) or here
                break
    return [info.alias or name for name, info in here.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the one model that an annotation holds, however deep, or None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for part in get_args(annotation):
        found = _model_in(part)
        if found is not None:
            return found
    return None
