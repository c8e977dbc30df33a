"""A tenant's base file merged with the stack's entry, with the file that each value came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class MergedTenant:
    """A merged mapping and its origins.

    Attributes:
        value: the merged mapping.
        origins: the file that each path of `value` came from; for a path that is not listed, see its nearest parent.
        base: the base before the merge.
    """

    value: dict[str, Any]
    origins: dict[Path, str]
    base: Mapping[str, Any]

    def origin(self, path: Path) -> str | None:
        """The file of the value at `path`, or of its nearest parent; None if neither file has one."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.origins:
                return self.origins[path[:length]]
        return None


def overlay(base: Mapping[str, Any], base_file: str, entry: Mapping[str, Any], entry_file: str) -> MergedTenant:
    """Merge `entry` over `base`: mappings are merged key by key, everything else is replaced.

    Source: the merge rules of Kustomize's strategic overlays in Flux's multi-tenancy reference, without list merging.
    """
    entry_paths = dict(_paths(entry))
    # Nothing below a value that the entry replaces comes from the base.
    replaced = {path for path, value in entry_paths.items() if not isinstance(value, Mapping)}
    origins = {
        path: base_file
        for path, _ in _paths(base)
        if not any(path[:length] in replaced for length in range(1, len(path) + 1))
    }
    return MergedTenant(_merge(base, entry), origins | dict.fromkeys(entry_paths, entry_file), base)


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
