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
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.installs.capsule.objects import NAMESPACE_DELETER, NAMESPACE_PROVISIONER
from flux_tenancy.components.tenant.capsule.names import BOUND_BY, BOUND_BY_LABEL, NAMESPACE_READER
from flux_tenancy.components.tenant.delegation import delegation_name
from flux_tenancy.components.tenant.grants import cluster_grants_name, grants_name
from flux_tenancy.components.tenant.role import TENANT_ROLE
from flux_tenancy.components.vocabulary.manifests import RBAC_API, Manifest, name_of, plural_of
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, TENANT_LABEL

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.engine.state import State


Rules = Sequence[Mapping[str, Sequence[str]]]
RoleReference = tuple[str, str, str]
"""Kind of a role, its namespace (empty for a ClusterRole), and its name."""

EVERYTHING = "everything"
NOTHING = "nothing more"
_SHOWN = 6
_SERVICE_ACCOUNTS = "system:serviceaccounts"
# Groups that every service account belongs to.
_ALL_ACCOUNTS = frozenset({_SERVICE_ACCOUNTS, "system:authenticated"})
_EVERYBODY = frozenset(f"Group {each}" for each in _ALL_ACCOUNTS)
_BOUND_BY_CAPSULE = frozenset({NAMESPACE_DELETER, NAMESPACE_READER, TENANT_ROLE})
_BOOTSTRAPPING_LABEL = "kubernetes.io/bootstrapping"


@dataclass(frozen=True, order=True)
class FurtherBinding:
    """A binding that grants a tenant or controllers of Flux something and is not the platform's.

    Attributes:
        kind: `ClusterRoleBinding` or `RoleBinding`.
        namespace: namespace of the RoleBinding; empty for a ClusterRoleBinding.
        name: name of the binding.
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
    def is_for_everybody(self) -> bool:
        """Whether the subject is a group that every service account belongs to."""
        return self.subject in _EVERYBODY

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
        namespaces: its namespaces.
        bindings: the platform's bindings, whose subjects are the tenant's accounts: of its role in them, of its grants.
    """

    namespaces: Collection[str]
    bindings: Sequence[Manifest]


def tenants_of(bindings: Iterable[Manifest], namespaces: Mapping[str, str]) -> dict[str, TenantAccess]:
    """What the platform grants tenants, read from the cluster: the platform labels what it creates for them.

    Args:
        bindings: all bindings of the cluster.
        namespaces: the tenant of each namespace.
    """
    found: dict[str, list[Manifest]] = {tenant: [] for tenant in namespaces.values()}
    for binding in bindings:
        metadata = binding["metadata"]
        tenant = metadata.get("labels", {}).get(TENANT_LABEL, "")
        if metadata["name"] == cluster_grants_name(tenant) and "namespace" not in metadata:
            is_own = tenant in found
        else:
            is_own = namespaces.get(metadata.get("namespace", "")) == tenant
            is_own = is_own and metadata["name"] in _own_names(tenant)
        if is_own:
            found[tenant].append(binding)
    return {
        tenant: TenantAccess([name for name, owner in namespaces.items() if owner == tenant], own)
        for tenant, own in sorted(found.items())
    }


def _own_names(tenant: str) -> tuple[str, ...]:
    """The names of the platform's RoleBindings of a tenant."""
    return f"{tenant}-reconciler", grants_name(tenant), delegation_name(tenant)


def further_access(
    tenants: Mapping[str, TenantAccess],
    bindings: Sequence[Mapping[str, Any]],
    rules_of: Callable[[RoleReference], Rules],
) -> dict[str, list[FurtherBinding]]:
    """The bindings of each tenant that are not the platform's; tenants that have none are left out.

    A binding of a tenant's account is always included. A binding of a group, or of another account in its namespaces,
    which its pods may run as, is included if it adds something. Kubernetes' own bindings are left out.

    Args:
        tenants: what the platform grants, by tenant.
        bindings: all bindings of the cluster, each with its kind.
        rules_of: returns the rules of a role, none if it does not exist; it is called once for each role.
    """
    rules = cache(rules_of)
    found = {
        tenant: sorted({each for binding in bindings for each in _granted(binding, access, rules)})
        for tenant, access in tenants.items()
    }
    return {tenant: further for tenant, further in found.items() if further}


