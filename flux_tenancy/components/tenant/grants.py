"""The `grants` of a tenant: what it alone may do in addition, each with a reason and for a time.

A grant adds rights to the tenant's service account, by a role and a binding of their own, or relaxes a policy in the
tenant's namespaces, which reads it from their annotations (`components.tenant.annotations`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from flux_tenancy.components.allowlists.entries import ServiceType
from flux_tenancy.components.config.errors import NOT_A, MisplacedValueError
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import LastDay, Reason, matching
from flux_tenancy.components.plan import Planned, Stage
from flux_tenancy.components.rbac.subjects import rbac_binding, rbac_role, rbac_rule
from flux_tenancy.components.tenant.role import as_rule, group_resource, owner_of, why_withheld
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.scope import TenantScope


WITHHELD_GROUP = Wording(
    "FT-TEN-402",
    "belongs to {owner}; permissions beyond the tenant role cannot be granted: {why}",
    "name the API group of a custom resource, e.g. cert-manager.io",
)

DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")
"""API group and resource of CustomResourceDefinitions."""
Verb = Literal["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
NamedVerb = Literal["delete", "get", "patch", "update"]
"""The verbs that a rule with `resourceNames` can limit to one object.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources
"""
# A DNS subdomain, or the empty string for the core group.
_GROUP = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?")


class ExceptedPolicy(StrEnum):
    """A policy that may have exceptions for a tenant.

    Each of them guards the tenant itself, asks for a habit of its Pods, or holds its changes for a time. Policies that
    protect the platform or other tenants have none, and neither have those with a list for each tenant
    (`TenantPolicies`).
    """

    VERIFIED_SOURCES = "verified-sources"
    NODE_PLACEMENT = "node-placement"
    DISRUPTION_BUDGETS = "disruption-budgets"
    ALLOWED_IMAGES = "allowed-images"
    FREEZE = "freeze"


def refused_group(group: str) -> Message | None:
    """Why an API group can never be granted; None for the group of a custom resource."""
    if not _GROUP.fullmatch(group):
        return NOT_A(what="an API group", example="cert-manager.io; there are no wildcards and no versions")
    owner = owner_of(group)
    return WITHHELD_GROUP(owner=owner, why=why_withheld(group)) if owner is not None else None


def _custom_group(group: str) -> str:
    if (refused := refused_group(group)) is not None:
        raise ValueError(refused)
    return group


def _group_of_objects(group: str) -> str:
    return group if group == DEFINITIONS[0] else _custom_group(group)


CustomGroup = Annotated[str, AfterValidator(_custom_group)]
ResourceName = Annotated[
    str,
    *matching(
        r"^[a-z][-a-z0-9]*(/[a-z]+)?$",
        NOT_A(what="the plural name of a resource", example="certificates or widgets/scale; there are no wildcards"),
    ),
]
ObjectName = Annotated[
    str,
    *matching(
        r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$",
        NOT_A(
            what="the name of an object",
            example="letsencrypt, with lowercase letters, digits, dashes and dots; there are no wildcards",
        ),
    ),
]


class GrantedRule(Section):
    """Rights over the objects of a custom resource in the tenant's namespaces."""

    api_groups: tuple[CustomGroup, ...] = Field(
        min_length=1, description="API groups of `tenancy.grantableGroups`, e.g. `cert-manager.io`."
    )
    resources: tuple[ResourceName, ...] = Field(min_length=1, description="Plural names, e.g. `certificates`.")
    verbs: tuple[Verb, ...] = Field(min_length=1, description="Allowed verbs.")


class ClusterObject(Section):
    """Rights over one cluster-scoped object of a custom resource, or over one CustomResourceDefinition."""

    api_group: Annotated[str, AfterValidator(_group_of_objects)] = Field(
        description="API group of `tenancy.grantableGroups`, e.g. `cert-manager.io`, or `apiextensions.k8s.io`."
    )
    resource: ResourceName = Field(description="Plural name of a cluster-scoped resource, e.g. `clusterissuers`.")
    name: ObjectName = Field(description="Name of the object.")
    verbs: tuple[NamedVerb, ...] = Field(
        min_length=1, description="Allowed verbs; no `delete` for a CustomResourceDefinition."
    )

    @property
    def kinds_group(self) -> str:
        """The API group of the kind that this is about: that of a CustomResourceDefinition is in its name."""
        of_definition = (self.api_group, self.resource) == DEFINITIONS
        return self.name.partition(".")[2] if of_definition else self.api_group

    @model_validator(mode="after")
    def _own_definition(self) -> ClusterObject:
        if self.api_group != DEFINITIONS[0]:
            return self
        if self.resource != DEFINITIONS[1]:
            raise MisplacedValueError(
                ("apiGroup",), WITHHELD_GROUP(owner="Kubernetes", why=why_withheld(self.api_group)).of(self.api_group)
            )
        if (owner := owner_of(self.kinds_group)) is not None:
            raise MisplacedValueError(
                ("name",),
                Message(
                    "FT-TEN-407",
                    f"defines a kind of {owner}, and tenants cannot be granted these",
                    "name the definition of one of the tenant's own kinds, e.g. widgets.example.com",
                ).of(self.name),
            )
        if "delete" in self.verbs:
            raise MisplacedValueError(
                ("verbs", self.verbs.index("delete")),
                Message(
                    "FT-TEN-406",
                    "would delete every object of this kind, including other tenants' objects",
                    "leave it out for customresourcedefinitions",
                ).of("delete"),
            )
        return self


