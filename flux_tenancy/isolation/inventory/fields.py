"""What differs between an object as it is intended and as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flux_tenancy.components.config.errors import KeyPath, dotted
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.vocabulary.manifests import Manifest

Difference = tuple[str, Any, Any]
"""The path of a field, its intended value, and the value that is there; None for a field that is not set."""

NOTHING = "nothing"
_ANYTHING = frozenset({"apiVersion", "kind", "metadata", "status"})
_EMPTY: tuple[Any, ...] = (None, "", [], {})
_MOST = 3
_LENGTH = 160


def differences(intended: Manifest, found: Manifest, *, exact: bool) -> list[Difference]:
    """The fields that differ, outside of metadata and status.

    Args:
        intended: the object as it is intended.
        found: the object in the cluster.
        exact: whether a field that is not intended is a difference, too; then `intended` has all defaults.
    """
    keys = {*intended, *(found if exact else ())} - _ANYTHING
    return [each for key in sorted(keys) for each in _differing(intended.get(key), found.get(key), (key,), exact)]


def described(differing: Sequence[Difference]) -> tuple[str, str]:
    """What is there, and what is intended, each on one line."""
    more = [f"{len(differing) - _MOST} more"] if len(differing) > _MOST else []
    shown = differing[:_MOST]
    return (
        ", ".join([*(f"{path}: {_short(found)}" for path, _, found in shown), *more]),
        ", ".join([*(f"{path}: {_short(intended)}" for path, intended, _ in shown), *more]),
    )


def _differing(intended: Any, found: Any, path: KeyPath, exact: bool) -> Iterator[Difference]:
    if intended in _EMPTY and found in _EMPTY:
        return
    if isinstance(intended, Mapping) and isinstance(found, Mapping):
        for key in sorted({*intended, *(found if exact else ())}):
            yield from _differing(intended.get(key), found.get(key), (*path, key), exact)
    elif isinstance(intended, list) and isinstance(found, list) and len(intended) == len(found):
        for index, (first, second) in enumerate(zip(intended, found, strict=True)):
            yield from _differing(first, second, (*path, index), exact)
    elif intended != found:
        yield dotted(path), intended, found


def _short(value: Any) -> str:
    if value is None:
        return NOTHING
    text = printable(value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False))
    return text if len(text) <= _LENGTH else f"{text[:_LENGTH]}…"
