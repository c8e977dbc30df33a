"""A policy as data: which requests it checks, and what must hold for them.

The expressions are CEL in the common subset of the API server and Kyverno 1.19: `object`, `oldObject`,
`request`, `namespaceObject`, `variables`, and Kubernetes' own libraries.

Source: https://kubernetes.io/docs/reference/using-api/cel/ and https://kyverno.io/docs/policy-types/validating-policy/
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from flux_tenancy.components.policies.request import PLATFORM_VERBS
from flux_tenancy.components.tenant.role import MANAGED
from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest

if TYPE_CHECKING:
    from flux_tenancy.components.policies.names import PolicyName

CREATE_UPDATE = ("CREATE", "UPDATE")
# The usual `Policy.reads`.
SPEC = "{object}.?spec"
# What the role `cluster-admin` in a namespace allows in addition to the tenant role.
_OF_OTHER_ROLES = (
    ("", ("podtemplates", "replicationcontrollers")),
    ("apps", ("controllerrevisions",)),
    (RBAC, ("rolebindings", "roles")),
)


class Need(StrEnum):
    """What a stack must have for a policy to be about anything."""

    DEVELOPERS = "developers"
    LANES = "lanes"
    FREEZES = "freezes"


class Requester(StrEnum):
    """Whose requests a policy checks."""

    CONTENT = "content"
    """Everybody's, if they create an object or change the part that the policy reads (`Policy.reads`). Changes of
    metadata are never refused, and objects that are older than the policy are left alone."""
    TENANTS = "tenants"
    """Those of users who have the right to the same change only in some namespaces. Users with this right in the whole
    cluster belong to the platform: its admins, Pulumi, and the controllers of Flux, Kubernetes and Kyverno."""
    PATCHERS = "patchers"
    """Those of users who belong to a tenant and may not update the object, so have only the right to patch it."""


@dataclass(frozen=True)
class Resources:
    """Resources of an API group, as in a `resourceRules` entry of an admission policy."""

    group: str
    names: tuple[str, ...]
    operations: tuple[str, ...] = CREATE_UPDATE

    def rule(self, scope: str) -> Manifest:
        """The entry for namespaced (`Namespaced`) or cluster-scoped (`Cluster`) objects.

        A namespace selector does not exclude cluster-scoped objects, so each rule states the scope.
        """
        return {
            "scope": scope,
            "apiGroups": [self.group],
            "apiVersions": ["*"],
            "resources": list(self.names),
            "operations": list(self.operations),
        }


def tenant_resources(operations: tuple[str, ...]) -> tuple[Resources, ...]:
    """All that the tenant role may write, without subresources."""
    without_subresources = ((group, tuple(name for name in names if "/" not in name)) for group, names in MANAGED)
    return tuple(Resources(group, names, operations) for group, names in without_subresources if names)


def writable_resources() -> tuple[Resources, ...]:
    """All that a tenant may write whatever its role: up to `cluster-admin` in its namespaces, without subresources."""
    return (*tenant_resources(CREATE_UPDATE), *(Resources(group, names) for group, names in _OF_OTHER_ROLES))


@dataclass(frozen=True)
class Validation:
    """A condition, and the message if it fails.

    Attributes:
        expression: CEL, true if the request is allowed.
        message: CEL for a message that names the field, what is allowed and what to do.
        exempts_platform_objects: whether it ignores objects with the tenant label if the user has the right to the same
            change in the whole cluster. The label alone would not do: another policy keeps it from tenants.
    """

    expression: str
    message: str
    exempts_platform_objects: bool = False


@dataclass(frozen=True)
class Policy:
    """One policy.

    Attributes:
        refuses: what it refuses, as a noun phrase.
        threats: numbers of the attempts that it stops, see docs/policies.md.
        resources: the objects that it checks.
        validations: what must hold; the message is that of the first that fails.
        conditions: CEL by name; the policy ignores a request if one of them is false.
        variables: CEL by name, in order; each may use the earlier ones.
        settings: keys of the configuration that it depends on; keys of a tenant's file begin with `tenant: `.
        reads: CEL for the part of an object that a CONTENT policy checks; `{object}` stands for the object.
        tenant_namespaces_only: whether it checks only tenants' namespaces; false only for cluster-scoped objects.
        platform_verbs: CEL for the verbs that only the platform has in the whole cluster.
        needs: what a stack must have; without, the policy is in force only with a mode of its own.
        native_only: whether Kubernetes enforces it with each engine, before any webhook of Kyverno is called.
        reads_clock: whether it reads the current time, which only Kubernetes' own policies can (`rendering.NOW`).
    """

    name: PolicyName
    refuses: str
    threats: tuple[int, ...]
    subject: Requester
    resources: tuple[Resources, ...]
    validations: tuple[Validation, ...]
    conditions: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    reads: str = SPEC
    tenant_namespaces_only: bool = True
    platform_verbs: str = PLATFORM_VERBS
    needs: Need | None = None
    native_only: bool = False
    reads_clock: bool = False
