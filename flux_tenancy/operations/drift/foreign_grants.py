"""Objects of nobody that grant something: bindings, roles, network policies, and exceptions from admission policies.

Rights add up, and so do network policies, so an object that is only added takes isolation away. What a tenant has
applied from Git is the tenant's own. Anybody can write labels and annotations, so only inventories count: those of the
stack's Kustomizations and HelmReleases, of those that these have applied, and what the stack's own charts have in its
state.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/ and
https://kubernetes.io/docs/concepts/services-networking/network-policies/
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from typing import Any

from flux_tenancy.components.cluster.ownership import carries_marks
from flux_tenancy.components.rbac import rights
from flux_tenancy.components.rbac.subjects import in_words
from flux_tenancy.components.tenant.further_access import CONTENT
from flux_tenancy.components.vocabulary.manifests import RBAC_API, Manifest, name_of
from flux_tenancy.components.vocabulary.names import HELM_API, HELM_RELEASE, KUSTOMIZATION, KUSTOMIZE_API
from flux_tenancy.components.vocabulary.quantities import parse_quantity
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
BINDING, CLUSTER_BINDING, CLUSTER_ROLE = (
    f"kubernetes:{RBAC_API}:{kind}" for kind in ("RoleBinding", "ClusterRoleBinding", "ClusterRole")
)
APPLIERS = (f"kubernetes:{KUSTOMIZE_API}:{KUSTOMIZATION}", f"kubernetes:{HELM_API}:{HELM_RELEASE}")
_POLICY_BINDING = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding"
_QUOTA = "kubernetes:core/v1:ResourceQuota"


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


def applied_by_stack(
    lists: Mapping[str, Iterable[Manifest]], own: Collection[tuple[str, str]], apart: Collection[str] = ()
) -> frozenset[str]:
    """What the stack's own Kustomizations and HelmReleases have applied, and those that these have applied.

    Any other says nothing about what it has applied: whoever creates one chooses what is in its inventory.

    Args:
        lists: Kustomizations and HelmReleases by type.
        own: type and `namespace/name` of the stack's objects.
        apart: namespaces whose Kustomizations and HelmReleases do not count.
    """
    appliers = {
        entry_of(type_, each): (type_, each)
        for type_ in APPLIERS
        for each in lists.get(type_, ())
        if each["metadata"]["namespace"] not in apart
    }
    applied: frozenset[str] = frozenset()
    new = frozenset(entry for entry, (type_, each) in appliers.items() if (type_, name_of(each)) in own)
    while new:
        found = applied_by_flux(appliers[each][1] for each in new & appliers.keys())
        new = found - applied
        applied |= found
    return applied


def applied_by_charts(releases: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The objects of RBAC and the network policies of the stack's own charts, as `applied_by_flux` has them.

    Args:
        releases: the outputs of their releases. Source: `resourceNames` of Pulumi's resource Release
    """
    return frozenset(
        _entry(namespace, name, *reversed(kind.partition("/")[0].partition(".")[::2]))
        for release in releases
        for kind, names in (release.get("resourceNames") or {}).items()
        for namespace, _, name in (each.rpartition("/") for each in names)
    )


def entry_of(type_: str, found: Manifest) -> str:
    """What an object of a type is called in an inventory."""
    _, api, kind = type_.split(":")
    metadata = found["metadata"]
    return _entry(metadata.get("namespace", ""), metadata["name"], api.partition("/")[0].replace("core", ""), kind)


def _entry(namespace: str, name: str, group: str, kind: str) -> str:
    return f"{namespace}_{name.replace(':', '__')}_{group}_{kind}"


def foreign_grants(
    type_: str, unknown: Iterable[Manifest], namespaces: Collection[str], applied: Collection[str]
) -> Iterator[Difference]:
    """The objects that neither the stack nor a tenant's Git has applied.

    Args:
        type_: one of the types in `GRANTING`.
        unknown: the objects of this type that the stack does not have.
        namespaces: the namespaces of the stack.
        applied: what the stack's syncs and charts have applied (`applied_by_stack`, `applied_by_charts`).
    """
    for each in unknown:
        is_here = each["metadata"]["namespace"] in namespaces and entry_of(type_, each) not in applied
        if type_ in EXCEPTION_TYPES or is_here:
            yield grant_of(type_, each)


def beside(
    unknown: Mapping[str, Iterable[Manifest]],
    namespaces: Collection[str],
    platform: Collection[str],
    policies: Collection[str],
    applied: Collection[str],
) -> Iterator[Difference]:
    """The objects of nobody that act as if they were the platform's.

    These are syncs in its namespaces, bindings of its policies, and quotas in any namespace of the stack that let
    nothing start; clouds have other quotas.

    Args:
        unknown: the objects that the stack does not have, by type.
        namespaces: the namespaces of the stack.
        platform: those of the platform.
        policies: the names of the stack's policies.
        applied: what the platform's syncs and the stack's charts have applied.
    """
    acting: dict[str, Callable[[Manifest], bool]] = {
        **dict.fromkeys(APPLIERS, lambda each: each["metadata"]["namespace"] in platform),
        _POLICY_BINDING: lambda each: each["spec"].get("policyName") in policies,
        _QUOTA: lambda each: each["metadata"]["namespace"] in namespaces and _starts_nothing(each),
    }
    for type_, acts in acting.items():
        for each in unknown.get(type_, ()):
            if acts(each) and entry_of(type_, each) not in applied and not carries_marks(each["metadata"]):
                yield grant_of(type_, each)


def _starts_nothing(quota: Manifest) -> bool:
    return any(not parse_quantity(limit) for limit in ((quota.get("spec") or {}).get("hard") or {}).values())


def added_rights(roles: Iterable[Manifest], bound: Set[str], applied: Collection[str]) -> Iterator[Difference]:
    """The ClusterRoles of nobody that add what reaches tenants to Kubernetes' roles that somebody has.

    Args:
        roles: the ClusterRoles that the stack does not have.
        bound: the ClusterRoles that are bound.
        applied: what the stack's syncs and charts have applied.
    """
    for role in roles:
        to = rights.aggregates_to(role)
        if not bound & set(to) or rights.is_of_kubernetes(role) or entry_of(CLUSTER_ROLE, role) in applied:
            continue
        if adds := rights.reaching(rights.permissions(role.get("rules") or (), in_cluster=False), "", CONTENT):
            granted = f"{'; '.join(rights.in_words(adds))}, added to {to[0]}"
            yield dataclasses.replace(unowned(What.FOREIGN, "ClusterRole", role), cluster=granted)


def grant_of(type_: str, found: Manifest) -> Difference:
    """That an object grants something, and what."""
    granted = in_words(found) if RBAC_API in type_ else found.get("spec") or {}
    return dataclasses.replace(unowned(What.FOREIGN, type_.rpartition(":")[2], found), cluster=granted)
