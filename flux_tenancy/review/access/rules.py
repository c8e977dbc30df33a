"""Who may do what by RBAC, computed from the objects of a render, and what of it one render adds to another.

Effective rights are compared: rewriting a role, or binding it under another name, is not a change.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import product
from typing import Any

from flux_tenancy.components.installs.chart import RELEASE_TYPE
from flux_tenancy.components.installs.kyverno.config import KYVERNO
from flux_tenancy.components.tenant.annotations import SERVICE_ACCOUNT
from flux_tenancy.components.tenant.further_access import RoleReference
from flux_tenancy.components.vocabulary.manifests import RBAC, RBAC_API, Manifest
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.review.access.capsule import of_capsule
from flux_tenancy.review.access.kubernetes_roles import AGGREGATE_LABEL, POWER, RULES, KubernetesRole
from flux_tenancy.review.render.rendered import RenderedObject

CLUSTER = ""
"""The place of a right in the whole cluster."""
ANYWHERE = "*"
"""The place of what has none: of everyone with a role, it depends on where they have it."""
LABELED = "tenants onboarded by label"
"""The name that stands for all tenants that Kyverno provisions (docs/onboarding.md)."""

_USER_OF_ACCOUNT = "system:serviceaccount:"
_URL = "/"
# More resources than this in a role, and its name says more than a list.
_FEW_RESOURCES = 4


class SubjectKind(StrEnum):
    """What kind of subject has a right."""

    TENANT = "tenant"
    """The service account that Flux impersonates for a tenant."""
    ACCOUNT = "ServiceAccount"
    USER = "User"
    GROUP = "Group"
    ROLE = "role"
    """Everyone with a role of Kubernetes, which ClusterRoles of the stack add to."""


@dataclass(frozen=True, order=True)
class Subject:
    """Who has a right.

    Attributes:
        namespace: of a service account; empty for others.
    """

    kind: SubjectKind
    name: str
    namespace: str = ""


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
class Tenants:
    """The tenants of a render.

    Attributes:
        namespaces: the tenant of each namespace.
        accounts: the tenant of the account that Flux impersonates, by namespace and name.
    """

    namespaces: Mapping[str, str]
    accounts: Mapping[tuple[str, str], str]

    @cached_property
    def by_name(self) -> Mapping[str, frozenset[str]]:
        """The namespaces of each tenant."""
        found: dict[str, set[str]] = defaultdict(set)
        for namespace, tenant in self.namespaces.items():
            found[tenant].add(namespace)
        return {tenant: frozenset(namespaces) for tenant, namespaces in found.items()}


@dataclass(frozen=True)
class Granted:
    """What a subject may do in one place.

    Attributes:
        roles: the roles that it is bound to.
        rights: what they allow; roles that the stack does not define by name.
        implied: what ClusterRoles of the stack add to Kubernetes' roles among them; everyone with such a role has it.
    """

    roles: frozenset[RoleReference] = frozenset()
    rights: frozenset[Right] = frozenset()
    implied: frozenset[Right] = frozenset()

    @cached_property
    def all(self) -> frozenset[Right]:
        return self.rights | self.implied

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


NOTHING = Granted()
Place = tuple[Subject, str]
"""A subject, and the namespace in which it has its rights: or CLUSTER, or ANYWHERE."""


@dataclass(frozen=True)
class Access:
    """Who may do what by RBAC.

    Attributes:
        tenants: the tenants of the render.
        grants: by subject and place.
        roles: what each role of the render allows.
    """

    tenants: Tenants = field(default_factory=lambda: Tenants({}, {}))
    grants: Mapping[Place, Granted] = field(default_factory=dict)
    roles: Mapping[RoleReference, frozenset[Permission]] = field(default_factory=dict)

    def of(self, subject: Subject, place: str) -> Granted:
        return self.grants.get((subject, place), NOTHING)


@dataclass(frozen=True)
class Gain:
    """What a subject may do in one place in one render and not in another.

    Attributes:
        roles: the rights of each role of the stack that is gained as a whole, by its name.
        rights: all others.
    """

    subject: Subject
    place: str
    roles: Mapping[str, frozenset[Permission]]
    rights: frozenset[Right]


def covers(one: Right, other: Right) -> bool:
    """Whether a right includes another."""
    if isinstance(one, NamedRole):
        if one.name == KubernetesRole.CLUSTER_ADMIN or one == other:
            return True
        if isinstance(other, NamedRole):
            return POWER.get(one.name, -1) >= POWER.get(other.name, len(POWER))
        return (other.verb, other.group, other.resource) in _KNOWN.get(one.name, ())
    if isinstance(other, NamedRole):
        return one == EVERYTHING
    if one.verb not in ("*", other.verb) or _is_url(one) is not _is_url(other):
        return False
    if _is_url(one):
        return one.resource == other.resource or (
            one.resource.endswith("*") and other.resource.startswith(one.resource[:-1])
        )
    return (
        one.group in ("*", other.group)
        and _covers_resource(one.resource, other.resource)
        and one.name in ("", other.name)
    )


def rbac_access(objects: Iterable[RenderedObject]) -> Access:
    """Who may do what by the roles and bindings of a render.

    Args:
        objects: all objects of the render.
    """
    found = list(objects)
    manifests = [each.manifest for each in found if each.is_kubernetes]
    manifests += [each for manifest in manifests for each in (*_generated(manifest), *of_capsule(manifest))]
    manifests += [each for chart in found if chart.type == RELEASE_TYPE for each in _of_chart(chart.manifest)]
    tenants = tenants_of(manifests)
    described = {_reference(each): each for each in manifests if _is_rbac(each, "Role", "ClusterRole")}
    of_cluster = {name: role for (kind, _, name), role in described.items() if kind == "ClusterRole"}
    roles = {reference: _rights(role, of_cluster) for reference, role in described.items()}
    aggregated = {name: _aggregated(name, of_cluster) for name in RULES}
    bound: dict[Place, set[RoleReference]] = defaultdict(set)
    for binding in manifests:
        if _is_rbac(binding, "RoleBinding", "ClusterRoleBinding"):
            namespace = binding["metadata"].get("namespace", CLUSTER)
            for subject in binding.get("subjects") or ():
                bound[_subject(subject, namespace, tenants), namespace].add(_bound_role(binding, namespace))
    grants = _Grants(roles, aggregated)
    everyone = {
        (Subject(SubjectKind.ROLE, name), ANYWHERE): Granted(rights=added)
        for name, added in aggregated.items()
        if added
    }
    return Access(
        tenants,
        {place: grants.of(frozenset(references), place[1]) for place, references in bound.items()} | everyone,
        roles,
    )


def gains(old: Access, new: Access) -> Iterator[Gain]:
    """What subjects may do by `new` and not by `old`, without what another of their new rights includes."""
    known: dict[tuple[Granted, ...], frozenset[Right]] = {}
    for (subject, place), after in new.grants.items():
        before = old.of(subject, place)
        if after.rights <= before.rights:
            continue
        # Tenants have the same roles, so most of them gain the same.
        in_cluster = (NOTHING, NOTHING) if place == CLUSTER else (old.of(subject, CLUSTER), new.of(subject, CLUSTER))
        compared = (before, after, *in_cluster)
        if compared not in known:
            known[compared] = _gained(*compared)
        if gained := known[compared]:
            roles = _whole_roles(after.roles - before.roles, new.roles, gained)
            yield Gain(subject, place, roles, gained.difference(*roles.values()))


def tenants_of(manifests: Iterable[Manifest]) -> Tenants:
    """The tenants, by the labels and annotations of their namespaces."""
    namespaces: dict[str, str] = {}
    accounts: dict[tuple[str, str], str] = {}
    for manifest in manifests:
        metadata = manifest["metadata"]
        if manifest["kind"] == "Namespace" and (tenant := metadata.get("labels", {}).get(TENANT_LABEL)):
            namespaces[metadata["name"]] = tenant
            accounts[metadata["name"], metadata.get("annotations", {}).get(SERVICE_ACCOUNT, tenant)] = tenant
    return Tenants(namespaces, accounts)


@dataclass(frozen=True)
class _Grants:
    """The rights of sets of roles; tenants share theirs."""

    roles: Mapping[RoleReference, frozenset[Permission]]
    aggregated: Mapping[str, frozenset[Permission]]
    known: dict[tuple[frozenset[RoleReference], bool], Granted] = field(default_factory=dict)

    def of(self, references: frozenset[RoleReference], place: str) -> Granted:
        key = references, place == CLUSTER
        if key not in self.known:
            rights = frozenset(right for each in references for right in self.roles.get(each, {NamedRole(each[2])}))
            if place != CLUSTER:
                rights = frozenset(right for right in rights if not _is_url(right))
            implied = frozenset(right for _, _, name in references for right in self.aggregated.get(name, ()))
            self.known[key] = Granted(references, rights, implied)
        return self.known[key]


def _gained(before: Granted, after: Granted, before_in_cluster: Granted, after_in_cluster: Granted) -> frozenset[Right]:
    anew = (right for right in after.rights if not before.allows(right) and not before_in_cluster.allows(right))
    return frozenset(
        right for right in anew if not after.allows_otherwise(right) and not after_in_cluster.allows(right)
    )


def _whole_roles(
    references: Iterable[RoleReference], roles: Mapping[RoleReference, frozenset[Permission]], gained: frozenset[Right]
) -> dict[str, frozenset[Permission]]:
    """The roles whose rights are all gained, and are too many to be listed."""
    defined = {each[2]: roles[each] for each in sorted(references) if each in roles}
    return {
        name: rights
        for name, rights in defined.items()
        if rights <= gained and len({(each.group, each.resource) for each in rights}) > _FEW_RESOURCES
    }


def _is_rbac(manifest: Manifest, *kinds: str) -> bool:
    return manifest["kind"] in kinds and manifest["apiVersion"].startswith(f"{RBAC}/")


def _reference(role: Manifest) -> RoleReference:
    return role["kind"], role["metadata"].get("namespace", ""), role["metadata"]["name"]


def _bound_role(binding: Manifest, namespace: str) -> RoleReference:
    reference = binding["roleRef"]
    return reference["kind"], namespace if reference["kind"] == "Role" else "", reference["name"]


def _subject(subject: Mapping[str, str], namespace: str, tenants: Tenants) -> Subject:
    """The subject of a binding; the API server reads a service account without a namespace as in the binding's own."""
    kind, name = SubjectKind(subject["kind"]), subject["name"]
    home = subject.get("namespace", namespace)
    if kind is SubjectKind.USER and name.startswith(_USER_OF_ACCOUNT):
        home, _, name = name.removeprefix(_USER_OF_ACCOUNT).partition(":")
        kind = SubjectKind.ACCOUNT
    if kind is not SubjectKind.ACCOUNT:
        return Subject(kind, name)
    tenant = tenants.accounts.get((home, name))
    return Subject(SubjectKind.TENANT, tenant) if tenant else Subject(kind, name, home)


