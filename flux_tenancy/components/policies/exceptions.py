"""CEL for the exceptions from policies that a tenant has been granted.

A policy reads grants only if a tenant of the stack has such a grant, so all other stacks get the policy without them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import text
from flux_tenancy.components.policies.request import NAME, WITH_GRANTS, listed
from flux_tenancy.components.tenant.annotations import EXCEPTIONS
from flux_tenancy.components.tenant.grants import ExceptedPolicy

if TYPE_CHECKING:
    from flux_tenancy.components.policies.policy import Policy


def may_be_excepted(policy: Policy) -> bool:
    """Whether tenants may have exceptions from a policy."""
    return policy.name.value in [each.value for each in ExceptedPolicy]


def with_exceptions(policy: Policy) -> Policy:
    """The policy for a stack in which a tenant has an exception from it (`PolicyException.entries`)."""
    whole, named = text(policy.name), f"({text(f'{policy.name}/')} + {NAME} + '-')"
    with_grants = WITH_GRANTS
    if any("DELETE" in each.operations for each in policy.resources):
        # Then there is no object.
        with_grants = f"(request.operation == 'DELETE' || {WITH_GRANTS})"
    entries = f"{listed(EXCEPTIONS)}.exists(entry, entry == {whole} || {named}.startsWith(entry + '-'))"
    return replace(
        policy,
        variables={"excepted": f"{with_grants} && {entries}", **policy.variables},
        validations=tuple(
            replace(each, expression=f"variables.excepted || ({each.expression})") for each in policy.validations
        ),
    )
