"""The base of all sections of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, PrivateAttr, model_validator
from pydantic.alias_generators import to_camel


class UnusableValueError(Exception):
    """A check has read a value that is invalid or missing (components/stack/partial.py).

    Attributes:
        path: the value's path in the stack.
    """

    def __init__(self, path: tuple[str | int, ...]) -> None:
        super().__init__(path)
        self.path = path


class Section(BaseModel):
    """Base of every section: camelCase in the files, unknown keys refused, immutable once read."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, hide_input_in_errors=True, strict=False
    )

    removed_keys: ClassVar[Mapping[str, str]] = {}
    """Keys of earlier versions: key -> why nobody needs it."""

    _path: tuple[str | int, ...] = PrivateAttr(())

    def came_from(self, path: tuple[str | int, ...]) -> None:
        """Note where in the stack the section is, for a section with invalid values."""
        self._path = path

    @model_validator(mode="before")
    @classmethod
    def _empty_mapping(cls, value: Any) -> Any:
        """`pulumi config set --path` stores `{}` as a string."""
        return {} if value == "{}" else value

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in type(self).model_fields:
                raise UnusableValueError((*self._path, type(self).model_fields[name].alias or name))
            return super().__getattr__(name)


def section_in(annotation: Any) -> tuple[type[Section] | None, Any]:
    """The section in a type, and `dict` or `tuple` where the type contains several of it."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation, None
    if origin in (dict, tuple):
        return section_in(arguments[origin is dict])[0], origin
    return next(((model, kind) for model, kind in map(section_in, arguments) if model is not None), (None, None))
