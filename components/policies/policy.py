"""What a policy is: data that says which requests it looks at and what must hold for them.

The expressions are CEL, in the common part of what the API server and Kyverno 1.19 offer: `object`, `oldObject`,
`request`, `namespaceObject`, `variables`, and Kubernetes' own libraries.

Source: https://kubernetes.io/docs/reference/using-api/cel/ and https://kyverno.io/docs/policy-types/validating-policy/
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from components.cluster.manifests import Manifest
from components.policies.names import PolicyName
from components.tenant.role import MANAGED

CREATE_UPDATE = ("CREATE", "UPDATE")
# What an object is about, for `Policy.reads`.
SPEC = "{object}.?spec"
ANY_CHANGE = ("CREATE", "UPDATE", "DELETE")


class Subject(StrEnum):
    """Whose requests a policy looks at."""

    CONTENT = "content"
    """Everybody's that create an object or change what the policy reads of it (`Policy.reads`); what a controller does
    to its metadata never is refused, and an object that is older than the policy is left alone."""
    TENANTS = "tenants"
    """Those of users who hold the right to the same change in some namespaces only; whoever holds it in the whole
    cluster is the platform: its admins and Pulumi, Flux, Kubernetes' and Kyverno's own controllers."""


@dataclass(frozen=True)
class Resources:
    """Resources of an API group, as in a `resourceRules` entry of an admission policy."""

    group: str
    names: tuple[str, ...]
    operations: tuple[str, ...] = CREATE_UPDATE

    def rule(self, scope: str) -> Manifest:
        """The entry for objects of namespaces (`Namespaced`) or of the cluster (`Cluster`).

        A selector of namespaces holds off nothing that has no namespace, so each rule says it.
        """
        return {
            "scope": scope,
            "apiGroups": [self.group],
            "apiVersions": ["*"],
            "resources": list(self.names),
            "operations": list(self.operations),
        }


def tenant_resources(operations: tuple[str, ...] = CREATE_UPDATE) -> tuple[Resources, ...]:
    """All that the tenant role may write, without subresources."""
    without_subresources = ((group, tuple(name for name in names if "/" not in name)) for group, names in MANAGED)
    return tuple(Resources(group, names, operations) for group, names in without_subresources if names)


@dataclass(frozen=True)
class Validation:
    """What must hold, and what to tell whoever asked for something else.

    Attributes:
        expression: CEL, true where the request is in order.
        message: CEL, a text that names the field, what is allowed and what to do.
    """

    expression: str
    message: str


@dataclass(frozen=True)
class Policy:
    """One policy.

    Attributes:
        name: its name.
        refuses: what it is against, as half a sentence for people.
        threats: the attempts that it stops, by their numbers in `components.policies.threats`.
        subject: whose requests it looks at.
        resources: which objects.
        validations: what must hold for them; the first that does not is the one that is told.
        conditions: CEL by name; a request for which one is false is none of this policy's.
        variables: CEL by name, in order; each may use those before it.
        settings: keys of the configuration that it depends on; those of a tenant's file begin with `tenant: `.
        reads: CEL for the part of an object that a CONTENT policy is about; `{object}` stands for the object.
        tenant_namespaces_only: whether it looks into tenants' namespaces alone; false only for what has no namespace.
    """

    name: PolicyName
    refuses: str
    threats: tuple[int, ...]
    subject: Subject
    resources: tuple[Resources, ...]
    validations: tuple[Validation, ...]
    conditions: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    reads: str = SPEC
    tenant_namespaces_only: bool = True
