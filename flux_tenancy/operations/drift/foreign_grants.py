"""Objects of nobody that reach a tenant or the platform, by a rule for each type.

Rights add up, and so do network policies, so an object that is only added takes isolation away. What a tenant has
applied from Git is the tenant's own in its namespaces; everywhere else, only the platform's Git explains an object.
Anybody can write labels and annotations, so only inventories count: those of the stack's Kustomizations and
HelmReleases, of those that these have applied, and what the stack's own charts have in its state.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/ and
https://kubernetes.io/docs/concepts/services-networking/network-policies/
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from flux_tenancy.components.plan import carries_marks
from flux_tenancy.components.rbac import rights
from flux_tenancy.components.rbac.subjects import in_words, subjects_of
from flux_tenancy.components.tenant.further_access import CONTENT
from flux_tenancy.components.vocabulary.manifests import MAKERS, RBAC_API, Manifest, name_of, parse_quantity, selects
from flux_tenancy.components.vocabulary.names import (
    BUCKET,
    GIT_REPOSITORY,
    HELM_API,
    HELM_RELEASE,
    HELM_REPOSITORY,
    KUSTOMIZATION,
    KUSTOMIZE_API,
    OCI_REPOSITORY,
    SOURCE_API,
)
from flux_tenancy.operations.drift.differences import Difference, What, unowned
from flux_tenancy.operations.drift.lists import NATIVE_POLICY, NETWORK_POLICY, QUOTA, SECRET

EXCEPTION_TYPES = ("kubernetes:policies.kyverno.io/v1:PolicyException", "kubernetes:kyverno.io/v2:PolicyException")
"""The types of an exception from Kyverno's policies; one in any namespace may exempt objects in all."""
ROLE_BINDING, CLUSTER_ROLE_BINDING, CLUSTER_ROLE = (
    f"kubernetes:{RBAC_API}:{kind}" for kind in ("RoleBinding", "ClusterRoleBinding", "ClusterRole")
)
SYNC = f"kubernetes:{KUSTOMIZE_API}:{KUSTOMIZATION}"
APPLIERS = (SYNC, f"kubernetes:{HELM_API}:{HELM_RELEASE}")
_ADMISSION = "kubernetes:admissionregistration.k8s.io/v1"
_MUTATING, _VALIDATING = (f"{_ADMISSION}:{kind}WebhookConfiguration" for kind in ("Mutating", "Validating"))
_MUTATIONS = [
    f"kubernetes:admissionregistration.k8s.io/{version}:MutatingAdmissionPolicy{kind}"
    for version in ("v1", "v1beta1")
    for kind in ("", "Binding")
]
_SERVICE = "kubernetes:core/v1:Service"
_INGRESS = "kubernetes:networking.k8s.io/v1:Ingress"
# What runs, is applied or announced in a namespace of the platform acts for it.
_ACTING = frozenset(
    {
        *(f"kubernetes:core/v1:{kind}" for kind in ("Pod", "ReplicationController")),
        *(f"kubernetes:apps/v1:{kind}" for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")),
        *(f"kubernetes:batch/v1:{kind}" for kind in ("CronJob", "Job")),
        *(f"kubernetes:{SOURCE_API}:{kind}" for kind in (BUCKET, GIT_REPOSITORY, HELM_REPOSITORY, OCI_REPOSITORY)),
        *(f"kubernetes:notification.toolkit.fluxcd.io/v1beta3:{kind}" for kind in ("Alert", "Provider")),
        "kubernetes:notification.toolkit.fluxcd.io/v1:Receiver",
        "kubernetes:image.toolkit.fluxcd.io/v1:ImageUpdateAutomation",
    }
)
OF_PLATFORM = _ACTING | {_SERVICE, _INGRESS}
"""The types that are looked for in the platform's namespaces only."""
_TOKEN_OF = "kubernetes.io/service-account.name"
"""The annotation of a Secret that gets a token of the account."""
_RECEIVER, _RECEIVER_PORTS = "notification-controller", ("http-webhook", 9292)
# The groups of what runs for tenants, in addition to those of the stack's own objects.
_WORKLOADS = ("", "apps", "batch")
# Webhooks that managed clusters come with; their owners write to them.
_OF_CLOUDS = (
    *("aks-*", "azure-*", "*.azmk8s.io", "*.gke.io", "gke-*", "gmp-*", "warden-*"),
    *("eks-*", "pod-identity-webhook", "vpc-resource-*", "*.openshift.io", "rancher.cattle.io"),
)


@dataclass(frozen=True)
class Reach:
    """What an object of nobody may reach.

    Attributes:
        namespaces: the namespaces of the stack, each with its labels.
        platform: the names of those that belong to no tenant.
        policies: the names of the stack's policies.
        groups: the API groups of the stack's objects.
    """

    namespaces: Mapping[str, Mapping[str, str]]
    platform: Collection[str]
    policies: Collection[str]
    groups: Collection[str]


def _is_here(found: Manifest, reach: Reach) -> bool:
    return found["metadata"].get("namespace") in reach.namespaces


def _is_in_platform(found: Manifest, reach: Reach) -> bool:
    return found["metadata"].get("namespace") in reach.platform


def _binds(found: Manifest, reach: Reach) -> bool:
    """Whether a RoleBinding gives rights in a namespace of the stack, or elsewhere to an account of one."""
    return _is_here(found, reach) or any(each.within in reach.namespaces for each, _ in subjects_of(found))


def _has_token(found: Manifest, reach: Reach) -> bool:
    """Whether a Secret gets a token of an account that does not expire."""
    return _is_here(found, reach) and _TOKEN_OF in (found["metadata"].get("annotations") or {})


def _opens(found: Manifest, reach: Reach) -> bool:
    """Whether a Service leads to anything else in the platform's namespaces than to its Receivers."""
    spec = found["spec"]
    receivers = (spec.get("selector") or {}).get("app") == _RECEIVER and all(
        each.get("targetPort") in _RECEIVER_PORTS for each in spec.get("ports") or ()
    )
    return _is_in_platform(found, reach) and not receivers


def _publishes(found: Manifest, reach: Reach) -> bool:
    """Whether an Ingress leads to anything else in the platform's namespaces than to its Receivers."""
    spec = found["spec"]
    paths = [path for rule in spec.get("rules") or () for path in (rule.get("http") or {}).get("paths") or ()]
    backends = [spec.get("defaultBackend") or {}, *(each["backend"] for each in paths)]
    services = {each["service"]["name"] for each in backends if "service" in each}
    return _is_in_platform(found, reach) and not services <= {"webhook-receiver"}


def _starts_nothing(found: Manifest, reach: Reach) -> bool:
    """Whether a quota lets nothing start; clouds have other quotas."""
    hard = (found.get("spec") or {}).get("hard") or {}
    return _is_here(found, reach) and any(not parse_quantity(limit) for limit in hard.values())


def _judges(found: Manifest, reach: Reach, resources: Collection[str] = ()) -> bool:
    """Whether a webhook is sent objects of the stack's namespaces, or of the cluster, of a group that counts.

    Args:
        found: the configuration of webhooks.
        reach: what counts.
        resources: which resources alone count; if empty, all do.
    """
    groups = {"*", *_WORKLOADS, *reach.groups}
    return not any(fnmatchcase(found["metadata"]["name"], each) for each in _OF_CLOUDS) and any(
        groups & set(rule.get("apiGroups") or ())
        and (not resources or {*resources, "*"} & {each.partition("/")[0] for each in rule.get("resources") or ()})
        and any(selects(webhook.get("namespaceSelector") or {}, labels) for labels in reach.namespaces.values())
        for webhook in found.get("webhooks") or ()
        for rule in webhook.get("rules") or ()
    )


_RULES: Mapping[str, Callable[[Manifest, Reach], bool]] = {
    ROLE_BINDING: _binds,
    NETWORK_POLICY: _is_here,
    QUOTA: _starts_nothing,
    SECRET: _has_token,
    **dict.fromkeys(EXCEPTION_TYPES, lambda *_: True),
    **dict.fromkeys((*APPLIERS, *_ACTING), _is_in_platform),
    _SERVICE: _opens,
    _INGRESS: _publishes,
    f"{NATIVE_POLICY}Binding": lambda each, reach: each["spec"].get("policyName") in reach.policies,
    **dict.fromkeys(_MUTATIONS, lambda *_: True),
    _MUTATING: _judges,
    _VALIDATING: lambda each, reach: _judges(each, reach, ("secrets",)),
    "kubernetes:apiregistration.k8s.io/v1:APIService": lambda each, reach: (
        "service" in each["spec"] and each["spec"].get("group") in reach.groups
    ),
    "kubernetes:scheduling.k8s.io/v1:PriorityClass": lambda each, _: bool(each.get("globalDefault")),
}
"""Whether an object that nobody explains reaches a tenant or the platform, by its type."""
FOREIGN_TYPES = frozenset(_RULES) - OF_PLATFORM
"""The types that are looked for in the whole cluster."""


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


def entry_of(type_: str, found: Manifest) -> str:
    """What an object of a type is called in an inventory."""
    _, api, kind = type_.split(":")
    metadata = found["metadata"]
    return entry_for(metadata.get("namespace", ""), metadata["name"], api.partition("/")[0].replace("core", ""), kind)


def entry_for(namespace: str, name: str, group: str, kind: str) -> str:
    """What an object is called in an inventory."""
    return f"{namespace}_{name.replace(':', '__')}_{group}_{kind}"


def foreign_objects(
    lists: Mapping[str, Iterable[Manifest]],
    known: Collection[tuple[str, str]],
    reach: Reach,
    by_anybody: Collection[str],
    by_platform: Collection[str],
) -> Iterator[Difference]:
    """The objects that nobody explains, and that reach a tenant or the platform.

    Args:
        lists: objects by type.
        known: type and `namespace/name` of those that the stack has.
        reach: what an object may reach.
        by_anybody: what the stack's syncs and charts have applied.
        by_platform: the same without what tenants' syncs have applied.
    """
    by_uid = {each["metadata"].get("uid"): (type_, each) for type_ in _ACTING for each in lists.get(type_, ())}

    def is_explained(type_: str, found: Manifest) -> bool:
        namespace = found["metadata"].get("namespace")
        of_tenant = namespace in reach.namespaces and namespace not in reach.platform
        applied = by_anybody if of_tenant else by_platform
        return (
            (type_, name_of(found)) in known
            or carries_marks(found["metadata"])
            or (type_ not in EXCEPTION_TYPES and entry_of(type_, found) in applied)
            or is_made(found, MAKERS.get(type_.rpartition(":")[2], ()))
        )

    def is_made(found: Manifest, kinds: Collection[str]) -> bool:
        """Whether a controller has made an object of another one, which it releases if that was forged."""
        references = found["metadata"].get("ownerReferences") or ()
        owners = [by_uid[each["uid"]] for each in references if each.get("controller") and each["uid"] in by_uid]
        return any(type_.rpartition(":")[2] in kinds and is_explained(type_, owner) for type_, owner in owners)

    for type_, reaches in _RULES.items():
        for each in lists.get(type_, ()):
            if reaches(each, reach) and not is_explained(type_, each):
                yield grant_of(type_, each)


def added_rights(
    roles: Iterable[Manifest], bound: Set[str], own: Set[str], applied: Collection[str]
) -> Iterator[Difference]:
    """The ClusterRoles of nobody that add to Kubernetes' roles what reaches tenants, or what a tenant gets by that.

    Args:
        roles: the ClusterRoles that the stack does not have.
        bound: the ClusterRoles that are bound.
        own: those of them that the stack has bound for tenants.
        applied: what the stack's syncs and charts have applied.
    """
    for role in roles:
        to = rights.aggregates_to(role)
        if not bound & set(to) or rights.is_of_kubernetes(role) or entry_of(CLUSTER_ROLE, role) in applied:
            continue
        adds = rights.permissions(role.get("rules") or (), in_cluster=False)
        if adds := adds if own & set(to) else rights.reaching(adds, "", CONTENT):
            granted = f"{'; '.join(rights.in_words(adds))}, added to {to[0]}"
            yield dataclasses.replace(unowned(What.FOREIGN, "ClusterRole", role), cluster=granted)


def grant_of(type_: str, found: Manifest) -> Difference:
    """That an object grants something, and what."""
    if RBAC_API in type_:
        granted: Any = in_words(found)
    elif type_ == SECRET:
        granted = f"a token of the account {found['metadata']['annotations'][_TOKEN_OF]}"
    else:
        granted = found.get("spec") or found.get("webhooks") or {}
    return dataclasses.replace(unowned(What.FOREIGN, type_.rpartition(":")[2], found), cluster=granted)
