"""Renders of small stacks, made by the builders of the live path, and RBAC objects in a line each."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from functools import cache
from typing import Any

from sample_plan import tenant_objects
from sample_release import release
from sample_stack import flux_config, tenant_config

from flux_tenancy.components.installs.flux.controller_rights import shared_impersonation
from flux_tenancy.components.installs.flux.profile import configured
from flux_tenancy.components.installs.flux.release import select_components
from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine
from flux_tenancy.components.policies.kyverno_only import kyverno_only, onboards
from flux_tenancy.components.policies.table import policy_set
from flux_tenancy.components.stack.platform import relaxed_by
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.identity import impersonations
from flux_tenancy.components.tenant.people import people_roles
from flux_tenancy.components.tenant.role import FLUX_GROUPS, MANAGED, tenant_role
from flux_tenancy.components.vocabulary.manifests import Manifest, name_of, resource_type
from flux_tenancy.review.access.policies import policy_documents
from flux_tenancy.review.access.rights import access_changes
from flux_tenancy.review.changes.risks import risk_statements
from flux_tenancy.review.render.facts import configuration
from flux_tenancy.review.render.rendered import PLATFORM, Render, RenderedObject

STACK = "production"
TENANTS: dict[str, dict[str, Any]] = {"dev-team": {}, "ops-team": {"namespaces": [{"name": "tools"}]}}
_RBAC = "rbac.authorization.k8s.io"
_FLUX_GROUPS_OF_TENANTS = [group for group, _ in MANAGED if group.endswith(FLUX_GROUPS)]
_CONTROLLER: Manifest = {
    "kind": "Deployment",
    "spec": {"template": {"spec": {"containers": [{"image": "registry.example.com/fluxcd/source-controller:v1.9.5"}]}}},
}
_EDITORS = {f"{_RBAC}/aggregate-to-{role}": "true" for role in ("admin", "edit")}


def render(
    tenants: Mapping[str, Mapping[str, Any]] | None = None,
    policies: Mapping[str, Any] | None = None,
    tenancy: Mapping[str, Any] | None = None,
    flux: Mapping[str, Any] | None = None,
    more: Iterable[Manifest] = (),
    stack: str = STACK,
) -> Render:
    """What a stack with these sections applies that decides on access.

    Args:
        tenants: the tenants by name; `dev-team` with the namespace `apps` and `ops-team` with `tools` by default.
        policies, tenancy, flux: sections of the stack.
        more: further objects of the platform.
        stack: name of the stack.
    """
    sections = (TENANTS if tenants is None else tenants, policies or {}, tenancy or {}, flux or {}, list(more))
    facts = {"config/policies": policies or {}, "config/tenancy": tenancy or {}}
    return Render(stack, _rendered_stack(*(json.dumps(each) for each in sections)), "", facts)


@cache
def _rendered_stack(*sections: str) -> tuple[RenderedObject, ...]:
    """The objects of a render; most tests compare with the same one."""
    tenants, policies, tenancy, flux, more = map(json.loads, sections)
    settings, own = PoliciesConfig.model_validate(policies), TenancyConfig.model_validate(tenancy)
    config = flux_config(**flux)
    teams = {name: tenant_config(**keys) for name, keys in tenants.items()}
    roles = impersonations(config, teams, own)
    platform = [
        *configured(select_components(release(), config), config),
        tenant_role(own),
        *people_roles(own, [team.people for team in teams.values()]),
        *_policies(settings, own, config, relaxed_by(teams.values(), settings)),
        *more,
    ]
    platform += [shared_impersonation(config)] if onboards(settings) else []
    homes = {namespace for team in teams.values() for namespace in team.namespace_names}
    platform += [each for namespace, found in roles.items() if namespace not in homes for each in found]
    objects = [_rendered(PLATFORM, each) for each in platform]
    for name, team in teams.items():
        found = tenant_objects(name, team, own, config.default_service_account, config.lane_of(team.lane))
        manifests = [*found.namespaces, *found.limits, found.identity, *found.granted_roles, *found.access]
        manifests += found.people
        manifests += [*found.decryption, *found.syncs]
        manifests += [each for namespace in team.namespace_names for each in roles.get(namespace, ())]
        objects += [_rendered(name, each) for each in manifests]
    return tuple(objects)


def of(*manifests: Manifest) -> Render:
    """A render of the platform's objects alone."""
    return Render(STACK, tuple(_rendered(PLATFORM, each) for each in manifests), "")


