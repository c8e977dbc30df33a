"""Compute resources of a controller of Flux or Kyverno."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from components.config.section import Section
from components.config.types import Quantity

Quantities = dict[Literal["cpu", "memory", "ephemeral-storage"], Quantity]


class Resources(Section):
    """Compute resources of one controller, as in a container's `resources`."""

    requests: Quantities = Field(
        default_factory=dict,
        description="What is reserved for it, e.g. `cpu: 100m`; others are those of the release.",
    )
    limits: Quantities = Field(
        default_factory=dict,
        description="What it may use at most, e.g. `memory: 1Gi`; others are those of the release.",
    )
