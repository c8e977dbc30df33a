"""Objects of nobody that grant something: bindings, network policies, and exceptions from admission policies.

Rights add up, and so do network policies, so an object that is only added takes isolation away. What a tenant has
applied from Git is the tenant's own: it is in the inventory of a Kustomization, or belongs to a release of Helm.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/ and
https://kubernetes.io/docs/concepts/services-networking/network-policies/
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator

from flux_tenancy.components.rbac.subjects import in_words, subjects_of
from flux_tenancy.components.vocabulary.manifests import RBAC, RBAC_API, Manifest
from flux_tenancy.operations.differences import Difference, What, unowned

EXCEPTIONS = ("kubernetes:policies.kyverno.io/v1:PolicyException", "kubernetes:kyverno.io/v2:PolicyException")
"""The types of an exception from Kyverno's policies; one in any namespace may exempt objects in all."""
GRANTING = frozenset(
    {
        f"kubernetes:{RBAC_API}:RoleBinding",
        "kubernetes:networking.k8s.io/v1:NetworkPolicy",
        *EXCEPTIONS,
    }
)
"""The types of which an additional object allows more."""
_GROUPS = {"RoleBinding": RBAC, "NetworkPolicy": "networking.k8s.io"}
_EXCEPTION, _CLUSTER_BINDING = "PolicyException", "ClusterRoleBinding"
_OF_HELM = "meta.helm.sh/release-name"


def applied_by_flux(syncs: Iterable[Manifest]) -> frozenset[str]:
    """The objects in the inventories of Kustomizations, each as `<namespace>_<name>_<group>_<kind>`.

    Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#inventory, and `ObjMetadata.String` of
    sigs.k8s.io/cli-utils, which writes a colon in a name as two underscores
    """
    return frozenset(
        entry["id"]
        for sync in syncs
        for entry in ((sync.get("status") or {}).get("inventory") or {}).get("entries") or ()
    )


def entry_of(kind: str, found: Manifest) -> str:
    """What an object of one of these kinds is called in an inventory."""
    metadata = found["metadata"]
    return f"{metadata['namespace']}_{metadata['name'].replace(':', '__')}_{_GROUPS[kind]}_{kind}"


def foreign_grants(
    kind: str, unknown: Iterable[Manifest], namespaces: Collection[str], of_flux: Collection[str]
) -> Iterator[Difference]:
    """The objects that neither the stack nor a tenant's Git nor Helm has applied.

    Args:
        kind: the kind of one of the types in `GRANTING`.
        unknown: the objects of this kind that the stack does not have.
        namespaces: the namespaces of the stack.
        of_flux: what Flux has applied (`applied_by_flux`).
    """
    for each in unknown:
        if kind == _EXCEPTION or (
            each["metadata"]["namespace"] in namespaces
            and entry_of(kind, each) not in of_flux
            and not _is_of_helm(each)
        ):
            yield grant_of(kind, each)


def grants_to_platform(
    bindings: Iterable[Manifest], own: Collection[str], namespaces: Collection[str]
) -> Iterator[Difference]:
    """The ClusterRoleBindings for service accounts of the platform that neither the stack nor Helm has applied.

    Args:
        bindings: the ClusterRoleBindings of the cluster.
        own: the names of the stack's.
        namespaces: the platform's namespaces, which no tenant has.
    """
    for each in bindings:
        named = (subject.within in namespaces for subject, _ in subjects_of(each))
        if any(named) and each["metadata"]["name"] not in own and not _is_of_helm(each):
            yield grant_of(_CLUSTER_BINDING, each)


def _is_of_helm(found: Manifest) -> bool:
    return _OF_HELM in (found["metadata"].get("annotations") or {})


def grant_of(kind: str, found: Manifest) -> Difference:
    """That an object grants something, and what."""
    granted = found.get("spec") or {} if kind in ("NetworkPolicy", _EXCEPTION) else in_words(found)
    return dataclasses.replace(unowned(What.FOREIGN, kind, found), cluster=granted)