def _rights(role: Manifest, cluster_roles: Mapping[str, Manifest]) -> frozenset[Permission]:
    """What a role allows; an aggregated one what the selected roles allow."""
    aggregation = role.get("aggregationRule")
    if aggregation is None:
        return frozenset(right for rule in role.get("rules") or () for right in _permissions(rule))
    selected = (
        each
        for each in cluster_roles.values()
        if each is not role and any(_selects(one, each) for one in aggregation.get("clusterRoleSelectors") or ())
    )
    return frozenset(right for each in selected for right in _rights(each, cluster_roles))


def _aggregated(name: str, cluster_roles: Mapping[str, Manifest]) -> frozenset[Permission]:
    """What ClusterRoles of the stack add to a role of Kubernetes: also those that they add to a weaker one."""
    labels = [f"{AGGREGATE_LABEL}{each}" for each, power in POWER.items() if power <= POWER[name]]
    added = (
        role
        for role in cluster_roles.values()
        if any(role["metadata"].get("labels", {}).get(label) == "true" for label in labels)
    )
    return frozenset(right for role in added for right in _rights(role, cluster_roles))


def _selects(selector: Mapping[str, Any], role: Manifest) -> bool:
    """Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors"""
    labels = role["metadata"].get("labels", {})
    return all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items()) and all(
        _matches(expression, labels) for expression in selector.get("matchExpressions") or ()
    )


