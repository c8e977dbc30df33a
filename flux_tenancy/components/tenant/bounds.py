"""Bounds of the policies that may differ per tenant."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from flux_tenancy.components.config.allowances import SeenOtherwise
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import Duration

_OwnDuration = Annotated[Duration | None, SeenOtherwise()]


class TenantBounds(Section):
    """Bounds of the policies for one tenant; those that are not set are those of the stack."""

    minimum_interval: _OwnDuration = Field(None, description="Instead of `policies.minimumInterval`.")
    maximum_timeout: _OwnDuration = Field(None, description="Instead of `policies.maximumTimeout`.")
    maximum_release_size: Annotated[int | None, SeenOtherwise()] = Field(
        None, ge=1, le=1024, description="Instead of `policies.maximumReleaseSize`, in KiB."
    )
    blocking_disruption_budgets: Annotated[bool | None, SeenOtherwise()] = Field(
        None, description="Instead of `policies.blockingDisruptionBudgets`."
    )
