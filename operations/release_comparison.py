"""Compare the manifests of two Flux releases: fields that no policy knows yet, and roles that changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flux_tenancy.components.policies.fields import FIELDS

Manifests = Iterable[Mapping[str, Any]]


def unknown_fields(old: Manifests, new: Manifests) -> tuple[str, ...]:
    """Fields of `spec` that are new and that the policy `allowed-fields` does not list, as `Kind.spec.field`.

    Only kinds that tenants may write are compared, and only the first level of `spec`, as the policy does.
    """
    added = set(_fields(new)) - set(_fields(old))
    return tuple(sorted(f"{kind}.spec.{name}" for kind, name in added if name not in FIELDS[kind]))


def changed_roles(old: Manifests, new: Manifests) -> tuple[str, ...]:
    """Roles whose rules differ, or that only one release has, as `Kind/name`."""
    before, after = dict(_roles(old)), dict(_roles(new))
    return tuple(sorted(role for role in before.keys() | after.keys() if before.get(role) != after.get(role)))


def _fields(manifests: Manifests) -> Iterator[tuple[str, str]]:
    for manifest in manifests:
        if manifest["kind"] != "CustomResourceDefinition" or manifest["spec"]["names"]["kind"] not in FIELDS:
            continue
        for version in manifest["spec"]["versions"]:
            properties = version["schema"]["openAPIV3Schema"].get("properties", {})
            for name in properties.get("spec", {}).get("properties", {}):
                yield manifest["spec"]["names"]["kind"], name


def _roles(manifests: Manifests) -> Iterator[tuple[str, Any]]:
    for manifest in manifests:
        if manifest["kind"] in ("ClusterRole", "Role"):
            yield f"{manifest['kind']}/{manifest['metadata']['name']}", manifest.get("rules", [])
