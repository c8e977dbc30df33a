"""Types of the `flux` section. Each refuses with a sentence that says what to write instead."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from components.config.types import SEMANTIC_VERSION, matching


def _not_flux(value: str) -> str:
    """Flux's own services stay out: artifacts of all tenants would be open to each."""
    host = value.rpartition(":")[0] or value
    own = ".source-controller.flux-system.svc.cluster.local"
    if own.endswith("." + host.strip(".")) or own.startswith("." + host.strip(".") + "."):
        raise ValueError("would open the artifacts of all tenants to each of them; name single hosts outside of Flux")
    return value


FluxVersion = Annotated[str, *matching(SEMANTIC_VERSION, "a release of Flux; write it like 2.9.5")]
# With its value, since an argument without one would swallow the next, which may belong to the lockdown.
ControllerArgument = Annotated[
    str,
    *matching(r"^--[a-z][a-z0-9-]*=.*$", "a controller argument with its value; write it like --concurrent=8"),
]
EgressHost = Annotated[
    str,
    *matching(
        r"^(\.?[a-z0-9]([-a-z0-9.]*[a-z0-9])?\.?(:[0-9]{1,5})?|[0-9a-f.:]+/[0-9]{1,3}|\[[0-9a-f:]+\](:[0-9]{1,5})?)$",
        "a host, as URLs name it, a domain or a network; write it like files.example.com, .example.com or 192.0.2.0/24",
    ),
    AfterValidator(_not_flux),
]