def _matches(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, operator = expression["key"], expression["operator"]
    if operator in ("Exists", "DoesNotExist"):
        return (key in labels) is (operator == "Exists")
    return (labels.get(key) in expression["values"]) is (operator == "In")


def _permissions(rule: Mapping[str, Any]) -> Iterator[Permission]:
    names = rule.get("resourceNames") or ("",)
    for parts in product(rule["verbs"], rule.get("apiGroups") or (), rule.get("resources") or (), names):
        yield Permission(*parts)
    for verb, url in product(rule["verbs"], rule.get("nonResourceURLs") or ()):
        yield Permission(verb, "", f"{_URL}{url.removeprefix(_URL)}")


def _is_url(right: Right) -> bool:
    return isinstance(right, Permission) and right.resource.startswith(_URL)


def _covers_resource(one: str, other: str) -> bool:
    if one in ("*", other):
        return True
    # `*/scale` is the subresource of every resource.
    return one.startswith("*/") and "/" in other and one.split("/")[1] == other.split("/")[1]


def _generated(manifest: Manifest) -> Iterator[Manifest]:
    """The RoleBindings that Kyverno generates for a tenant that is onboarded by label, for all of these as one.

    Source: components/policies/onboarding.py
    """
    if manifest["kind"] != "GeneratingPolicy":
        return
    templates = [json.loads(each["template"]["value"]) for each in manifest["spec"]["generate"]]
    account = next(each["metadata"]["name"] for each in templates if each["kind"] == "ServiceAccount")
    yield {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": LABELED, "labels": {TENANT_LABEL: LABELED}, "annotations": {SERVICE_ACCOUNT: account}},
    }
    for template in templates:
        if template["kind"] == "RoleBinding":
            # The platform's own subjects have no placeholder.
            home = template["metadata"]["namespace"]
            subjects = [
                subject | {"namespace": LABELED} if subject["namespace"] == home else subject
                for subject in template["subjects"]
            ]
            yield template | {"metadata": {"name": "generated", "namespace": LABELED}, "subjects": subjects}


def _of_chart(release: Manifest) -> Iterator[Manifest]:
    """What the stack gives to a chart in addition to the chart's own access."""
    if release["properties"]["name"] == KYVERNO.name:
        yield from _of_kyverno(release)


def _of_kyverno(release: Manifest) -> Iterator[Manifest]:
    """What the stack lets Kyverno's background controller do in addition to what the chart itself does.

    Source: components/installs/kyverno/values.py
    """
    properties = release["properties"]
    name = f"{properties['name']}-background-controller"
    given = properties["values"]["backgroundController"]["rbac"]
    rules = [*given["coreClusterRole"]["extraResources"], *given["clusterRole"]["extraResources"]]
    common = {"apiVersion": RBAC_API, "metadata": {"name": name}}
    account = {"kind": "ServiceAccount", "name": name, "namespace": properties["namespace"]}
    yield common | {"kind": "ClusterRole", "rules": rules}
    yield common | {
        "kind": "ClusterRoleBinding",
        "roleRef": {"kind": "ClusterRole", "name": name},
        "subjects": [account],
    }


_KNOWN: Mapping[str, frozenset[tuple[str, str, str]]] = {
    name: frozenset(
        (verb, group, resource) for group, resources, verbs in rules for resource in resources for verb in verbs
    )
    for name, rules in RULES.items()
}
