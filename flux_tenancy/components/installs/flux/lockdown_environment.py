"""The environment variables of the multi-tenant profile: for which controllers, and why.

They cover what no flag does, such as the programs that a controller starts.
"""

from __future__ import annotations

from dataclasses import dataclass

from flux_tenancy.components.vocabulary.names import RECONCILERS, Controller

CLOSED_PROXY = "http://127.0.0.1:9"
"""A proxy address whose port (of the discard protocol) is closed in every pod."""
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
_PLAIN_PROXY_VARIABLES = ("HTTP_PROXY", "http_proxy")
POD_ADDRESS = "POD_IP"
"""The variable with the address of the controller's pod, which its listeners are bound to."""


@dataclass(frozen=True)
class LockdownVariable:
    """One environment variable of the multi-tenant profile.

    Attributes:
        name: the variable.
        value: what the profile sets it to, in place of any value of the release.
        controllers: the controllers that get it.
        hole: what a tenant could do without it.
    """

    name: str
    value: str
    controllers: frozenset[Controller]
    hole: str


LOCKDOWN_ENVIRONMENT = (
    # kustomize starts git for a remote base before it checks whether remote bases are allowed. If the list of allowed
    # protocols names none of git's, git fails before it connects to anything or starts a helper.
    # Source: https://git-scm.com/docs/git#Documentation/git.txt-GITALLOWPROTOCOL
    LockdownVariable(
        "GIT_ALLOW_PROTOCOL",
        "none",
        frozenset({Controller.KUSTOMIZE}),
        "make the controller's own git connect to anything, or run it with options from a remote base",
    ),
    # Nothing listens at the port, so requests to hosts that are not exempt (`installs.flux.egress`) fail immediately.
    *(
        LockdownVariable(
            name,
            CLOSED_PROXY,
            frozenset(RECONCILERS),
            "include files from other tenants' artifacts, internal services or a cloud's metadata in a build or in the "
            "schema of a chart's values, or block all builds with a host that never answers",
        )
        for name in PROXY_VARIABLES
    ),
    # What these fetch over TLS goes on as before: a server inside the cluster has no certificate that they trust.
    *(
        LockdownVariable(
            name,
            CLOSED_PROXY,
            frozenset(Controller) - {*RECONCILERS},
            "reach other tenants' artifacts, internal services or a cloud's metadata by what a source, an index or a "
            "redirect names",
        )
        for name in _PLAIN_PROXY_VARIABLES
    ),
)


def variables_for(controller: Controller) -> tuple[LockdownVariable, ...]:
    """The variables of a controller."""
    return tuple(variable for variable in LOCKDOWN_ENVIRONMENT if controller in variable.controllers)
