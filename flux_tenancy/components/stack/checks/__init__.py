"""Checks across sections: values that are valid by themselves, but do not go together.

A check gets a stack whose sections are all valid. Put here what the configuration alone can decide; what needs
the cluster is in `cluster`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from flux_tenancy.components.config.errors import UNKNOWN, KeyPath
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.stack.config import StackConfig

NOT_INSTALLED = Wording(
    "FT-CFG-670", "is {value}, but the stack has no section {section}", "add the section, or set {instead}"
)
NEEDS_ENGINE = Wording(
    "FT-CFG-671", "needs {what}, but policies.engine is {engine}", "set policies.engine to both, or remove it"
)
Finding = tuple[KeyPath, Message]
"""The path of a value and what is wrong with it."""
Check = Callable[[StackConfig], Iterable[Finding]]
"""Compares values of several sections."""


_Place = TypeVar("_Place")
_Thing = TypeVar("_Thing")


def of_each(
    things: Callable[[StackConfig], Mapping[_Place, _Thing]],
    *checks: Callable[[_Place, _Thing, StackConfig], Iterable[Finding]],
) -> tuple[Check, ...]:
    """Checks of one tenant, source or decryption at a time, as checks of the stack.

    Args:
        things: what is checked, by name or path.
        checks: what is wrong with one of them, given its name or path, itself and the stack.
    """

    def of_all(check: Callable[[_Place, _Thing, StackConfig], Iterable[Finding]]) -> Check:
        return lambda config: (
            finding for place, thing in things(config).items() for finding in check(place, thing, config)
        )

    return tuple(map(of_all, checks))


def not_a_tenant(config: StackConfig, name: str) -> Message:
    """That the stack has no tenant of this name."""
    return UNKNOWN(what="a tenant of this stack", choices=", ".join(config.tenants) or "none").of(name)
