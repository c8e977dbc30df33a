"""A tenant's base file with the stack's entry laid over it, remembering which file each value came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Overlaid:
    """A merged mapping and its origins.

    Attributes:
        value: the merged mapping.
        origins: the file that each path of `value` came from; a path that is missing came from its nearest parent.
        base: the base as it was, with what the entry replaces.
    """

    value: dict[str, Any]
    origins: dict[Path, str]
    base: Mapping[str, Any]

    def origin(self, path: Path) -> str | None:
        """The file to look into for what is at `path`, or None where neither file says anything near it."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.origins:
                return self.origins[path[:length]]
        return None


def overlay(base: Mapping[str, Any], base_file: str, entry: Mapping[str, Any], entry_file: str) -> Overlaid:
    """Lay `entry` over `base`: mappings are merged key by key, everything else is replaced.

    Source: the merge rules of Kustomize's strategic overlays in Flux's multi-tenancy reference, without list merging.
    """
    entry_paths = dict(_paths(entry))
    # What the entry replaces as a whole takes nothing from the base, however deep.
    replaced = {path for path, value in entry_paths.items() if not isinstance(value, Mapping)}
    origins = {
        path: base_file
        for path, _ in _paths(base)
        if not any(path[:length] in replaced for length in range(1, len(path) + 1))
    }
    return Overlaid(_merge(base, entry), origins | dict.fromkeys(entry_paths, entry_file), base)


def _merge(base: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in entry.items():
        below = merged.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            merged[key] = _merge(below, value)
        else:
            merged[key] = value
    return merged


def _paths(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if path:
        yield path, value
    children = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from _paths(child, (*path, key))