def edited(before: Render, name: str, kind: str, edit: Callable[[Manifest], object]) -> Render:
    """A render with another specification of one policy, as another version of the program makes it."""
    objects = deepcopy(before.objects)
    for each in objects:
        if (each.name, each.kind) == (f"flux-tenancy-{name}", kind):
            edit(each.manifest["spec"])
    return Render(before.stack, objects, "", before.facts)


def sentences(before: Render | None, after: Render | None) -> list[str]:
    """The changes of rights by RBAC, one on a line: `!` if it is a risk."""
    return [f"{'!' if each.risk else ' '} {each.text}" for each in access_changes(before, after)]


def risks(before: Render, after: Render) -> list[str]:
    """The risks of all other changes, with their owners."""
    sides = [(configuration(each.facts or {}), each.objects) for each in (before, after)]
    documents = policy_documents(sides[0], sides[1])
    found = [(*each.objects, *more) for each, more in zip((before, after), documents, strict=True)]
    return [f"{each.owner} {each.text}" for each in risk_statements(*found) if each.risk]


def rule(verbs: str, resources: str, group: str = "", names: str = "") -> Manifest:
    """A rule of a role; verbs, resources and names are separated by spaces."""
    found: Manifest = {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
    return found | ({"resourceNames": names.split()} if names else {})


def role(name: str, *rules: Manifest, namespace: str = "", labels: Mapping[str, str] | None = None) -> Manifest:
    """A ClusterRole, or a Role if it has a namespace."""
    kind, metadata = _kind("Role", name, namespace)
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": kind,
        "metadata": metadata | {"labels": labels or {}},
        "rules": [*rules],
    }


def binding(
    to: str, subjects: Sequence[Manifest], namespace: str = "", name: str = "given", kind: str = "ClusterRole"
) -> Manifest:
    """A ClusterRoleBinding, or a RoleBinding if it has a namespace."""
    own_kind, metadata = _kind("RoleBinding", name, namespace)
    reference = {"apiGroup": _RBAC, "kind": kind, "name": to}
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": own_kind,
        "metadata": metadata,
        "roleRef": reference,
        "subjects": [*subjects],
    }


def account(name: str, namespace: str = "apps") -> Manifest:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def user(name: str) -> Manifest:
    return {"kind": "User", "apiGroup": _RBAC, "name": name}


def group(name: str) -> Manifest:
    return {"kind": "Group", "apiGroup": _RBAC, "name": name}


def flux_edit() -> Manifest:
    """The ClusterRole with which a release of Flux adds its kinds to Kubernetes' roles."""
    verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    rules = [{"apiGroups": [*_FLUX_GROUPS_OF_TENANTS], "resources": ["*"], "verbs": verbs}]
    return role("flux-edit", *rules, labels=_EDITORS)


def _kind(kind: str, name: str, namespace: str) -> tuple[str, Manifest]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return (kind if namespace else f"Cluster{kind}"), metadata


def _policies(
    settings: PoliciesConfig, tenancy: TenancyConfig, flux: Any, relaxed: Collection[str]
) -> Iterable[Manifest]:
    if settings.engine is not PolicyEngine.NONE:
        yield from _all_of(policy_set(settings, PolicyEngine.NATIVE, relaxed=relaxed, tenancy=tenancy))
    if settings.engine.kyverno:
        more = kyverno_only(settings, tenancy, flux, [_CONTROLLER])
        yield from _all_of(policy_set(settings, PolicyEngine.KYVERNO, more, relaxed, tenancy=tenancy))


def _all_of(found: Any) -> Iterable[Manifest]:
    return (*found.manifests, *found.probe)


def _rendered(owner: str, manifest: Manifest) -> RenderedObject:
    return RenderedObject(owner, resource_type(manifest), name_of(manifest), manifest)