def further_controller_access(
    rights: Sequence[Manifest], bindings: Iterable[Mapping[str, Any]], rules_of: Callable[[RoleReference], Rules]
) -> Iterator[FurtherBinding]:
    """The ClusterRoleBindings that give Flux's controllers more than the stack does.

    In single namespaces, the platform's repository and Kyverno grant the controllers what the objects there need
    (docs/controller-rights.md), so RoleBindings are not reported. Neither are groups that every account belongs to.

    Args:
        rights: what the stack grants: the controllers' accounts, with their ClusterRoles and ClusterRoleBindings.
        bindings: the ClusterRoleBindings that are not the stack's.
        rules_of: returns the rules of a role that the stack does not have, none if it does not exist.
    """
    accounts, roles, own = (
        {name_of(each): each for each in rights if each["kind"] == kind}
        for kind in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding")
    )

    @cache
    def rules(role: RoleReference) -> Rules:
        # Before an update, the stack's own role is not in the cluster, or is as it was.
        planned = roles.get(role[-1])
        return rules_of(role) if planned is None else planned.get("rules") or ()

    for binding in bindings:
        subjects: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for subject in binding.get("subjects") or ():
            account = _account(subject)
            if "/".join(account or ()) in accounts or subject["name"] == f"{_SERVICE_ACCOUNTS}:{FLUX_NAMESPACE}":
                granted = [rule for each in own.values() if account in _accounts(each) for rule in rules(_role(each))]
                subjects[tuple(_additional(rules(_role(binding)), granted))].append(_shown(subject))
        yield from (_further(binding, ", ".join(whom), adds) for adds, whom in subjects.items() if adds)


def subjects_within(binding: Mapping[str, Any], namespaces: Collection[str]) -> list[str]:
    """The subjects of a binding that are accounts in these namespaces, or groups of all of them, e.g. `Group a`.

    Kubernetes' own bindings are for groups that everybody belongs to, so of them only accounts are named.
    """
    everybodys = _is_kubernetes_own(binding)
    return [
        _shown(subject)
        for subject in binding.get("subjects") or ()
        if ((account := _account(subject)) is not None and account[0] in namespaces)
        or (not everybodys and _is_group_of(subject, namespaces))
    ]


def is_documented(binding: Mapping[str, Any], tenant: str) -> bool:
    """Whether a binding outside of a tenant's namespaces is what a feature of the platform is made of.

    These are the tenant's grants over cluster-scoped objects, and Capsule's binding for all owners of namespaces. Both
    bind a role of the same name, whose rights are not looked at.
    """
    name, role = binding["metadata"]["name"], binding["roleRef"]
    is_own = "namespace" not in binding["metadata"] and (role["kind"], role["name"]) == ("ClusterRole", name)
    return bool(is_own and name in (cluster_grants_name(tenant), NAMESPACE_PROVISIONER))


def _granted(
    binding: Mapping[str, Any], access: TenantAccess, rules: Callable[[RoleReference], Rules]
) -> Iterator[FurtherBinding]:
    """What a binding grants a tenant: one entry for each subject that belongs to the tenant."""
    if any(_is_same(binding, own) for own in access.bindings) or _is_of_capsule(binding):
        return
    namespace = binding["metadata"].get("namespace", "")
    accounts = {subject for own in access.bindings for subject in _accounts(own)}
    for subject in binding.get("subjects") or ():
        account = _account(subject)
        if account is None and not _is_group_of(subject, access.namespaces):
            continue
        if account is not None and account not in accounts and account[0] not in access.namespaces:
            continue
        if account is None and _is_kubernetes_own(binding):
            continue
        own = [_role(each) for each in access.bindings if each["metadata"].get("namespace", "") == namespace]
        adds = tuple(_additional(rules(_role(binding)), [rule for role in own for rule in rules(role)]))
        if adds or account in accounts:
            yield _further(binding, _shown(subject), adds)


def _further(binding: Mapping[str, Any], subject: str, adds: tuple[str, ...]) -> FurtherBinding:
    metadata, (kind, _, role) = binding["metadata"], _role(binding)
    name, role = printable(metadata["name"]), f"{kind} {printable(role)}"
    return FurtherBinding(binding["kind"], metadata.get("namespace", ""), name, role, subject, adds)


