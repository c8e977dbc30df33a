"""Compute resources of a controller of Flux or Kyverno."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import Quantity

Quantities = dict[Literal["cpu", "memory", "ephemeral-storage"], Quantity]


class Resources(Section):
    """Compute resources of one controller, as in a container's `resources`."""

    requests: Quantities = Field(
        default_factory=dict,
        description="Reserved resources, e.g. `cpu: 100m`; resources that are not listed keep their defaults.",
    )
    limits: Quantities = Field(
        default_factory=dict,
        description="Maximum resources, e.g. `memory: 1Gi`; resources that are not listed keep their defaults.",
    )
