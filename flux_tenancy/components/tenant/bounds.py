"""Bounds of the policies that may differ per tenant."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from flux_tenancy.components.config.allowances import SeenOtherwise
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import Duration, seconds

_SHORTEST_TOKEN_LIFETIME = "1h"


def _token_lifetime(duration: str) -> str:
    if seconds(duration) < seconds(_SHORTEST_TOKEN_LIFETIME):
        raise ValueError(
            Message(
                "FT-CFG-501",
                f"is shorter than {_SHORTEST_TOKEN_LIFETIME}, which Kubernetes requests for every pod",
                f"set {_SHORTEST_TOKEN_LIFETIME} or more",
            )
        )
    return duration


TokenLifetime = Annotated[Duration, AfterValidator(_token_lifetime)]
_OwnDuration = Annotated[Duration | None, SeenOtherwise()]


class TenantBounds(Section):
    """Bounds of the policies for one tenant; those that are not set are those of the stack."""

    minimum_interval: _OwnDuration = Field(None, description="Instead of `policies.minimumInterval`.")
    maximum_timeout: _OwnDuration = Field(None, description="Instead of `policies.maximumTimeout`.")
    maximum_release_size: Annotated[int | None, SeenOtherwise()] = Field(
        None, ge=1, le=1024, description="Instead of `policies.maximumReleaseSize`, in KiB."
    )
    maximum_termination_grace_period: _OwnDuration = Field(
        None, description="Instead of `policies.maximumTerminationGracePeriod`."
    )
    maximum_token_lifetime: Annotated[TokenLifetime | None, SeenOtherwise()] = Field(
        None, description="Instead of `policies.maximumTokenLifetime`."
    )
    blocking_disruption_budgets: Annotated[bool | None, SeenOtherwise()] = Field(
        None, description="Instead of `policies.blockingDisruptionBudgets`."
    )
