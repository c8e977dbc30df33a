"""CEL that reads a tenant's settings from its namespace's annotations (`components.tenant.annotations`)."""

from __future__ import annotations

from components.allowlists.cel import joined, text

ENTRIES_OR_NONE = f"(size(variables.entries) == 0 ? 'none' : {joined('variables.entries')})"
"""CEL for the variable `entries` in a message."""

STARTS = ".filter(entry, entry.endsWith('/*')).map(entry, entry.substring(0, size(entry) - 1))"
"""CEL to append to a list of allow-list entries: the prefixes of those that end with `/*`."""


def value_of(annotation: str, otherwise: str) -> str:
    """CEL for the value of an annotation, with a default."""
    return f"({is_listed(annotation)} ? namespaceObject.metadata.annotations[{text(annotation)}] : {otherwise})"


def listed(annotation: str) -> str:
    """CEL for the entries of an annotation; an empty list without the annotation."""
    return f"({is_listed(annotation)} ? namespaceObject.metadata.annotations[{text(annotation)}].split(' ') : [])"


def unrestricted(annotation: str, of_stack: tuple[str, ...] | None) -> str:
    """CEL for whether neither the stack nor the tenant has a list, so that everything is allowed."""
    return f"!{is_listed(annotation)}" if of_stack is None else "false"


def is_listed(annotation: str) -> str:
    """CEL for whether the namespace has an annotation."""
    return f"(has(namespaceObject.metadata.annotations) && {text(annotation)} in namespaceObject.metadata.annotations)"
