"""The rights of roles, whether some include others, and what is added to Kubernetes' own roles.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import product
from typing import Any

from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.rbac.subjects import PUBLIC_NAMESPACE, table
from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest, selects

READ = ("get", "list", "watch")
WRITE = ("create", "update", "patch", "delete", "deletecollection")


class KubernetesRole(StrEnum):
    """A user-facing ClusterRole of Kubernetes, from the weakest to the most powerful; each has the rights of those
    before it."""

    VIEW = "view"
    EDIT = "edit"
    ADMIN = "admin"
    CLUSTER_ADMIN = "cluster-admin"


POWER: Mapping[str, int] = {role.value: power for power, role in enumerate(KubernetesRole)}
"""The power of each role: higher is more."""

AGGREGATE_LABEL = f"{RBAC}/aggregate-to-"
"""The prefix of the labels of ClusterRoles that Kubernetes adds to `view`, `edit` or `admin`."""

_APPS = "daemonsets deployments deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale"
# Verbs and the resources that each role allows them on, in addition to the role before it.
_ADDED: Mapping[str, Sequence[tuple[Sequence[str], str]]] = {
    KubernetesRole.VIEW: (
        (
            READ,
            f"""
            core: configmaps endpoints events limitranges namespaces persistentvolumeclaims
                persistentvolumeclaims/status pods pods/log pods/status replicationcontrollers
                replicationcontrollers/scale replicationcontrollers/status resourcequotas resourcequotas/status
                serviceaccounts services services/status
            discovery.k8s.io: endpointslices
            events.k8s.io: events
            apps: controllerrevisions {_APPS}
            autoscaling: horizontalpodautoscalers
            batch: cronjobs jobs
            networking.k8s.io: ingresses networkpolicies
            policy: poddisruptionbudgets
            """,
        ),
    ),
    KubernetesRole.EDIT: (
        # An eviction can only be created; other verbs allow nothing.
        (
            (*READ, *WRITE),
            """
            core: pods/attach pods/eviction pods/exec pods/portforward pods/proxy secrets services/proxy
            coordination.k8s.io: leases
            """,
        ),
        (
            WRITE,
            f"""
            core: configmaps events persistentvolumeclaims pods replicationcontrollers replicationcontrollers/scale
                serviceaccounts services
            events.k8s.io: events
            apps: {_APPS}
            autoscaling: horizontalpodautoscalers
            batch: cronjobs jobs
            networking.k8s.io: ingresses networkpolicies
            policy: poddisruptionbudgets
            """,
        ),
        (("impersonate",), "core: serviceaccounts"),
        (("create",), "core: serviceaccounts/token"),
    ),
    KubernetesRole.ADMIN: (
        (("create",), "authorization.k8s.io: localsubjectaccessreviews"),
        ((*READ, *WRITE), f"{RBAC}: rolebindings roles"),
    ),
}


def _known() -> Iterator[tuple[str, frozenset[tuple[str, str, str]]]]:
    held: frozenset[tuple[str, str, str]] = frozenset()
    for name, added in _ADDED.items():
        for verbs, resources in added:
            held |= {(verb, group, each) for group, names in table(resources) for verb in verbs for each in names}
        yield name, held


KNOWN: Mapping[str, frozenset[tuple[str, str, str]]] = dict(_known())
"""The verbs on groups and resources that Kubernetes' own roles allow in the namespaces that they are bound in;
`cluster-admin` allows everything.

Reviewers read these roles by name. The rules serve only to compare them with other roles: a tenant that gets `admin` in
place of the tenant role loses nothing that `admin` has, too.

