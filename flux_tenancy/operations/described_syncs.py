"""What Flux applies for a tenant as the files describe it; the tenant need not be valid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flux_tenancy.components.vocabulary.manifests import value_at
from flux_tenancy.operations.yaml_edits import Keys

_SYNC, _SYNCS = "sync", "syncs"


def sync_paths(tenant: str, described: Mapping[str, Any]) -> dict[str, Keys]:
    """The path of each sync below the tenant, by the name of its Kustomization."""
    own: dict[str, Keys] = {tenant: (_SYNC,)} if has_syncs(described) else {}
    return own | {name: (_SYNCS, name) for name in _names(described, _SYNCS)}


def has_syncs(described: Mapping[str, Any]) -> bool:
    """Whether Flux applies folders for the tenant, as `TenantConfig.has_syncs` says it of a valid one."""
    given = any(key in described for key in (_SYNC, "source")) or bool(described.get(_SYNCS))
    return given or not described.get("releases")


def applied_paths(tenant: str, described: Mapping[str, Any]) -> list[Keys]:
    """The paths of all syncs and releases below the tenant."""
    releases = "releases"
    return [*sync_paths(tenant, described).values(), *((releases, name) for name in _names(described, releases))]


def syncs_of(tenant: str, described: Mapping[str, Any], source: str = "") -> list[str]:
    """The names of the Kustomizations that apply one of the tenant's sources; `source` itself if none is named."""
    first = value_at(described, (_SYNC, "source")) or ""
    return [
        name
        for name, path in sync_paths(tenant, described).items()
        if (value_at(described, (*path, "source")) or first) == source
    ]


def _names(described: Mapping[str, Any], section: str) -> list[str]:
    found = described.get(section)
    return list(found) if isinstance(found, Mapping) else []
