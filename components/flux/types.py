"""Types of the `flux` section."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from components.config.types import SEMANTIC_VERSION, matching
from components.flux.config_wordings import (
    EGRESS_OPENS_ARTIFACTS,
    NOT_A_CONTROLLER_ARGUMENT,
    NOT_A_FLUX_VERSION,
    NOT_AN_EGRESS_HOST,
)


def _not_flux(value: str) -> str:
    """Refuse Flux's own services: every tenant could read the artifacts of all others."""
    host = value.rpartition(":")[0] or value
    own = ".source-controller.flux-system.svc.cluster.local"
    if own.endswith("." + host.strip(".")) or own.startswith("." + host.strip(".") + "."):
        raise ValueError(EGRESS_OPENS_ARTIFACTS())
    return value


FluxVersion = Annotated[str, *matching(SEMANTIC_VERSION, NOT_A_FLUX_VERSION)]
# With its value: an argument without one would take the next as its value, which may be one of the lockdown.
ControllerArgument = Annotated[
    str,
    *matching(r"^--[a-z][a-z0-9-]*=.*$", NOT_A_CONTROLLER_ARGUMENT),
]
EgressHost = Annotated[
    str,
    *matching(
        r"^(\.?[a-z0-9]([-a-z0-9.]*[a-z0-9])?\.?(:[0-9]{1,5})?|[0-9a-f.:]+/[0-9]{1,3}|\[[0-9a-f:]+\](:[0-9]{1,5})?)$",
        NOT_AN_EGRESS_HOST,
    ),
    AfterValidator(_not_flux),
]
