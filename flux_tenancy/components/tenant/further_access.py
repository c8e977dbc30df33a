"""What accounts of tenants and of Flux's controllers may do in addition, through bindings that others have created.

RBAC rights add up, so a narrow role does not limit an account that another binding makes cluster-admin. A tenant that
was adopted, or was once given more by hand, may have such a binding, and neither its manifests nor its status show it.
The controllers of an adopted cluster have those of `flux bootstrap` or Flux Operator.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.cluster.client import explaining, get, items
from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.config.types import is_reserved
from flux_tenancy.components.installs.capsule import NAMESPACE_DELETER, NAMESPACE_PROVISIONER
from flux_tenancy.components.rbac.rights import (
    BINDINGS,
    EVERYTHING,
    READ,
    Permission,
    Right,
    Rights,
    RoleReference,
    Rules,
    in_words,
    permissions,
    reaching,
    role_of,
)
from flux_tenancy.components.rbac.subjects import Subject, rules_for, subject_of, subjects_of
from flux_tenancy.components.tenant.capsule.config import BOUND_BY, BOUND_BY_LABEL, NAMESPACE_READER
from flux_tenancy.components.tenant.grants import cluster_grants_name, grants_name
from flux_tenancy.components.tenant.identity import delegation_name
from flux_tenancy.components.tenant.role import MANAGED, READABLE, TENANT_ROLE
from flux_tenancy.components.vocabulary.manifests import RBAC_API, Manifest, name_of, plural_of
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, TENANT_LABEL

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.engine.state import State

NOTHING = "nothing more"
_SHOWN = 6
_RBAC = f"/apis/{RBAC_API}"
_CONTROLLERS = subject_of({"kind": "Group", "name": f"system:serviceaccounts:{FLUX_NAMESPACE}"})
CONTENT: frozenset[Right] = permissions(rules_for((*MANAGED, *READABLE), READ))
"""The rights by which somebody reads what tenants have."""
_BOUND_BY_CAPSULE = frozenset({NAMESPACE_DELETER, NAMESPACE_READER, TENANT_ROLE})


@dataclass(frozen=True, order=True)
class FurtherBinding:
    """A binding that grants a tenant or controllers of Flux something and is not the platform's.

    Attributes:
        kind: `ClusterRoleBinding` or `RoleBinding`.
        namespace: namespace of the RoleBinding; empty for a ClusterRoleBinding.
        role: the bound role, e.g. `ClusterRole cluster-admin`.
        subject: the subject, e.g. `ServiceAccount apps/dev-team` or `Group system:authenticated`; of controllers, all
            for which it adds the same.
        adds: what it allows beyond what the platform grants, e.g. `everything` or `get, list secrets`.
    """

    kind: str
    namespace: str
    name: str
    role: str
    subject: str
    adds: tuple[str, ...]

    @property
    def summary(self) -> str:
        """The binding on one line."""
        shown = [*self.adds[:_SHOWN], *([f"{len(self.adds) - _SHOWN} more"] if len(self.adds) > _SHOWN else ())]
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        reach = f"in the namespace {self.namespace}" if self.namespace else "in the whole cluster"
        gives = f"{self.role} adds {'; '.join(shown) or NOTHING} {reach}"
        return f"{self.kind} {where} for {self.subject}: {gives}"


@dataclass(frozen=True)
class TenantAccess:
    """What the platform grants a tenant.

    Attributes:
        bindings: the platform's bindings, whose subjects are the tenant's accounts: of its role in them, of its grants.
    """

    namespaces: Collection[str]
    bindings: Sequence[Manifest]


def tenants_of(bindings: Iterable[Manifest], namespaces: Mapping[str, str]) -> dict[str, TenantAccess]:
    """What the platform grants tenants, read from the cluster: the platform labels what it creates for them."""
    found: dict[str, list[Manifest]] = {tenant: [] for tenant in namespaces.values()}
    for binding in bindings:
        metadata, role = binding["metadata"], role_of(binding)[2]
        tenant, name = metadata.get("labels", {}).get(TENANT_LABEL, ""), metadata["name"]
        namespace = metadata.get("namespace")
        if namespace is None:
            is_own = tenant in found and name == role == cluster_grants_name(tenant)
        else:
            # What it grants is in a role of the same name, except for the tenant's own role.
            of_features = (grants_name(tenant), delegation_name(tenant))
            is_own = namespaces.get(namespace) == tenant
            is_own = is_own and (name == f"{tenant}-reconciler" or (name == role and name in of_features))
        if is_own:
            found[tenant].append(binding)
    return {
        tenant: TenantAccess([name for name, owner in namespaces.items() if owner == tenant], own)
        for tenant, own in sorted(found.items())
    }


def further_access(
    tenants: Mapping[str, TenantAccess],
    bindings: Sequence[Mapping[str, Any]],
    rules_of: Callable[[RoleReference], Rules],
) -> dict[str, list[FurtherBinding]]:
    """The bindings of each tenant that are not the platform's; tenants that have none are left out.

    A binding of a tenant's account is always included. A binding of a group, or of another account in its namespaces,
    which its pods may run as, is included if it adds something. Of what everybody has, only rights are included that
    reach what tenants have.

    Args:
        tenants: what the platform grants, by tenant.
        bindings: all bindings of the cluster, each with its kind.
        rules_of: returns the rules of a role, none if it does not exist; it is called once for each role.
    """
    rules = cache(rules_of)

    @cache
    def rights(role: RoleReference, in_cluster: bool) -> frozenset[Permission]:
        return permissions(rules(role), in_cluster)

    owners = {namespace: tenant for tenant, access in tenants.items() for namespace in access.namespaces}
    accounts: dict[Subject, set[str]] = defaultdict(set)
    for tenant, access in tenants.items():
        for subject in (subject for own in access.bindings for subject, _ in subjects_of(own) if subject.namespace):
            accounts[subject].add(tenant)
    found: dict[str, set[FurtherBinding]] = defaultdict(set)
    for binding in bindings:
        role, namespace = role_of(binding), binding["metadata"].get("namespace", "")
        for subject, words in subjects_of(binding):
            within = {owners[subject.within]} if subject.within in owners else set()
            for tenant in tenants if subject.is_everybody else within | accounts[subject]:
                own = tenants[tenant].bindings
                of_capsule = tenant in accounts[subject] and _is_of_capsule(binding, owners, tenant)
                if of_capsule or any(_gives(each, binding, subject) for each in own):
                    continue
                adds = rights(role, not namespace)
                if subject.is_everybody:
                    adds = reaching(adds, namespace, CONTENT)
                here = [each for each in own if each["metadata"].get("namespace", "") == namespace]
                further = _additional(adds, [rights(role_of(each), not namespace) for each in here])
                if further or tenant in accounts[subject]:
                    found[tenant].add(_further(binding, words, further))
    return {tenant: sorted(found[tenant]) for tenant in tenants if tenant in found}


def further_controller_access(
    rights: Sequence[Manifest], bindings: Iterable[Mapping[str, Any]], rules_of: Callable[[RoleReference], Rules]
) -> Iterator[FurtherBinding]:
    """The ClusterRoleBindings that give Flux's controllers more than the stack does.

    In single namespaces, the platform's repository and Kyverno grant the controllers what the objects there need
    (docs/lockdown.md#controllers-rights), so RoleBindings are not reported. Neither are groups that every account
    belongs to.

    Args:
        bindings: the ClusterRoleBindings that are not the stack's.
        rules_of: returns the rules of a role that the stack does not have, none if it does not exist.
    """
    accounts, roles, own = (
        {name_of(each): each for each in rights if each["kind"] == kind}
        for kind in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding")
    )

    @cache
    def granted(role: RoleReference) -> frozenset[Permission]:
        # Before an update, the stack's own role is not in the cluster, or is as it was.
        planned = roles.get(role[-1])
        return permissions(rules_of(role) if planned is None else planned.get("rules") or ())

    for binding in bindings:
        subjects: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for subject, words in subjects_of(binding):
            if f"{subject.namespace}/{subject.name}" in accounts or subject == _CONTROLLERS:
                has = [granted(role_of(each)) for each in own.values() if subject in dict(subjects_of(each))]
                subjects[_additional(granted(role_of(binding)), has)].append(words)
        yield from (_further(binding, ", ".join(whom), adds) for adds, whom in subjects.items() if adds)


def is_documented(binding: Mapping[str, Any], tenant: str) -> bool:
    """Whether a binding outside of a tenant's namespaces is what a feature of the platform is made of.

    These are the tenant's grants over cluster-scoped objects, and Capsule's binding for all owners of namespaces. Both
    bind a role of the same name, whose rights are not looked at.
    """
    name, role = binding["metadata"]["name"], binding["roleRef"]
    is_own = "namespace" not in binding["metadata"] and (role["kind"], role["name"]) == ("ClusterRole", name)
    return bool(is_own and name in (cluster_grants_name(tenant), NAMESPACE_PROVISIONER))


def _gives(own: Manifest, binding: Mapping[str, Any], subject: Subject) -> bool:
    """Whether a binding is the platform's own and still has the platform's role and subject."""
    return (name_of(own), role_of(own)) == (name_of(dict(binding)), role_of(binding)) and subject in dict(
        subjects_of(own)
    )


def _further(binding: Mapping[str, Any], subject: str, adds: tuple[str, ...]) -> FurtherBinding:
    metadata, (kind, _, role) = binding["metadata"], role_of(binding)
    name, role = printable(metadata["name"]), f"{kind} {printable(role)}"
    return FurtherBinding(binding["kind"], metadata.get("namespace", ""), name, role, subject, adds)


def _is_of_capsule(binding: Mapping[str, Any], owners: Mapping[str, str], tenant: str) -> bool:
    """Whether Capsule has bound a tenant's account as a Tenant of the platform says (`tenant.capsule.objects`).

    A binding of another role, in a namespace of the cluster or of another tenant is not passed over, whatever its
    labels.
    """
    metadata, role = binding["metadata"], binding["roleRef"]
    if "namespace" not in metadata:
        return bool(metadata["name"] == role["name"] == NAMESPACE_PROVISIONER)
    bound = metadata.get("labels", {}).get(BOUND_BY_LABEL) == BOUND_BY
    is_here = owners.get(metadata["namespace"], tenant) == tenant and not is_reserved(metadata["namespace"])
    return bound and is_here and role["kind"] == "ClusterRole" and role["name"] in _BOUND_BY_CAPSULE


def _additional(adds: frozenset[Permission], granted: Iterable[frozenset[Permission]]) -> tuple[str, ...]:
    """A summary of the rights that others do not include."""
    own = Rights(frozenset().union(*granted))
    if EVERYTHING in adds:
        adds = frozenset({EVERYTHING})
    return tuple(in_words([each for each in adds if not own.allows(each)]))


def read_bindings(api: client.ApiClient) -> list[dict[str, Any]]:
    """All RoleBindings and ClusterRoleBindings of the cluster, each with its kind. Raises ClusterUnavailable."""
    with explaining(api):
        return [{"kind": kind, **found} for kind in BINDINGS for found in items(api, f"{_RBAC}/{plural_of(kind)}")]


def read_further_access(
    api: client.ApiClient,
    tenants: Mapping[str, TenantAccess],
    bindings: Sequence[Mapping[str, Any]] | None = None,
    state: State | None = None,
) -> dict[str, list[FurtherBinding]]:
    """What tenants' accounts may do in addition to what the platform grants them.

    Args:
        tenants: what the platform grants, by tenant.
        bindings: all bindings of the cluster, if they have been read already.
        state: the stack's state; its bindings are in order, or this update replaces or deletes them.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    found = read_bindings(api) if bindings is None else bindings
    recorded = [state.outputs(f"kubernetes:{RBAC_API}:{kind}") for kind in BINDINGS] if state else []
    own = {_identity(each) for outputs in recorded for each in outputs if "roleRef" in each}
    others = [each for each in found if _identity(each) not in own]
    return further_access(tenants, others, lambda role: _read_rules(api, role))


def _identity(binding: Mapping[str, Any]) -> object:
    metadata = binding["metadata"]
    subjects = frozenset(subject for subject, _ in subjects_of(binding))
    return metadata.get("namespace"), metadata["name"], role_of(binding), subjects


def read_further_controller_access(
    api: client.ApiClient, state: State, rights: Sequence[Manifest]
) -> list[FurtherBinding]:
    """The ClusterRoleBindings that give Flux's controllers more than the stack does.

    Args:
        state: the stack's state; its bindings are in order, or this update deletes them.
        rights: what the stack grants (`further_controller_access`).

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    own = {
        *state.names(f"kubernetes:{RBAC_API}:ClusterRoleBinding"),
        *(name_of(each) for each in rights if each["kind"] == "ClusterRoleBinding"),
    }
    with explaining(api):
        listed = items(api, f"{_RBAC}/clusterrolebindings")
    others = [{"kind": "ClusterRoleBinding", **each} for each in listed if each["metadata"]["name"] not in own]
    return sorted(further_controller_access(rights, others, lambda role: _read_rules(api, role)))


def _read_rules(api: client.ApiClient, role: RoleReference) -> list[dict[str, Any]]:
    """The rules of a role; none if it does not exist."""
    from kubernetes.dynamic.exceptions import NotFoundError

    kind, namespace, name = role
    within = f"namespaces/{namespace}/" if namespace else ""
    with explaining(api):
        try:
            found = get(api, f"{_RBAC}/{within}{plural_of(kind)}/{name}")
        except NotFoundError:
            return []
        rules: list[dict[str, Any]] = found.get("rules") or []
        return rules
