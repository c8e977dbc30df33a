"""The fields that tenants may set in Flux's objects, as the policy `allowed-fields` lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.policy_files import policy_text

_LISTED = policy_text(PolicyName.ALLOWED_FIELDS).values
FIELDS: Mapping[str, list[str]] = _LISTED["fields"]
"""The fields of `spec`, by kind."""
BELOW: Mapping[str, Mapping[str, list[str]]] = _LISTED["below"]
"""The fields that a part of `spec` may have, by kind and path."""


def unlisted_fields(kind: str, spec: Mapping[str, Any]) -> list[str]:
    """The paths in `spec` that the policy refuses to a tenant."""
    found = [name for name in spec if name not in FIELDS[kind]]
    for path, names in BELOW.get(kind, {}).items():
        part: Any = spec
        for step in path.removesuffix("[]").split("."):
            part = part.get(step) or {}
        items = part if path.endswith("[]") else [part]
        found += [f"{path}.{name}" for item in items for name in item if name not in names]
    return sorted(set(found))
