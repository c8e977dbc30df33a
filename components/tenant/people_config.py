"""People of a tenant, and what the stack lets them do."""

from __future__ import annotations

from pydantic import Field

from components.cluster.subjects import Person
from components.config.section import Section


class TenantPeople(Section):
    """Who has access to the namespaces of a tenant, besides Flux."""

    viewers: tuple[Person, ...] = Field(
        (), description="Users and groups that may read everything in its namespaces except Secrets and logs."
    )
    developers: tuple[Person, ...] = Field(
        (),
        description="Users and groups that may also read logs, ask Flux to reconcile, and suspend and resume the "
        "tenant's own Flux objects.",
    )


class TenancyPeople(Section):
    """What people of all tenants may do."""

    exec: bool = Field(
        False,
        description="Let developers run commands in Pods (`kubectl exec`) and forward ports to them, and so read every "
        "Secret that a Pod has.",
    )
