"""The valid part of a stack that has errors, for the checks that need only these values.

pydantic skips a check that compares values if any field of its section, or another section, is invalid. Here it is run
on the valid values. Invalid ones are absent, and a check that reads one is aborted, so that no error is reported that
only follows from another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter
from pydantic_core import ErrorDetails

from flux_tenancy.components.config.errors import KeyPath, MisplacedValueError
from flux_tenancy.components.config.invariants import present
from flux_tenancy.components.config.messages import Message, message_of
from flux_tenancy.components.config.section import KIND, Section, UnusableValueError, section_of_kind, sections_in
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.files.validation_errors import without_kinds

Finding = tuple[KeyPath, Message]
"""The path of a value and what is wrong with it."""
Check = Callable[[StackConfig], Iterable[Finding]]
"""Compares values of several sections."""


_Place = TypeVar("_Place")
_Thing = TypeVar("_Thing")


def of_each(
    things: Callable[[StackConfig], Mapping[_Place, _Thing]],
    *checks: Callable[[_Place, _Thing, StackConfig], Iterable[Finding]],
) -> tuple[Check, ...]:
    """Checks of one tenant, source or decryption at a time, as checks of the stack.

    Args:
        things: what is checked, by name or path.
        checks: what is wrong with one of them, given its name or path, itself and the stack.
    """

    def of_all(check: Callable[[_Place, _Thing, StackConfig], Iterable[Finding]]) -> Check:
        return lambda config: (
            finding for place, thing in things(config).items() for finding in check(place, thing, config)
        )

    return tuple(map(of_all, checks))


def usable_part(value: Mapping[str, Any], errors: Iterable[ErrorDetails]) -> StackConfig:
    """The valid part of a stack; reading a field that it lacks raises `UnusableValueError`.

    Args:
        value: the stack before it was checked.
        errors: pydantic's errors about it.
    """
    part = _section(StackConfig, value, {without_kinds(error["loc"]) for error in errors}, ())
    return cast("StackConfig", part)


def section_problems(section: Section, path: KeyPath = ()) -> Iterator[Finding]:
    """What the checks of a section, and of those below it, find when they compare values."""
    for name, decorator in type(section).__pydantic_decorators__.model_validators.items():
        if decorator.info.mode != "after":
            continue
        try:
            getattr(section, name)()
        except UnusableValueError:
            continue
        except MisplacedValueError as error:
            yield (*path, *error.path), message_of(error)
        except ValueError as error:
            yield path, message_of(error)
    for name, field in type(section).model_fields.items():
        if name in section.__dict__:
            for below, child in _children(getattr(section, name)):
                yield from section_problems(child, (*path, field.alias or name, *below))


def across_sections(check: Check, config: StackConfig) -> list[Finding]:
    """What a check finds in a stack, or in its valid part.

    A tenant, or the platform's sync, is left out if the check needs an invalid value of it.
    """
    while True:
        try:
            return list(check(config))
        except UnusableValueError as error:
            match error.path:
                case ("tenants", name, _, *_):
                    remaining = {tenant: each for tenant, each in config.tenants.items() if tenant != name}
                    config = config.model_copy(update={"tenants": remaining})
                case ("flux", "sync", *_):
                    config = config.model_copy(update={"flux": config.flux.model_copy(update={"sync": None})})
                case _:
                    return []


def without_value(section: Section, field: str, path: KeyPath) -> Section:
    """A section without one of its fields, which is invalid."""
    values = {name: value for name, value in section.__dict__.items() if name != field}
    return _constructed(type(section), values, path, section.model_fields_set)


def _constructed(
    model: type[Section], values: Mapping[str, Any], path: KeyPath, given: Collection[str] = frozenset()
) -> Section:
    """A section with these values; some checks ask which of its fields were given."""
    section = model.model_construct(set(given), **values)
    # Defaults replace missing values, not invalid ones.
    for name in model.model_fields.keys() - values.keys():
        section.__dict__.pop(name, None)
    section.came_from(path)
    return section


def _section(model: type[Section], value: Mapping[str, Any], broken: Collection[KeyPath], path: KeyPath) -> Section:
    names = {field.alias or name: name for name, field in model.model_fields.items()}
    # A misspelled key may stand for any of the missing ones.
    misspelled = any(len(error) == 1 and error[0] not in names for error in broken)
    values = {}
    for alias, name in names.items():
        field = model.model_fields[name]
        below = {error[1:] for error in broken if error[:1] == (alias,)}
        if alias not in value:
            if not (field.is_required() or misspelled):
                values[name] = field.get_default(call_default_factory=True)
        elif not below:
            values[name] = _validated(model, name, value[alias])
        elif (part := _part(field.annotation, value[alias], below, (*path, alias))) is not None:
            values[name] = part
    return _constructed(model, values, path, {name for alias, name in names.items() if alias in value})


def _part(annotation: Any, value: Any, broken: Collection[KeyPath], path: KeyPath) -> Any:
    """The valid part of a value: a section, or several by name or index; None for any other value."""
    models, origin = sections_in(annotation)
    if not models:
        return None
    if origin is dict and isinstance(value, Mapping):
        names = [name for name in value if (name, "[key]") not in broken]
        return {name: _item(models, value[name], broken, (*path, name)) for name in names}
    if origin is tuple and isinstance(value, list) and () not in broken:
        return tuple(_item(models, each, broken, (*path, index)) for index, each in enumerate(value))
    if origin is None and isinstance(value, Mapping):
        return _section(_model_of(models, value), value, broken, path)
    return None


def _model_of(models: tuple[type[Section], ...], value: Any) -> type[Section]:
    model = section_of_kind(models, value.get(KIND) if isinstance(value, Mapping) else None)
    return present(model, "there is at least one")


def _item(models: tuple[type[Section], ...], value: Any, broken: Collection[KeyPath], path: KeyPath) -> Section:
    below = {error[1:] for error in broken if error[:1] == path[-1:]}
    model = _model_of(models, value)
    if isinstance(value, Mapping):
        # Without a known kind, nothing is known of the other keys.
        return _constructed(model, {}, path) if () in below and len(models) > 1 else _section(model, value, below, path)
    return _constructed(model, {}, path) if below else model.model_validate(value)


def _children(value: Any) -> Iterator[tuple[KeyPath, Section]]:
    if isinstance(value, Section):
        yield (), value
    elif isinstance(value, Mapping | tuple):
        for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            if isinstance(item, Section):
                yield (key,), item


def _validated(model: type[Section], name: str, value: Any) -> Any:
    """A value that pydantic found valid, as the model has it."""
    if value is None and not model.model_fields[name].is_required():
        return model.model_fields[name].get_default(call_default_factory=True)
    return _adapter(model, name).validate_python(value)


@cache
def _adapter(model: type[Section], name: str) -> TypeAdapter[Any]:
    return TypeAdapter(model.model_fields[name].rebuild_annotation())