Source: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go of Kubernetes 1.36
"""

Rules = Sequence[Mapping[str, Sequence[str]]]
RoleReference = tuple[str, str, str]
"""Kind of a role, its namespace (empty for a ClusterRole), and its name."""

BINDINGS, ROLES = ("RoleBinding", "ClusterRoleBinding"), ("Role", "ClusterRole")
CLUSTER = ""
"""The place of a right in the whole cluster."""
_URL = "/"


@dataclass(frozen=True, order=True)
class Permission:
    """One verb on one resource, `*` for all.

    Attributes:
        group: API group; the core group is the empty string.
        resource: plural, with its subresource (`pods/log`), or a URL path that begins with a slash.
        name: name of the only object; empty for all.
    """

    verb: str
    group: str
    resource: str
    name: str = ""

    @property
    def is_url(self) -> bool:
        return self.resource.startswith(_URL)

    @property
    def is_broad(self) -> bool:
        """Whether it can allow another permission than itself and that on a single object."""
        return "*" in (self.verb, self.group, self.resource) or self.resource.startswith(("*/", _URL))


@dataclass(frozen=True, order=True)
class NamedRole:
    """A role that the cluster or somebody else brings, by its name."""

    name: str

    @property
    def is_broad(self) -> bool:
        return self.name in POWER


Right = Permission | NamedRole
EVERYTHING = Permission("*", "*", "*")


@dataclass(frozen=True)
class Rights:
    """What a subject may do in one place."""

    all: frozenset[Right] = frozenset()

    @cached_property
    def broad(self) -> tuple[Right, ...]:
        """Those that can allow others."""
        return tuple(right for right in self.all if right.is_broad)

    def allows(self, right: Right) -> bool:
        """Whether it has a right, perhaps as a part of another."""
        return right in self.all or self.allows_otherwise(right)

    def allows_otherwise(self, right: Right) -> bool:
        """Whether it has a right as a part of another."""
        if isinstance(right, Permission) and right.name and replace(right, name="") in self.all:
            return True
        return any(covers(each, right) for each in self.broad if each != right)


def covers(one: Right, other: Right) -> bool:
    """Whether a right includes another."""
    if isinstance(one, NamedRole):
        if one.name == KubernetesRole.CLUSTER_ADMIN or one == other:
            return True
        if isinstance(other, NamedRole):
            return POWER.get(one.name, -1) >= POWER.get(other.name, len(POWER))
        return (other.verb, other.group, other.resource) in KNOWN.get(one.name, ())
    if isinstance(other, NamedRole):
        return one == EVERYTHING
    if one.verb not in ("*", other.verb) or one.is_url is not other.is_url:
        return False
    if one.is_url:
        return one.resource == other.resource or (
            one.resource.endswith("*") and other.resource.startswith(one.resource[:-1])
        )
    return (
        one.group in ("*", other.group)
        and _covers_resource(one.resource, other.resource)
        and one.name in ("", other.name)
    )


def _covers_resource(one: str, other: str) -> bool:
    if one in ("*", other):
        return True
    # `*/scale` is the subresource of every resource.
    return one.startswith("*/") and "/" in other and one.split("/")[1] == other.split("/")[1]


def permissions(rules: Iterable[Mapping[str, Any]], in_cluster: bool = True) -> frozenset[Permission]:
    """What the rules of a role allow where it is bound: in single namespaces, no URLs."""
    found = set()
    for rule in rules:
        names = rule.get("resourceNames") or ("",)
        parts = product(rule["verbs"], rule.get("apiGroups") or (), rule.get("resources") or (), names)
        found |= {Permission(*each) for each in parts}
        if in_cluster:
            urls = product(rule["verbs"], rule.get("nonResourceURLs") or ())
            found |= {Permission(verb, "", f"{_URL}{url.removeprefix(_URL)}") for verb, url in urls}
    return frozenset(found)


def allows_everything(rights: Iterable[Permission]) -> bool:
    """Whether rights include all verbs on all resources of an API group."""
    return any((each.verb, each.resource, each.name) == ("*", "*", "") for each in rights)


def reaching(rights: Iterable[Permission], place: str, content: frozenset[Right]) -> frozenset[Permission]:
    """Those of the rights that everybody has that reach somebody: Kubernetes and clouds bind others to all accounts.

    Nobody is reached by a look at oneself, by a page of the API server, and by reading what is no content of tenants.

    Args:
        place: the namespace in which they may; CLUSTER for all.
        content: the rights over what tenants have, in addition to what Kubernetes' role `admin` includes.
    """
    held = Rights(content | {NamedRole(KubernetesRole.ADMIN)})

    def is_public(right: Permission) -> bool:
        if right.is_url:
            return right.verb == "get" and right.resource.strip("/*") != ""
        if "*" in (right.verb, right.group) or right.resource.startswith("*"):
            return False
        if right.verb == "create" and right.resource.startswith("selfsubject"):
            return True
        # By reading the subresource `proxy` of a node, one runs commands in its pods.
        is_read = right.verb in READ and "/" not in right.resource
        return is_read and (place == PUBLIC_NAMESPACE or not held.allows(right))

    return frozenset(each for each in rights if not is_public(each))


def in_words(rights: Collection[Permission]) -> list[str]:
    """Rights as `read secrets` or `create, get pods/exec`, those with the same verbs together.

    `read` stands for get, list and watch, `write` for create, update, patch and delete.
    """
    if EVERYTHING in rights:
        return ["everything"]
    names, verbs, resources = defaultdict(list), defaultdict(set), defaultdict(list)
    for right in sorted(rights):
        names[replace(right, name="")].append(right.name)
    for right, named in names.items():
        what = right.resource if right.is_url else f"{right.resource}.{right.group}".rstrip(".")
        what = {"*.*": "everything", "*": "everything in the core API group"}.get(what, what)
        verbs[what if "" in named else f"{what} named {', '.join(named)}"].add(right.verb)
    for what, allowed in verbs.items():
        resources[_in_words(allowed)].append(what)
    return [printable(f"{allowed} {', '.join(sorted(whats))}") for allowed, whats in sorted(resources.items())]


def _in_words(verbs: set[str]) -> str:
    if "*" in verbs:
        return "all verbs of"
    words, left = [], set(verbs)
    for word, meant in (("read", READ), ("write", WRITE)):
        if left | {"deletecollection"} >= set(meant):
            words.append(word)
            left.difference_update(meant)
    return ", ".join([*words, *sorted(left)])


def is_rbac(manifest: Manifest, *kinds: str) -> bool:
    """Whether an object is of one of these kinds of RBAC."""
    return manifest["kind"] in kinds and manifest["apiVersion"].startswith(f"{RBAC}/")


def reference_of(role: Manifest) -> RoleReference:
    """What bindings call a role."""
    return role["kind"], role["metadata"].get("namespace", ""), role["metadata"]["name"]


def role_of(binding: Mapping[str, Any]) -> RoleReference:
    """The role that a binding binds."""
    role = binding["roleRef"]
    return role["kind"], binding["metadata"].get("namespace", "") if role["kind"] == "Role" else "", role["name"]


def rights_of(role: Manifest, cluster_roles: Collection[Manifest]) -> frozenset[Permission]:
    """What a role allows; an aggregated one what those of the ClusterRoles allow that it selects."""
    aggregation = role.get("aggregationRule")
    if aggregation is None:
        return permissions(role.get("rules") or ())
    selectors = aggregation.get("clusterRoleSelectors") or ()
    labels = ((each, each["metadata"].get("labels", {})) for each in cluster_roles if each is not role)
    selected = [each for each, own in labels if any(selects(one, own) for one in selectors)]
    return frozenset(right for each in selected for right in rights_of(each, cluster_roles))


def aggregates_to(role: Manifest) -> list[str]:
    """Kubernetes' roles that a ClusterRole is added to by its labels: a stronger one has what a weaker one has."""
    labels = role["metadata"].get("labels") or {}
    weakest = min(
        (POWER[each] for each in KNOWN if labels.get(f"{AGGREGATE_LABEL}{each}") == "true"), default=len(POWER)
    )
    return [each for each in KNOWN if POWER[each] >= weakest]


def is_of_kubernetes(role: Manifest) -> bool:
    """Whether the API server itself adds a ClusterRole to others, whatever its labels say."""
    name = role["metadata"]["name"]
    return name in KNOWN or name in {f"system:aggregate-to-{each}" for each in KNOWN}


def aggregated(name: str, cluster_roles: Collection[Manifest]) -> frozenset[Permission]:
    """What ClusterRoles of the stack add to a role of Kubernetes: also those that they add to a weaker one."""
    added = (role for role in cluster_roles if name in aggregates_to(role))
    return frozenset(right for role in added for right in rights_of(role, cluster_roles))
