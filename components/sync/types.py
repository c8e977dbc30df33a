"""Constrained types of what a Kustomization builds."""

from __future__ import annotations

from typing import Annotated

from components.config.types import checked_by, matching
from components.sync.config_wordings import (
    ABSOLUTE_COMPONENT,
    NOT_A_DIGEST,
    NOT_A_JSON_POINTER,
    NOT_A_VARIABLE,
    NOT_CEL,
    NOT_PART_OF_A_NAME,
)


def _component(value: str) -> str:
    if not value or value.startswith("/"):
        raise ValueError(ABSOLUTE_COMPONENT())
    return value


def _expression(value: str) -> str:
    # A library of 14 MB, which most stacks do without.
    from components.sync.cel import syntax_error

    if reason := syntax_error(value):
        raise ValueError(NOT_CEL(reason=reason))
    return value


# Source: varsubRegex in kustomize/kustomize_varsub.go of github.com/fluxcd/pkg
VariableName = Annotated[str, *matching(r"^[_A-Za-z][_A-Za-z0-9]*$", NOT_A_VARIABLE)]
# Source: RFC 6901
JsonPointer = Annotated[str, *matching(r"^(/([^/~]|~[01])*)+$", NOT_A_JSON_POINTER)]
ImageDigest = Annotated[str, *matching(r"^sha256:[0-9a-f]{64}$", NOT_A_DIGEST)]
NamePart = Annotated[str, *matching(r"^[-a-z0-9.]{1,200}$", NOT_PART_OF_A_NAME)]
ComponentPath = Annotated[str, *checked_by(_component, "a folder, relative to path, e.g. ../components/tls")]
CelExpression = Annotated[str, *checked_by(_expression, "a CEL expression, e.g. status.phase == 'Running'")]
