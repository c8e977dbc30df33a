"""The base of all sections of the configuration, and of those whose further keys are passed through.

These become fields of a Flux object's `spec` as they are written. The release's own definitions check them
(`components.installs.flux.release`), so a field that Flux adds is a key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, model_validator
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from flux_tenancy.components.config.errors import UNKNOWN_KEY, KeyPath
from flux_tenancy.components.config.messages import Message, Wording


class Section(BaseModel):
    """Base of every section: camelCase in the files, unknown keys refused, immutable once read."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, hide_input_in_errors=True, strict=False
    )

    removed_keys: ClassVar[Mapping[str, str]] = {}
    """Keys of earlier versions: key -> why nobody needs it."""

    @model_validator(mode="before")
    @classmethod
    def _empty_mapping(cls, value: Any) -> Any:
        """`pulumi config set --path` stores `{}` as a string."""
        return {} if value == "{}" else value


KIND = "kind"
"""The key that tells the sections of a union apart."""


def sections_in(annotation: Any) -> tuple[tuple[type[Section], ...], Any]:
    """The sections in a type, and `dict` or `tuple` where the type contains several values.

    There is more than one section where their `kind` tells them apart.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return (annotation,), None
    if origin in (dict, tuple):
        return sections_in(arguments[origin is dict])[0], origin
    found = [each for each in map(sections_in, arguments) if each[0]]
    return tuple(model for models, _ in found for model in models), found[0][1] if found else None


def kind_of(model: type[Section]) -> str | None:
    """The `kind` by which a section is told apart from others, or None."""
    field = model.model_fields.get(KIND)
    kinds = get_args(field.annotation) if field is not None else ()
    return str(kinds[0]) if len(kinds) == 1 else None


def section_of_kind(models: tuple[type[Section], ...], kind: object) -> type[Section] | None:
    """The section with this `kind`; the only one, or the first of several where none has it, or None."""
    return next((model for model in models if kind_of(model) == kind), models[0] if models else None)


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
