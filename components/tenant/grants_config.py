"""The `grants` of a tenant: what it alone may do in addition, each with a reason and for a time.

A grant adds rights to the tenant's service account, or relaxes a policy in the tenant's namespaces.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from components.allowlists.types import ServiceType
from components.config.decisions import LastDay, Reason
from components.config.errors import MisplacedValueError
from components.config.messages import Message, Wording
from components.config.section import Section
from components.config.types import matching
from components.tenant.withheld import owner_of

WITHHELD_GROUP = Wording(
    "FT-TEN-402",
    "belongs to {owner}, and what the tenant role does not allow of it is withheld on purpose",
    "name the API group of a custom resource, e.g. cert-manager.io",
)

DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")
"""API group and resource of CustomResourceDefinitions."""
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
# Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources
NAMED_VERBS = ("delete", "get", "patch", "update")
"""The verbs that a rule with `resourceNames` can limit to one object."""
# A DNS subdomain, or the empty string for the core group.
_GROUP = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?")


class ExceptedPolicy(StrEnum):
    """A policy that may have exceptions for a tenant.

    Each of them guards the tenant itself, or asks for a habit of its Pods. Policies that protect the platform or other
    tenants have none, and neither have those with a list for each tenant (`TenantPolicies`).
    """

    VERIFIED_SOURCES = "verified-sources"
    NODE_PLACEMENT = "node-placement"
    DISRUPTION_BUDGETS = "disruption-budgets"
    ALLOWED_IMAGES = "allowed-images"


def refused_group(group: str) -> Message | None:
    """Why an API group can never be granted; None for the group of a custom resource."""
    if not _GROUP.fullmatch(group):
        return Message(
            "FT-TEN-412", "is not an API group", "write it like cert-manager.io; there are no wildcards and no versions"
        )
    owner = owner_of(group)
    return WITHHELD_GROUP(owner=owner) if owner is not None else None


def _custom_group(group: str) -> str:
    if (refused := refused_group(group)) is not None:
        raise ValueError(refused)
    return group


def _group_of_objects(group: str) -> str:
    return group if group == DEFINITIONS[0] else _custom_group(group)


def _verb(verb: str) -> str:
    if verb not in VERBS:
        raise ValueError(Message("FT-TEN-404", "is not a verb that can be granted", f"use these: {', '.join(VERBS)}"))
    return verb


def _named_verb(verb: str) -> str:
    if verb not in NAMED_VERBS:
        raise ValueError(
            Message(
                "FT-TEN-405",
                "cannot be limited to one object by its name",
                f"use these: {', '.join(NAMED_VERBS)}; for all objects, use rules",
            )
        )
    return verb


def _excepted(policy: str) -> str:
    if policy not in list(ExceptedPolicy):
        raise ValueError(
            Message(
                "FT-TEN-409",
                "has no exceptions: it protects the platform or other tenants, or has a setting of its own for a "
                "tenant",
                f"choose one of {', '.join(ExceptedPolicy)} (docs/grants.md)",
            )
        )
    return policy


def _choice(*values: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "enum": list(values), "description": " or ".join(values)})


CustomGroup = Annotated[str, AfterValidator(_custom_group)]
ResourceName = Annotated[
    str,
    *matching(
        r"^[a-z][-a-z0-9]*(/[a-z]+)?$",
        Message(
            "FT-TEN-403",
            "is not the plural name of a resource",
            "name each resource, e.g. certificates or widgets/scale; there are no wildcards",
        ),
    ),
]
ObjectName = Annotated[
    str,
    *matching(
        r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$",
        Message(
            "FT-TEN-408",
            "is not the name of an object",
            "use lowercase letters, digits, '-' and '.'; there are no wildcards",
        ),
    ),
]
Verb = Annotated[str, AfterValidator(_verb), _choice(*VERBS)]
NamedVerb = Annotated[str, AfterValidator(_named_verb), _choice(*NAMED_VERBS)]


class GrantedRule(Section):
    """Rights over the objects of a custom resource in the tenant's namespaces."""

    api_groups: tuple[CustomGroup, ...] = Field(
        min_length=1, description="API groups of `tenancy.grantableGroups`, e.g. `cert-manager.io`."
    )
    resources: tuple[ResourceName, ...] = Field(min_length=1, description="Plural names, e.g. `certificates`.")
    verbs: tuple[Verb, ...] = Field(min_length=1, description="What is allowed.")


