"""CEL for what a policy has to know of a tenant (`components.tenant.annotations`)."""

from __future__ import annotations

from components.allowlists.cel import joined, text

ENTRIES_OR_NONE = f"(size(variables.entries) == 0 ? 'none' : {joined('variables.entries')})"
"""CEL for the variable `entries` in a message."""

STARTS = ".filter(entry, entry.endsWith('/*')).map(entry, entry.substring(0, size(entry) - 1))"
"""CEL to put behind a list of allow-list entries: how what lies below one of them begins."""


def value_of(annotation: str, otherwise: str) -> str:
    """CEL for one of these annotations, or for what holds where the namespace has none."""
    return f"({is_listed(annotation)} ? namespaceObject.metadata.annotations[{text(annotation)}] : {otherwise})"


def listed(annotation: str) -> str:
    """CEL for the entries of one of these annotations; an empty list where the namespace has none."""
    return f"({is_listed(annotation)} ? namespaceObject.metadata.annotations[{text(annotation)}].split(' ') : [])"


def unrestricted(annotation: str, of_stack: tuple[str, ...] | None) -> str:
    """CEL for whether neither the stack nor the tenant has a list, so that everything is allowed."""
    return f"!{is_listed(annotation)}" if of_stack is None else "false"


def is_listed(annotation: str) -> str:
    """CEL for whether the namespace has one of these annotations."""
    return f"(has(namespaceObject.metadata.annotations) && {text(annotation)} in namespaceObject.metadata.annotations)"
