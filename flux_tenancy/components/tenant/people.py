"""The people of a tenant, and what they may do: roles for viewers and developers, and for the platform's auditors.

No role has a wildcard, reads Secrets, or creates anything. Developers may patch Flux's objects but not update them:
RBAC does not see which fields a patch changes, so the policy `flux-requests` limits users with only this right.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from flux_tenancy.components.cluster.component import READABLE as PREVIEWED
from flux_tenancy.components.cluster.config import Person, Subject, rbac_subject
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.plan import Planned, Stage
from flux_tenancy.components.rbac.rights import READ
from flux_tenancy.components.rbac.subjects import rbac_binding, rbac_role, rules_for, table
from flux_tenancy.components.tenant.role import FLUX_GROUPS, MANAGED, READABLE
from flux_tenancy.components.vocabulary.manifests import Manifest, ResourceTable

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.config import TenancyConfig
    from flux_tenancy.components.tenant.role import PolicyRule
    from flux_tenancy.components.tenant.scope import TenantScope
    from flux_tenancy.components.vocabulary.names import ObjectMeta


class TenantPeople(Section):
    """Users and groups with access to a tenant's namespaces."""

    viewers: tuple[Person, ...] = Field(
        (), description="Those who may read built-in kinds and Flux's objects, but no Secrets or logs."
    )
    developers: tuple[Person, ...] = Field(
        (), description="Those who may also read logs, and reconcile, suspend and resume the tenant's own Flux objects."
    )


class TenancyPeople(Section):
    """Rights of all tenants' people."""

    exec: bool = Field(
        False, description="Allow developers `kubectl exec` and port forwarding, and so every Secret that a Pod mounts."
    )


VIEWER, DEVELOPER, AUDITOR = "flux-tenancy-viewer", "flux-tenancy-developer", "flux-tenancy-auditor"
"""Names of the ClusterRoles; the auditors' binding has the name of its role."""

_SECRETS = ("", "secrets")
_LOGS = ("", "pods/log")
# What auditors read in addition to previewers and to viewers of every tenant. `nodes/proxy` is left out, with which a
# reader runs commands in pods, and so are `pods/proxy` and `services/proxy`, which lead past network policies.
_AUDITED: ResourceTable = table(
    """
    core: nodes persistentvolumes pods/log podtemplates replicationcontrollers
    admissionregistration.k8s.io: mutatingadmissionpolicies mutatingadmissionpolicybindings
    apiregistration.k8s.io: apiservices
    apps: controllerrevisions
    certificates.k8s.io: certificatesigningrequests clustertrustbundles podcertificaterequests
    flowcontrol.apiserver.k8s.io: flowschemas prioritylevelconfigurations
    kyverno.io: cleanuppolicies clustercleanuppolicies clusterpolicies policies policyexceptions
    networking.k8s.io: ingressclasses ipaddresses servicecidrs
    node.k8s.io: runtimeclasses
    openreports.io: clusterreports reports
    policies.kyverno.io: deletingpolicies policyexceptions
    resource.k8s.io: deviceclasses devicetaintrules resourceclaims resourceclaimtemplates resourceslices
    scheduling.k8s.io: priorityclasses
    storage.k8s.io: csidrivers csinodes csistoragecapacities storageclasses volumeattachments volumeattributesclasses
    storagemigration.k8s.io: storageversionmigrations
    wgpolicyk8s.io: clusterpolicyreports policyreports
    """
)


def people_roles(tenancy: TenancyConfig, people: Iterable[TenantPeople]) -> list[Manifest]:
    """The ClusterRoles that these people are bound to."""
    everybody = list(people)
    viewed = [*_viewed(), *_extra(tenancy.extra_rules)]
    roles = []
    if any(each.viewers for each in everybody):
        roles.append(rbac_role("ClusterRole", {"name": VIEWER}, viewed))
    if any(each.developers for each in everybody):
        roles.append(rbac_role("ClusterRole", {"name": DEVELOPER}, [*viewed, *_developed(tenancy)]))
    return roles


def listed_people(people: TenantPeople) -> list[dict[str, str]]:
    """The people of a tenant with their roles, for the outputs."""
    return [
        {"kind": person.kind.value, "name": person.name, "role": role}
        for role, persons in (("viewer", people.viewers), ("developer", people.developers))
        for person in persons
    ]


def planned_people(tenant: TenantScope) -> Iterator[Planned]:
    """The access of the tenant's people in each of its namespaces."""
    for place in tenant.places:
        for binding in people_bindings(place, tenant.config.people):
            yield Planned(Stage.PEOPLE, binding)


def people_bindings(meta: ObjectMeta, people: TenantPeople) -> list[Manifest]:
    """The RoleBindings of a tenant's people in one of its namespaces."""
    lists = (("viewers", VIEWER, people.viewers), ("developers", DEVELOPER, people.developers))
    return [
        rbac_binding("RoleBinding", meta.metadata(f"{meta.name}-{name}"), role, map(rbac_subject, subjects))
        for name, role, subjects in lists
        if subjects
    ]


def auditor_access(auditors: Sequence[Subject], tenancy: TenancyConfig) -> list[Manifest]:
    """The auditors' ClusterRole and its binding; nothing for a stack without auditors."""
    if not auditors:
        return []
    tables = _merged(_without(_SECRETS, (*MANAGED, *READABLE, *PREVIEWED, *_AUDITED)))
    role = rbac_role("ClusterRole", {"name": AUDITOR}, [*rules_for(tables, READ), *_extra(tenancy.extra_rules)])
    return [role, rbac_binding("ClusterRoleBinding", {"name": AUDITOR}, AUDITOR, map(rbac_subject, auditors))]


def _viewed() -> list[Manifest]:
    """Everything that a tenant may read, except Secrets and logs, which often contain them."""
    return rules_for(_merged(_without(_LOGS, _without(_SECRETS, (*MANAGED, *READABLE)))), READ)


def _developed(tenancy: TenancyConfig) -> list[Manifest]:
    flux = [(group, names) for group, names in MANAGED if group.endswith(FLUX_GROUPS)]
    return [
        *rules_for([("", (_LOGS[1],))], ("get",)),
        *rules_for(flux, ("patch",)),
        *(rules_for(table("core: pods/exec pods/portforward"), ("create", "get")) if tenancy.people.exec else ()),
    ]


def _extra(rules: Iterable[PolicyRule]) -> Iterator[Manifest]:
    """What the stack's own rules let tenants read, without what could include Secrets or reach a Pod."""
    for rule in rules:
        resources = [each for each in rule.resources if "/" not in each and each != "*" and ("", each) != _SECRETS]
        groups = [each for each in rule.api_groups if each != "*"]
        verbs = [verb for verb in READ if verb in rule.verbs or "*" in rule.verbs]
        if resources and groups and verbs:
            named = {"resourceNames": list(rule.resource_names)} if rule.resource_names else {}
            yield {"apiGroups": groups, "resources": resources, "verbs": verbs} | named


def _without(left_out: tuple[str, str], table: ResourceTable) -> ResourceTable:
    group, name = left_out
    return [(each, tuple(one for one in names if (each, one) != (group, name))) for each, names in table]


def _merged(table: ResourceTable) -> ResourceTable:
    """One entry for each API group."""
    by_group: dict[str, set[str]] = defaultdict(set)
    for group, names in table:
        by_group[group].update(names)
    return [(group, tuple(sorted(names))) for group, names in sorted(by_group.items()) if names]
