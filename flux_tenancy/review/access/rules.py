"""Who may do what by RBAC, computed from the objects of a render, and what of it one render adds to another.

Effective rights are compared: rewriting a role, or binding it under another name, is not a change. What Capsule lets
the owners of its Tenants do counts as the roles and bindings that it makes of them.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/, and internal/controllers/rbac/manager.go and
internal/controllers/tenant/rolebindings.go of Capsule 0.14
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from flux_tenancy.components.installs.capsule import NAMESPACE_DELETER, NAMESPACE_PROVISIONER, generated_objects
from flux_tenancy.components.installs.kyverno import KYVERNO
from flux_tenancy.components.installs.product import RELEASE_TYPE
from flux_tenancy.components.rbac.rights import (
    BINDINGS,
    CLUSTER,
    KNOWN,
    ROLES,
    NamedRole,
    Permission,
    Right,
    Rights,
    RoleReference,
    aggregated,
    is_rbac,
    reference_of,
    rights_of,
    role_of,
)
from flux_tenancy.components.rbac.subjects import Subject, SubjectKind, rbac_binding, rbac_role, subject_of
from flux_tenancy.components.tenant.annotations import SERVICE_ACCOUNT
from flux_tenancy.components.tenant.capsule.config import CAPSULE_API, TENANT, TENANT_OWNER
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.review.render.rendered import RenderedObject

ANYWHERE = "*"
"""The place of what has none: of everyone with a role, it depends on where they have it."""
LABELED = "tenants onboarded by label"
"""The name that stands for all tenants that Kyverno provisions (docs/kyverno.md#onboarding-by-label)."""

# More resources than this in a role, and its name says more than a list.
_FEW_RESOURCES = 4


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
class Granted(Rights):
    """What a subject may do in one place.

    Attributes:
        all: with what ClusterRoles of the stack add to Kubernetes' roles among them; everyone with such a role has it.
        roles: the roles that it is bound to.
        rights: what they allow; roles that the stack does not define by name.
    """

    roles: frozenset[RoleReference] = frozenset()
    rights: frozenset[Right] = frozenset()


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


def rbac_access(objects: Iterable[RenderedObject]) -> Access:
    """Who may do what by the roles and bindings of a render."""
    found = list(objects)
    manifests = [each.manifest for each in found if each.is_kubernetes]
    manifests += [each for manifest in manifests for each in (*_generated(manifest), *of_capsule(manifest))]
    manifests += [each for chart in found if chart.type == RELEASE_TYPE for each in _of_chart(chart.manifest)]
    tenants = tenants_of(manifests)
    described = {reference_of(each): each for each in manifests if is_rbac(each, *ROLES)}
    of_cluster = [role for (kind, _, _), role in described.items() if kind == "ClusterRole"]
    roles = {reference: rights_of(role, of_cluster) for reference, role in described.items()}
    added = {name: aggregated(name, of_cluster) for name in KNOWN}
    bound: dict[Place, set[RoleReference]] = defaultdict(set)
    for binding in manifests:
        if is_rbac(binding, *BINDINGS):
            namespace = binding["metadata"].get("namespace", CLUSTER)
            for subject in binding.get("subjects") or ():
                bound[_subject(subject, namespace, tenants), namespace].add(role_of(binding))
    grants = _Grants(roles, added)
    everyone = {
        (Subject(SubjectKind.ROLE, name), ANYWHERE): Granted(rights, rights=rights)
        for name, rights in added.items()
        if rights
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
                rights = frozenset(each for each in rights if isinstance(each, NamedRole) or not each.is_url)
            implied = frozenset(right for _, _, name in references for right in self.aggregated.get(name, ()))
            self.known[key] = Granted(rights | implied, references, rights)
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


def _subject(subject: Mapping[str, str], namespace: str, tenants: Tenants) -> Subject:
    found = subject_of(subject, namespace)
    tenant = tenants.accounts.get((found.namespace, found.name)) if found.kind is SubjectKind.ACCOUNT else None
    return Subject(SubjectKind.TENANT, tenant) if tenant else found


def _generated(manifest: Manifest) -> Iterator[Manifest]:
    """The RoleBindings that Kyverno generates for a tenant that is onboarded by label, for all of these as one.

    Source: components/policies/kyverno_only.py
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
    """What the stack lets Kyverno's background controller do in addition to what the chart itself does.

    Source: components/installs/kyverno.py
    """
    properties = release["properties"]
    if properties["name"] != KYVERNO.name:
        return
    name = f"{properties['name']}-background-controller"
    given = properties["values"]["backgroundController"]["rbac"]
    rules = [*given["coreClusterRole"]["extraResources"], *given["clusterRole"]["extraResources"]]
    account = {"kind": "ServiceAccount", "name": name, "namespace": properties["namespace"]}
    yield rbac_role("ClusterRole", {"name": name}, rules)
    yield rbac_binding("ClusterRoleBinding", {"name": name}, name, [account])


def made_by(tenant: str) -> str:
    """The name that stands for all namespaces that a tenant makes itself."""
    return f"namespaces that {tenant} makes"


def of_capsule(manifest: Manifest) -> Iterator[Manifest]:
    """The namespaces that a Tenant may make as one, with the access in it; its owner's rights in the whole cluster."""
    if manifest["apiVersion"] != CAPSULE_API:
        return
    name = manifest["metadata"]["name"]
    if manifest["kind"] == TENANT_OWNER:
        yield _role(NAMESPACE_PROVISIONER)
        owner = {"kind": "User", "name": manifest["spec"]["name"]}
        yield rbac_binding("ClusterRoleBinding", {"name": name}, NAMESPACE_PROVISIONER, [owner])
    if manifest["kind"] == TENANT:
        here = made_by(name)
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": here, "labels": {TENANT_LABEL: name}}}
        yield _role(NAMESPACE_DELETER)
        for rule in manifest["spec"]["rules"]:
            for each in rule.get("permissions", {}).get("bindings", ()):
                metadata = {"name": "capsule", "namespace": here}
                yield rbac_binding("RoleBinding", metadata, each["clusterRoleName"], each["subjects"])


def _role(name: str) -> Manifest:
    roles = {each["metadata"]["name"]: each for each in generated_objects() if each["kind"] == "ClusterRole"}
    return roles[name]
