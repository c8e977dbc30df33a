"""The environment of the multi-tenant profile: which variable, in which controllers, and why.

It reaches what a controller has no flag for, such as the programs that it starts.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.flux.controllers import Controller

CLOSED_PROXY = "http://127.0.0.1:9"
"""A proxy of which the port, that of the discard protocol, is closed in every pod."""


@dataclass(frozen=True)
class LockdownVariable:
    """One environment variable of the multi-tenant profile.

    Attributes:
        name: the variable.
        value: what the profile sets it to, in place of any value of the release.
        controllers: those that get it.
        hole: what a tenant could do without it.
    """

    name: str
    value: str
    controllers: frozenset[Controller]
    hole: str


LOCKDOWN_ENVIRONMENT = (
    # kustomize starts git for a remote base before it looks whether remote bases are allowed. With a list of allowed
    # protocols that names none, git refuses before it connects to anything or starts a helper.
    # Source: https://git-scm.com/docs/git#Documentation/git.txt-GITALLOWPROTOCOL
    LockdownVariable(
        "GIT_ALLOW_PROTOCOL",
        "none",
        frozenset({Controller.KUSTOMIZE}),
        "make the controller's own git connect to anything, or run with options that a remote base hands it",
    ),
    # Nobody listens at the port, so whatever is not exempt (components/flux/egress.py) is refused at once.
    *(
        LockdownVariable(
            name,
            CLOSED_PROXY,
            frozenset({Controller.KUSTOMIZE}),
            "fetch files of a build from other tenants' artifacts, inner services or a cloud's metadata, or hold up "
            "all builds with a host that never answers",
        )
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    ),
)


def variables_for(controller: Controller) -> tuple[LockdownVariable, ...]:
    """The rows of the table for a controller."""
    return tuple(variable for variable in LOCKDOWN_ENVIRONMENT if controller in variable.controllers)
