"""The base of all sections of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel


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
