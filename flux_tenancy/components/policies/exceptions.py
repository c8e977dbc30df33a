"""CEL for what a tenant has been granted: exceptions from policies, and types of Services.

A policy reads grants only if a tenant of the stack has such a grant, so all other stacks get the policy without them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import text
from flux_tenancy.components.policies.request import NAME, listed
from flux_tenancy.components.tenant.annotations import EXCEPTIONS, SERVICE_TYPES, WITHOUT_GRANTS
from flux_tenancy.components.tenant.grants import ExceptedPolicy

if TYPE_CHECKING:
    from flux_tenancy.components.policies.policy import Policy

# A dry run with this annotation tells what would be refused without the grants; nobody gains anything by it.
_WITH_GRANTS = f"!({text(WITHOUT_GRANTS)} in object.metadata.?annotations.orValue({{}}))"

OR_GRANTED_TYPE = " || variables.type in variables.granted"
"""The end of the CEL that checks the type of a Service, with the variable `granted` for `GRANTED_TYPES`."""
GRANTED_TYPES = f"({_WITH_GRANTS} ? {listed(SERVICE_TYPES)} : [])"
"""The types of Services that the tenant has been granted."""


def may_be_excepted(policy: Policy) -> bool:
    """Whether tenants may have exceptions from a policy."""
    return policy.name.value in [each.value for each in ExceptedPolicy]


def with_exceptions(policy: Policy) -> Policy:
    """The policy for a stack in which a tenant has an exception from it (`PolicyException.entries`)."""
    whole, named = text(policy.name), f"({text(f'{policy.name}/')} + {NAME} + '-')"
    entries = f"{listed(EXCEPTIONS)}.exists(entry, entry == {whole} || {named}.startsWith(entry + '-'))"
    return replace(
        policy,
        variables={"excepted": f"{_WITH_GRANTS} && {entries}", **policy.variables},
        validations=tuple(
            replace(each, expression=f"variables.excepted || ({each.expression})") for each in policy.validations
        ),
    )
