"""Keys that are passed through: they become fields of a Flux object's `spec` as they are written.

The release's own definitions check them (`components.installs.flux.release`), so a field that Flux adds is a key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from flux_tenancy.components.config.errors import UNKNOWN_KEY, KeyPath
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.section import Section

SET_BY_PLATFORM = Wording("FT-FLX-034", "is set by the platform", "{remedy}")


class Passed(Section):
    """A section whose further keys are fields of a Flux object's `spec`."""

    model_config = ConfigDict(extra="allow")

    kind_of_object: ClassVar[str] = ""
    """The kind of the object."""
    api_reference: ClassVar[str] = ""
    """Where Flux lists its fields."""

    owned: ClassVar[Mapping[str, str]] = {}
    """Fields that are not passed through, since the platform sets them: field -> what to do instead."""

    @classmethod
    def further_keys(cls) -> str:
        """What the further keys are, for the reference and for editors."""
        return f"Any other key is a field of the {cls.kind_of_object}'s `spec`: {cls.api_reference}"

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler(core_schema)
        handler.resolve_ref_schema(schema)["additionalProperties"] = {"description": cls.further_keys()}
        return schema

    @property
    def further(self) -> dict[str, Any]:
        """The fields of `spec` that are passed through."""
        return written(self.model_extra or {})


_ABSENT: Mapping[str, Any] = {
    **dict.fromkeys(("force", "ignoreMissingComponents", "literal", "optional", "passCredentials"), False),
    "substituteStrategy": "WithVariables",
}
"""Values that say the same as nothing. Objects that were applied before lack them."""


def written(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of an object without those that say nothing, as Flux's own types write them (`omitempty`)."""
    found = {key: _written(value) for key, value in fields.items()}
    return {
        key: value
        for key, value in found.items()
        if value is not None and value != {} and value != [] and not (key in _ABSENT and value == _ABSENT[key])
    }


def _written(value: Any) -> Any:
    if isinstance(value, Mapping):
        return written(value)
    return [_written(each) for each in value] if isinstance(value, list | tuple) else value


def merged(own: Mapping[str, Any], further: Mapping[str, Any]) -> dict[str, Any]:
    """What this program writes, and beside it what is passed through; where both have a value, it is this program's.

    A value instead of a mapping stays, so that the release's definitions refuse it.
    """
    found = {**own, **further, **own}
    for key in own.keys() & further.keys():
        if isinstance(own[key], Mapping):
            found[key] = merged(own[key], further[key]) if isinstance(further[key], Mapping) else further[key]
    return found


def owned_fields(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Message]]:
    """What is said of the fields that the platform sets, in a section and in all below it."""
    if isinstance(value, Passed):
        for key in value.model_extra or {}:
            if key in value.owned:
                yield (*path, key), SET_BY_PLATFORM(remedy=value.owned[key])
            elif key in value.removed_keys:
                yield (*path, key), UNKNOWN_KEY(remedy=f"remove it: {value.removed_keys[key]}")
    if isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            yield from owned_fields(getattr(value, name), (*path, field.alias or name))
    elif isinstance(value, Mapping | tuple):
        items: Iterable[tuple[str | int, Any]] = value.items() if isinstance(value, Mapping) else enumerate(value)
        for at, each in items:
            if isinstance(each, BaseModel):
                yield from owned_fields(each, (*path, at))
