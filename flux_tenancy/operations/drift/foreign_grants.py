"""Objects of nobody that grant something: bindings, roles, network policies, and exceptions from admission policies.

Rights add up, and so do network policies, so an object that is only added takes isolation away. What a tenant has
applied from Git is the tenant's own. Anybody can write labels and annotations, so only inventories count: those of
Kustomizations and HelmReleases, and what the stack's own charts have in its state.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/ and
https://kubernetes.io/docs/concepts/services-networking/network-policies/
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from typing import Any

from flux_tenancy.components.rbac import rights
from flux_tenancy.components.rbac.subjects import in_words
from flux_tenancy.components.tenant.further_access import CONTENT
from flux_tenancy.components.vocabulary.manifests import RBAC, RBAC_API, Manifest
from flux_tenancy.operations.drift.differences import Difference, What, unowned

EXCEPTION_TYPES = ("kubernetes:policies.kyverno.io/v1:PolicyException", "kubernetes:kyverno.io/v2:PolicyException")
"""The types of an exception from Kyverno's policies; one in any namespace may exempt objects in all."""
GRANTING = frozenset(
    {
        f"kubernetes:{RBAC_API}:RoleBinding",
        "kubernetes:networking.k8s.io/v1:NetworkPolicy",
        *EXCEPTION_TYPES,
    }
)
"""The types of which an additional object allows more."""
_NETWORK_POLICY, _EXCEPTION, _ROLE = "NetworkPolicy", "PolicyException", "ClusterRole"


def applied_by_flux(appliers: Iterable[Manifest]) -> frozenset[str]:
    """The objects in the inventories of Kustomizations and HelmReleases, each as `<namespace>_<name>_<group>_<kind>`.

    Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#inventory, and `ObjMetadata.String` of
    sigs.k8s.io/cli-utils, which writes a colon in a name as two underscores
    """
    return frozenset(
        entry["id"]
        for each in appliers
        for entry in ((each.get("status") or {}).get("inventory") or {}).get("entries") or ()
    )


def applied_by_charts(releases: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The objects of RBAC and the network policies of the stack's own charts, as `applied_by_flux` has them.

    Args:
        releases: the outputs of their releases. Source: `resourceNames` of Pulumi's resource Release
    """
    return frozenset(
        _entry(namespace, name, kind.partition(".")[0])
        for release in releases
        for kind, names in (release.get("resourceNames") or {}).items()
        for namespace, _, name in (each.rpartition("/") for each in names)
    )


def entry_of(kind: str, found: Manifest) -> str:
    """What an object of one of these kinds is called in an inventory."""
    return _entry(found["metadata"].get("namespace", ""), found["metadata"]["name"], kind)


def _entry(namespace: str, name: str, kind: str) -> str:
    group = "networking.k8s.io" if kind == _NETWORK_POLICY else RBAC
    return f"{namespace}_{name.replace(':', '__')}_{group}_{kind}"


def foreign_grants(
    kind: str, unknown: Iterable[Manifest], namespaces: Collection[str], applied: Collection[str]
) -> Iterator[Difference]:
    """The objects that neither the stack nor a tenant's Git has applied.

    Args:
        kind: the kind of one of the types in `GRANTING`.
        unknown: the objects of this kind that the stack does not have.
        namespaces: the namespaces of the stack.
        applied: what Flux and the stack's charts have applied (`applied_by_flux`, `applied_by_charts`).
    """
    for each in unknown:
        if kind == _EXCEPTION or (each["metadata"]["namespace"] in namespaces and entry_of(kind, each) not in applied):
            yield grant_of(kind, each)


def added_rights(roles: Iterable[Manifest], bound: Set[str], applied: Collection[str]) -> Iterator[Difference]:
    """The ClusterRoles of nobody that add what reaches tenants to Kubernetes' roles that somebody has.

    Args:
        roles: the ClusterRoles that the stack does not have.
        bound: the ClusterRoles that are bound.
        applied: what Flux and the stack's charts have applied.
    """
    for role in roles:
        to = rights.aggregates_to(role)
        if not bound & set(to) or rights.is_of_kubernetes(role) or entry_of(_ROLE, role) in applied:
            continue
        if adds := rights.reaching(rights.permissions(role.get("rules") or (), in_cluster=False), "", CONTENT):
            granted = f"{'; '.join(rights.in_words(adds))}, added to {to[0]}"
            yield dataclasses.replace(unowned(What.FOREIGN, _ROLE, role), cluster=granted)


def grant_of(kind: str, found: Manifest) -> Difference:
    """That an object grants something, and what."""
    granted = found.get("spec") or {} if kind in (_NETWORK_POLICY, _EXCEPTION) else in_words(found)
    return dataclasses.replace(unowned(What.FOREIGN, kind, found), cluster=granted)
