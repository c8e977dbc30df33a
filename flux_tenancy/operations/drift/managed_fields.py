"""Who owns which field of an object, as the API server records it in `metadata.managedFields`.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/ and the format of FieldsV1 in
https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#fieldsv1-v1-meta
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from flux_tenancy.components.config.errors import dotted

FieldPath = tuple[str, ...]
"""A field as FieldsV1 writes it: `f:<name>`, `k:<keys of a list item>`, `v:<value of a set>` or `i:<index>` each."""

_FIELD, _KEYS, _VALUE, _INDEX = "f:", "k:", "v:", "i:"
_ITSELF = "."
# How the provider writes such fields of a definition's schema in the state.
# Source: mapReplDashToUnderscore in provider/pkg/provider/provider.go of pulumi-kubernetes
_SCHEMA, _SCHEMA_IN_STATE = "x-kubernetes-", "x_kubernetes_"


class Missing(Enum):
    """The value of a field that an object does not have; a copy is the same, which `dataclasses.asdict` makes."""

    MISSING = auto()

    def __repr__(self) -> str:
        return self.name


MISSING: Final = Missing.MISSING


@dataclass(frozen=True)
class Manager:
    """One entry of `managedFields`.

    Attributes:
        name: the field manager, e.g. `kubectl-edit`; empty if whoever wrote the entry left it out.
        time: when it last changed a field of its own, as the API server writes it; empty if that is unknown.
        subresource: the subresource that it has written; empty for the object itself.
        fields: the fields that it owns, without what is inside of them.
    """

    name: str
    time: str
    subresource: str
    fields: frozenset[FieldPath]

    def owns(self, path: FieldPath) -> bool:
        """Whether it owns a field, something inside of the field, or something that the field is inside of."""
        return any(related(each, path) for each in self.fields)


def related(one: FieldPath, other: FieldPath) -> bool:
    """Whether one field is the other, or inside of it."""
    return one[: len(other)] == other or other[: len(one)] == one


def managers(manifest: Mapping[str, Any]) -> list[Manager]:
    """The managers of an object, in the order of the API server."""
    return [
        Manager(
            entry.get("manager", ""),
            entry.get("time") or "",
            entry.get("subresource", ""),
            frozenset(_leaves(entry.get("fieldsV1") or {}, ())),
        )
        for entry in manifest["metadata"].get("managedFields") or ()
    ]


def value_at(value: Any, path: Sequence[str]) -> Any:
    """The value of a field, or MISSING; null counts as missing, as for the API server."""
    for step in path:
        value = _step(value, step[:2], step[2:])
        if value is None or value is MISSING:
            return MISSING
    return value


def shown(path: FieldPath) -> str:
    """A path as people write it, e.g. `spec.template.spec.containers[manager].args`."""
    return dotted(map(_shown, path))


def _shown(step: str) -> str:
    kind, rest = step[:2], step[2:]
    if kind == _FIELD:
        return rest
    if kind == _KEYS:
        return f"[{','.join(str(each) for each in json.loads(rest).values())}]"
    return f"[{json.loads(rest) if kind == _VALUE else rest}]"


def remove(value: Any, path: FieldPath) -> None:
    """Remove a field from an object that has it."""
    inside = value_at(value, path[:-1])
    del inside[_key(inside, path[-1])]


def put(value: Any, path: FieldPath, new: Any) -> None:
    """Set a field of an object, or append an item to a list; where the part around it is missing, nothing is set."""
    inside, step = value_at(value, path[:-1]), path[-1]
    if new is MISSING or inside is MISSING:
        return
    if isinstance(inside, list) and value_at(value, path) is MISSING:
        inside.append(new)
    else:
        inside[_key(inside, step)] = new


def _leaves(fields: Mapping[str, Any], path: FieldPath) -> Iterator[FieldPath]:
    inside = {name: each for name, each in fields.items() if name != _ITSELF}
    if not inside and path:
        yield path
    for name, each in inside.items():
        yield from _leaves(each, (*path, name))


def _step(value: Any, kind: str, rest: str) -> Any:
    if kind == _FIELD:
        if not isinstance(value, Mapping):
            return MISSING
        other = rest.replace("-", "_") if rest.startswith(_SCHEMA) else rest
        other = rest.replace("_", "-") if rest.startswith(_SCHEMA_IN_STATE) else other
        return value.get(rest, value.get(other, MISSING))
    if not isinstance(value, list):
        return MISSING
    if kind == _INDEX:
        return value[int(rest)] if int(rest) < len(value) else MISSING
    wanted = json.loads(rest)
    for each in value:
        if (each == wanted) if kind == _VALUE else (isinstance(each, Mapping) and _has(each, wanted)):
            return each
    return MISSING


def _key(value: Any, step: str) -> Any:
    """The name or the index of a step in a value that has it."""
    if not isinstance(value, list):
        name = step[2:]
        return name.replace("_", "-") if name.startswith(_SCHEMA_IN_STATE) and name not in value else name
    found = _step(value, step[:2], step[2:])
    return next(index for index, each in enumerate(value) if each is found)


def _has(item: Mapping[str, Any], keys: Mapping[str, Any]) -> bool:
    return all(item.get(name) == value for name, value in keys.items())


def normalized(value: Any) -> Any:
    """A value as it can be compared with one of the state: null is left out, and schemas have the state's names."""
    if isinstance(value, Mapping):
        return {
            (name.replace("-", "_") if name.startswith(_SCHEMA) else name): normalized(each)
            for name, each in value.items()
            if each is not None
        }
    return [normalized(each) for each in value] if isinstance(value, list) else value


def denormalized(value: Any) -> Any:
    """A value of the state as the API server takes it, with its own names for extensions of a schema."""
    if isinstance(value, Mapping):
        return {
            (name.replace("_", "-") if name.startswith(_SCHEMA_IN_STATE) else name): denormalized(each)
            for name, each in value.items()
        }
    return [denormalized(each) for each in value] if isinstance(value, list) else value