class ClusterObject(Section):
    """Rights over one cluster-scoped object of a custom resource, or over one CustomResourceDefinition."""

    api_group: Annotated[str, AfterValidator(_group_of_objects)] = Field(
        description="API group of `tenancy.grantableGroups`, e.g. `cert-manager.io`, or `apiextensions.k8s.io`."
    )
    resource: ResourceName = Field(description="Plural name of a cluster-scoped resource, e.g. `clusterissuers`.")
    name: ObjectName = Field(description="Name of the object.")
    verbs: tuple[NamedVerb, ...] = Field(
        min_length=1, description="What is allowed; no `delete` for a CustomResourceDefinition."
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
            raise MisplacedValueError(("apiGroup",), WITHHELD_GROUP(owner="Kubernetes").of(self.api_group))
        if (owner := owner_of(self.kinds_group)) is not None:
            raise MisplacedValueError(
                ("name",),
                Message(
                    "FT-TEN-407",
                    f"is the definition of a kind of {owner}, which is withheld on purpose",
                    "name the definition of one of the tenant's own kinds, e.g. widgets.example.com",
                ).of(self.name),
            )
        if "delete" in self.verbs:
            raise MisplacedValueError(
                ("verbs", self.verbs.index("delete")),
                Message(
                    "FT-TEN-406",
                    "would delete every object of this kind, those of other tenants included",
                    "leave it out for customresourcedefinitions",
                ).of("delete"),
            )
        return self


class PolicyException(Section):
    """An exception from one admission policy in the tenant's namespaces."""

    policy: Annotated[str, AfterValidator(_excepted), _choice(*ExceptedPolicy)] = Field(
        description="Name of the policy (docs/policies.md)."
    )
    names: tuple[ObjectName, ...] = Field(
        (),
        description="Names of the excepted objects. A name also covers those that begin with it and a `-`, such as the "
        "Pods of a Deployment. Defaults to all objects.",
    )

    @property
    def entries(self) -> tuple[str, ...]:
        """The exception as the policy reads it: `<policy>` for all objects, or `<policy>/<name>` for each name."""
        return tuple(f"{self.policy}/{name}" for name in self.names) or (self.policy,)


class Grant(Section):
    """Something that one tenant may do in addition to what its role and the policies allow."""

    reason: Reason = Field(description="Why, for whoever reads the file, the outputs or the reports.")
    expires: LastDay | None = Field(
        None,
        description="The last day, in UTC, on which the grant holds, e.g. `2027-03-31`. Afterwards, the stack has an "
        "error until the grant is renewed or removed.",
    )
    rules: tuple[GrantedRule, ...] = Field(
        (), description="Rights over objects of custom resources in the tenant's namespaces."
    )
    cluster_objects: tuple[ClusterObject, ...] = Field(
        (), description="Rights over single cluster-scoped objects, by their names."
    )
    service_types: tuple[ServiceType, ...] = Field(
        (), description="Types of Services, in addition to `policies.serviceTypes`."
    )
    exceptions: tuple[PolicyException, ...] = Field((), description="Exceptions from policies.")

    @model_validator(mode="after")
    def _grants_something(self) -> Grant:
        if not (self.rules or self.cluster_objects or self.service_types or self.exceptions):
            raise ValueError(
                Message(
                    "FT-TEN-401",
                    "grants nothing",
                    f"add one of these: {'rules, clusterObjects, serviceTypes, exceptions'}",
                )
            )
        return self
