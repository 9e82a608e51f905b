"""How a node of the tree becomes a value: the metadata that annotated types carry for pydantic.

Reading takes the scalar's text, fills in `${NAME}` (a template only has its names checked) and hands it to a reader of
`values.py`. Every class here also carries what an editor's JSON Schema says of the value. Spec: jobs.md 1.2 to 1.4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from pyscheduler.config.complaints import shown
from pyscheduler.config.templates import TemplateError, check_template
from pyscheduler.config.tree import Null
from pyscheduler.config.values import BadValue
from pyscheduler.config.variables import Variables

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the readers share while one configuration is read: pydantic's validation context."""

    variables: Variables


def variables_of(info: ValidationInfo[Reading]) -> Variables:
    """Return the environment of the reading under way."""
    assert info.context is not None, "every shape is read with its Reading"
    return info.context.variables


def fault(what: str, mend: str = "") -> PydanticCustomError:
    """Return the error a reader raises; `shapes.py` turns it into a Problem."""
    return PydanticCustomError("fault", "{what}", {"what": what, "mend": mend})


def refused(typed: str, error: BadValue) -> PydanticCustomError:
    """Return the error about a text as it was typed."""
    said = {"what": f"{shown(typed)} {error.what}", "mend": error.mend, "word": error.word, "among": error.among}
    return PydanticCustomError("fault", "{what}", said)


def scalar(value: object) -> str:
    """Return the text of a scalar node; a mapping or a list is a fault."""
    if isinstance(value, str):
        if "\0" in value:
            raise fault("holds a NUL character, which no program can be given")
        return value
    raise fault(f"must be one value, not a {'mapping' if isinstance(value, dict) else 'list'}")


# --------------------------------------------------------------------------- the three ways to read a text


@dataclass(frozen=True, eq=False)
class Value:
    """Metadata of a type: `${NAME}` filled in, then read by `parse`."""

    parse: Callable[[str], object]
    json: Json

    def read(self, value: object, info: ValidationInfo[Reading]) -> object:
        typed = scalar(value)
        try:
            return self.parse(variables_of(info).expand(typed))
        except BadValue as error:
            raise refused(typed, error) from None

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        return self.json


@dataclass(frozen=True, eq=False)
class Unshown:
    """Metadata of a text that no complaint shows: it may hold a secret, though none should. `take` fills it in."""

    take: Callable[[str, Variables], object]
    json: Json

    def read(self, value: object, info: ValidationInfo[Reading]) -> object:
        try:
            return self.take(scalar(value), variables_of(info))
        except BadValue as error:
            raise fault(error.what, error.mend) from None

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        return self.json


@dataclass(frozen=True, eq=False)
class Shown(Value):
    """Metadata of a text that only people read: what came from the environment is put back as `${NAME}` at once."""

    def read(self, value: object, info: ValidationInfo[Reading]) -> object:
        return variables_of(info).redact(str(super().read(value, info)))


@dataclass(frozen=True, eq=False)
class Key(Value):
    """A mapping's key: read like a value, but nothing of the environment ever enters a key."""

    def read(self, value: object, info: ValidationInfo[Reading]) -> object:
        try:
            return self.parse(scalar(value))
        except BadValue as error:
            raise refused(str(value), error) from None


@dataclass(frozen=True, eq=False)
class Typed(Value):
    """A template: kept as typed; its variables are set, its placeholders known, its formats fit."""

    def read(self, value: object, info: ValidationInfo[Reading]) -> object:
        typed, variables = scalar(value), variables_of(info)
        try:
            text = self.parse(variables.note(typed))
            check_template(typed, variables.read)
        except BadValue as error:
            raise refused(typed, error) from None
        except TemplateError as error:
            raise fault(error.what, error.mend) from None
        return text


class EnvironmentValue(Typed):
    """A template for which a plain `null`, `~` or nothing is the empty text (field case FC-084)."""

    def read(self, value: object, info: ValidationInfo[Reading]) -> object:
        return "" if isinstance(value, Null) else Typed.read(self, value, info)


# --------------------------------------------------------------------------- one or several, and of which kind


class Several:
    """Metadata of a list for which one item may stand alone."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_listed, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        several = handler(schema)
        return {"anyOf": [several["items"], several]}


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


def shape_of(value: object) -> str:
    """Return the tag of a node's kind: the discriminator where a key takes text or a list or a mapping."""
    if isinstance(value, dict):
        return "<mapping>"
    return "<list>" if isinstance(value, list) else "<text>"
