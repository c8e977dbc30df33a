"""The grants of a tenant as manifests, and in words.

Rights go to the tenant's service account alone, by a role and a binding of their own. The policies read the rest from
annotations of the tenant's namespaces (`components.tenant.annotations`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from components.plan.planned import Planned, Stage
from components.tenant.grants_config import ClusterObject, Grant
from components.tenant.kinds import group_resource
from components.tenant.scope import TenantScope
from components.vocabulary.manifests import Manifest
from components.vocabulary.names import TENANT_LABEL

SERVICE_EXPOSURE = "service-exposure"
"""The policy that reads the granted types of Services."""
_RBAC = "rbac.authorization.k8s.io"


def grants_name(tenant: str) -> str:
    """The name of the Role and RoleBinding with a tenant's grants in each of its namespaces."""
    return f"{tenant}-grants"


def cluster_grants_name(tenant: str) -> str:
    """The name of the ClusterRole and ClusterRoleBinding with a tenant's grants."""
    return f"flux-tenancy-grants-{tenant}"


def planned_grants(tenant: TenantScope) -> Iterator[Planned]:
    """The roles with what is granted, and their bindings to the tenant's service account; nothing without grants."""
    grants = tenant.config.grants
    roles: list[Manifest] = []
    if rules := _rules(grants):
        roles += [_role("Role", _metadata(tenant.name, namespace), rules) for namespace in tenant.undelegated]
    if objects := [each for grant in grants for each in grant.cluster_objects]:
        roles.append(_role("ClusterRole", _metadata(tenant.name), [_named_rule(each) for each in objects]))
    for role in roles:
        yield Planned(Stage.CONTENT, role)
        binding = {
            "apiVersion": f"{_RBAC}/v1",
            "kind": f"{role['kind']}Binding",
            "metadata": role["metadata"],
            "roleRef": {"apiGroup": _RBAC, "kind": role["kind"], "name": role["metadata"]["name"]},
            "subjects": [tenant.subject],
        }
        yield Planned(Stage.ACCESS, binding)


def relaxed_policies(grants: Iterable[Grant]) -> frozenset[str]:
    """The names of the policies that grants relax; the others need not read them."""
    found = set()
    for grant in grants:
        found |= {each.policy for each in grant.exceptions}
        if grant.service_types:
            found.add(SERVICE_EXPOSURE)
    return frozenset(found)


def granted_service_types(grants: Iterable[Grant]) -> list[str]:
    """The types of Services that grants allow, each once."""
    return list(dict.fromkeys(each for grant in grants for each in grant.service_types))


def granted_resources(grants: Iterable[Grant]) -> list[str]:
    """The resources that grants give rights over in the tenant's namespaces, each once."""
    rules = [rule for grant in grants for rule in grant.rules]
    named = (group_resource(group, each) for rule in rules for group in rule.api_groups for each in rule.resources)
    return list(dict.fromkeys(each for each in named if "/" not in each))


def granted_exceptions(grants: Iterable[Grant]) -> list[str]:
    """The exceptions from policies, each once, as the policies read them: `<policy>` or `<policy>/<name>`."""
    return list(dict.fromkeys(entry for grant in grants for each in grant.exceptions for entry in each.entries))


def has_expired(grant: Grant, today: date) -> bool:
    """Whether the last day of a grant has passed; one without a last day never expires."""
    return grant.expires is not None and grant.expires < today


def in_words(grant: Grant) -> list[str]:
    """What a grant allows, one sentence part for each of its entries."""
    return list(_words(grant))


def _words(grant: Grant) -> Iterator[str]:
    for rule in grant.rules:
        resources = ", ".join(f"{resource}.{group}" for group in rule.api_groups for resource in rule.resources)
        yield f"{', '.join(rule.verbs)} {resources} in its namespaces"
    for each in grant.cluster_objects:
        yield f"{', '.join(each.verbs)} {each.resource}.{each.api_group} {each.name}"
    if grant.service_types:
        yield f"Services of the type {' or '.join(grant.service_types)}"
    for exception in grant.exceptions:
        yield f"an exception from the policy {exception.policy} for {', '.join(exception.names) or 'all objects'}"


def _rules(grants: Iterable[Grant]) -> list[Manifest]:
    return [
        {"apiGroups": list(rule.api_groups), "resources": list(rule.resources), "verbs": list(rule.verbs)}
        for grant in grants
        for rule in grant.rules
    ]


def _named_rule(each: ClusterObject) -> Manifest:
    return {
        "apiGroups": [each.api_group],
        "resources": [each.resource],
        "verbs": list(each.verbs),
        "resourceNames": [each.name],
    }


def _role(kind: str, metadata: Manifest, rules: Sequence[Manifest]) -> Manifest:
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, "rules": list(rules)}


def _metadata(tenant: str, namespace: str = "") -> Manifest:
    labels = {TENANT_LABEL: tenant}
    if not namespace:
        return {"name": cluster_grants_name(tenant), "labels": labels}
    return {"name": grants_name(tenant), "namespace": namespace, "labels": labels}
