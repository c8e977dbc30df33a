"""What a mode needs installed, and what is installed for nothing."""

from __future__ import annotations

from collections.abc import Iterator

from components.config.messages import Message
from components.stack.config import StackConfig
from components.stack.partial import Check, Finding


def _capsule_not_installed(config: StackConfig) -> Iterator[Finding]:
    if config.makes_namespaces and config.capsule is None:
        yield (
            ("tenancy", "mode"),
            Message(
                "FT-CFG-803",
                "is capsule, but the stack has no section capsule",
                "add the section, which says what to install, or set the mode to namespaces",
            ),
        )


def _capsule_not_used(config: StackConfig) -> Iterator[Finding]:
    """Capsule in another mode: while it is down, nobody could change a namespace, and it would do nothing else."""
    if config.capsule is not None and not config.makes_namespaces:
        yield (
            ("capsule",),
            Message(
                "FT-CFG-804",
                f"installs Capsule, but tenancy.mode is {config.tenancy.mode.value}",
                "set tenancy.mode to capsule, or remove the section",
            ),
        )


INSTALLATION_CHECKS: tuple[Check, ...] = (_capsule_not_installed, _capsule_not_used)