class PolicyException(Section):
    """An exception from one admission policy in the tenant's namespaces."""

    policy: ExceptedPolicy = Field(description="Name of the admission policy (docs/policies.md).")
    names: tuple[ObjectName, ...] = Field(
        (), description="Names of the excepted objects, also as prefixes before a `-`; all by default."
    )

    @property
    def entries(self) -> tuple[str, ...]:
        """The exception as the policy reads it: `<policy>` for all objects, or `<policy>/<name>` for each name."""
        return tuple(f"{self.policy}/{name}" for name in self.names) or (self.policy,)


class Grant(Section):
    """Additional rights of one tenant, beyond its role and the admission policies."""

    reason: Reason = Field(description="Reason, also for outputs and reports.")
    expires: LastDay | None = Field(None, description="Last day, in UTC; afterwards, the stack has an error.")
    rules: tuple[GrantedRule, ...] = Field(
        (), description="Rights over objects of custom resources in the tenant's namespaces."
    )
    cluster_objects: tuple[ClusterObject, ...] = Field(
        (), description="Rights over single cluster-scoped objects, by their names."
    )
    service_types: tuple[ServiceType, ...] = Field(
        (), description="Types of Services, in addition to `policies.serviceTypes`."
    )
    exceptions: tuple[PolicyException, ...] = Field((), description="Exceptions from admission policies.")

    @model_validator(mode="after")
    def _grants_something(self) -> Grant:
        if not (self.rules or self.cluster_objects or self.service_types or self.exceptions):
            raise ValueError(
                Message(
                    "FT-TEN-401",
                    "grants nothing",
                    "add one of these: rules, clusterObjects, serviceTypes, exceptions",
                )
            )
        return self


SERVICE_EXPOSURE = "service-exposure"
"""The policy that reads the granted types of Services."""


def grants_name(tenant: str) -> str:
    """The name of the Role and RoleBinding with a tenant's grants in each of its namespaces."""
    return f"{tenant}-grants"


def cluster_grants_name(tenant: str) -> str:
    """The name of the ClusterRole and ClusterRoleBinding with a tenant's grants."""
    return f"flux-tenancy-grants-{tenant}"


def planned_grants(tenant: TenantScope) -> Iterator[Planned]:
    """The roles with what is granted, and their bindings to the tenant's service account; nothing without grants."""
    grants, labels = tenant.config.grants, {TENANT_LABEL: tenant.name}
    roles: list[Manifest] = []
    if rules := [as_rule(rule) for grant in grants for rule in grant.rules]:
        for namespace in tenant.undelegated:
            metadata: Manifest = {"name": grants_name(tenant.name), "namespace": namespace, "labels": labels}
            roles.append(rbac_role("Role", metadata, rules))
    if objects := [each for grant in grants for each in grant.cluster_objects]:
        named = [rbac_rule(each.api_group, (each.resource,), each.verbs, (each.name,)) for each in objects]
        metadata = {"name": cluster_grants_name(tenant.name), "labels": labels}
        roles.append(rbac_role("ClusterRole", metadata, named))
    for each in roles:
        yield Planned(Stage.CONTENT, each)
        kind, metadata = each["kind"], each["metadata"]
        yield Planned(
            Stage.ACCESS, rbac_binding(f"{kind}Binding", metadata, metadata["name"], [tenant.subject], role_kind=kind)
        )


def relaxed_policies(grants: Iterable[Grant]) -> frozenset[str]:
    """The names of the policies that grants relax; the others need not read them."""
    found: set[str] = set()
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


def in_words(grant: Grant) -> Iterator[str]:
    """What a grant allows, one sentence part for each of its entries."""
    for rule in grant.rules:
        resources = ", ".join(f"{resource}.{group}" for group in rule.api_groups for resource in rule.resources)
        yield f"{', '.join(rule.verbs)} {resources} in its namespaces"
    for each in grant.cluster_objects:
        yield f"{', '.join(each.verbs)} {each.resource}.{each.api_group} {each.name}"
    if grant.service_types:
        yield f"Services of the type {' or '.join(grant.service_types)}"
    for exception in grant.exceptions:
        yield f"an exception from the policy {exception.policy} for {', '.join(exception.names) or 'all objects'}"
