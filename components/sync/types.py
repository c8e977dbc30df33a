"""Constrained types of what a Kustomization builds."""

from __future__ import annotations

from typing import Annotated

from components.config.messages import Message
from components.config.types import checked_by, matching


def _component(value: str) -> str:
    if not value or value.startswith("/"):
        raise ValueError(
            Message("FT-SYN-304", "is not relative to path", "write it like ../components/tls, inside the same source")
        )
    return value


def _expression(value: str) -> str:
    # A library of 14 MB, which most stacks do without.
    from components.sync.cel import syntax_error

    if reason := syntax_error(value):
        raise ValueError(
            Message("FT-SYN-314", f"is not a CEL expression ({reason})", "write it like status.phase == 'Running'")
        )
    return value


# Source: varsubRegex in kustomize/kustomize_varsub.go of github.com/fluxcd/pkg
VariableName = Annotated[
    str,
    *matching(
        r"^[_A-Za-z][_A-Za-z0-9]*$",
        Message(
            "FT-SYN-300",
            "is not the name of a variable",
            "use letters, digits and underscores, and begin with no digit",
        ),
    ),
]
# Source: RFC 6901
JsonPointer = Annotated[
    str,
    *matching(r"^(/([^/~]|~[01])*)+$", Message("FT-SYN-301", "is not a JSON pointer", "write it like /spec/replicas")),
]
ImageDigest = Annotated[
    str,
    *matching(
        r"^sha256:[0-9a-f]{64}$",
        Message("FT-SYN-302", "is not the digest of an image", "write it like sha256:<64 hexadecimal digits>"),
    ),
]
NamePart = Annotated[
    str,
    *matching(
        r"^[-a-z0-9.]{1,200}$",
        Message("FT-SYN-303", "is not part of a name", "use lowercase letters, digits, dashes and dots, 200 at most"),
    ),
]
ComponentPath = Annotated[str, *checked_by(_component, "a folder, relative to path, e.g. ../components/tls")]
CelExpression = Annotated[str, *checked_by(_expression, "a CEL expression, e.g. status.phase == 'Running'")]