def _is_same(binding: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """Whether a binding is the platform's own and still has the platform's role."""
    names = [(each["metadata"].get("namespace"), each["metadata"]["name"]) for each in (binding, own)]
    return names[0] == names[1] and _role(binding) == _role(own)


def _is_of_capsule(binding: Mapping[str, Any]) -> bool:
    """Whether Capsule has made a binding of what a Tenant of the platform says (`components.tenant.capsule.objects`).

    A binding of another role is not passed over, whatever its labels.
    """
    metadata, role = binding["metadata"], binding["roleRef"]
    if "namespace" not in metadata:
        return bool(metadata["name"] == role["name"] == NAMESPACE_PROVISIONER)
    bound = metadata.get("labels", {}).get(BOUND_BY_LABEL) == BOUND_BY
    return bound and role["kind"] == "ClusterRole" and role["name"] in _BOUND_BY_CAPSULE


def _role(binding: Mapping[str, Any]) -> RoleReference:
    reference = binding["roleRef"]
    within = binding["metadata"]["namespace"] if reference["kind"] == "Role" else ""
    return reference["kind"], within, reference["name"]


def _accounts(binding: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [account for subject in binding.get("subjects") or () if (account := _account(subject))]


def _account(subject: Mapping[str, str]) -> tuple[str, str] | None:
    """Namespace and name of a service account, which may also be given by its user name; None for any other subject."""
    if subject["kind"] == "ServiceAccount":
        return subject.get("namespace", ""), subject["name"]
    prefix, _, account = subject["name"].partition("system:serviceaccount:")
    namespace, _, name = account.partition(":")
    return (namespace, name) if subject["kind"] == "User" and not prefix and name else None


def _is_group_of(subject: Mapping[str, str], namespaces: Collection[str]) -> bool:
    groups = {*_ALL_ACCOUNTS, *(f"{_SERVICE_ACCOUNTS}:{namespace}" for namespace in namespaces)}
    return subject["kind"] == "Group" and subject["name"] in groups


def _is_kubernetes_own(binding: Mapping[str, Any]) -> bool:
    """Whether the API server itself has created a binding, such as those for API discovery."""
    metadata = binding["metadata"]
    return _BOOTSTRAPPING_LABEL in metadata.get("labels", {}) and metadata["name"].startswith("system:")


def _shown(subject: Mapping[str, str]) -> str:
    namespace = f"{subject['namespace']}/" if subject["kind"] == "ServiceAccount" and "namespace" in subject else ""
    return printable(f"{subject['kind']} {namespace}{subject['name']}")


def _additional(rules: Rules, own: Rules) -> Iterator[str]:
    """A summary of what rules allow that other rules do not."""
    if any(_covers(rule, "*", "*", "*") for rule in rules):
        if not any(_covers(rule, "*", "*", "*") for rule in own):
            yield EVERYTHING
        return
    verbs: dict[str, set[str]] = defaultdict(set)
    for rule in rules:
        named = f" named {', '.join(rule['resourceNames'])}" if rule.get("resourceNames") else ""
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                more = {verb for verb in rule["verbs"] if not any(_covers(each, verb, group, resource) for each in own)}
                what = "everything" if (group, resource) == ("*", "*") else f"{resource}.{group}".rstrip(".")
                verbs[f"{what}{named}"] |= more
        for url in rule.get("nonResourceURLs") or ():
            verbs[url] |= {verb for verb in rule["verbs"] if not any(_covers_url(each, verb, url) for each in own)}
    resources: dict[str, list[str]] = defaultdict(list)
    for what, allowed in verbs.items():
        if allowed:
            resources["all verbs of" if "*" in allowed else ", ".join(sorted(allowed))].append(what)
    for allowed_verbs, whats in sorted(resources.items()):
        yield printable(f"{allowed_verbs} {', '.join(sorted(whats))}")


def _covers(rule: Mapping[str, Sequence[str]], verb: str, group: str, resource: str) -> bool:
    """Whether a rule allows a verb on all objects of a resource."""
    wanted = {"verbs": verb, "apiGroups": group, "resources": resource}
    return not rule.get("resourceNames") and _has(rule, wanted)


def _covers_url(rule: Mapping[str, Sequence[str]], verb: str, url: str) -> bool:
    return _has(rule, {"verbs": verb, "nonResourceURLs": url})


def _has(rule: Mapping[str, Sequence[str]], wanted: Mapping[str, str]) -> bool:
    return all({each, "*"} & set(rule.get(key) or ()) for key, each in wanted.items())


_RBAC = f"/apis/{RBAC_API}"
_CLUSTER_BINDING = f"kubernetes:{RBAC_API}:ClusterRoleBinding"


def read_bindings(api: client.ApiClient) -> list[dict[str, Any]]:
    """All RoleBindings and ClusterRoleBindings of the cluster, each with its kind.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    with explaining(api):
        return [
            {"kind": kind, **found}
            for kind in ("ClusterRoleBinding", "RoleBinding")
            for found in items(api, f"{_RBAC}/{plural_of(kind)}")
        ]


def read_further_access(
    api: client.ApiClient, tenants: Mapping[str, TenantAccess], bindings: Sequence[Mapping[str, Any]] | None = None
) -> dict[str, list[FurtherBinding]]:
    """What tenants' accounts may do in addition to what the platform grants them.

    Args:
        api: a client for the cluster.
        tenants: what the platform grants, by tenant.
        bindings: all bindings of the cluster, if they have been read already.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    found = read_bindings(api) if bindings is None else bindings
    return further_access(tenants, found, lambda role: _read_rules(api, role))


def read_further_controller_access(
    api: client.ApiClient, state: State, rights: Sequence[Manifest]
) -> list[FurtherBinding]:
    """The ClusterRoleBindings that give Flux's controllers more than the stack does.

    Args:
        api: a client for the cluster.
        state: the stack's state; its bindings are in order, or this update deletes them.
        rights: what the stack grants (`further_controller_access`).

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    own = {*state.names(_CLUSTER_BINDING), *(name_of(each) for each in rights if each["kind"] == "ClusterRoleBinding")}
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
