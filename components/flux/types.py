"""Types of the `flux` section."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from components.config.messages import Message
from components.config.types import SEMANTIC_VERSION, matching


def _not_flux(value: str) -> str:
    """Refuse Flux's own services: every tenant could read the artifacts of all others."""
    host = value.rpartition(":")[0] or value
    own = ".source-controller.flux-system.svc.cluster.local"
    if own.endswith("." + host.strip(".")) or own.startswith("." + host.strip(".") + "."):
        raise ValueError(
            Message(
                "FT-CFG-304",
                "would open the artifacts of all tenants to each of them",
                "list single hosts outside of Flux",
            )
        )
    return value


FluxVersion = Annotated[
    str, *matching(SEMANTIC_VERSION, Message("FT-CFG-300", "is not a Flux release", "write it like 2.9.5"))
]
# With its value: an argument without one would take the next as its value, which may be one of the lockdown.
ControllerArgument = Annotated[
    str,
    *matching(
        r"^--[a-z][a-z0-9-]*=.*$",
        Message("FT-CFG-302", "is not a controller argument with its value", "write it like --concurrent=8"),
    ),
]
EgressHost = Annotated[
    str,
    *matching(
        r"^(\.?[a-z0-9]([-a-z0-9.]*[a-z0-9])?\.?(:[0-9]{1,5})?|[0-9a-f.:]+/[0-9]{1,3}|\[[0-9a-f:]+\](:[0-9]{1,5})?)$",
        Message(
            "FT-CFG-303",
            "is not a host as in a URL, a domain or a network",
            "write it like files.example.com, .example.com or 192.0.2.0/24",
        ),
    ),
    AfterValidator(_not_flux),
]
