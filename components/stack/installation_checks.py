"""What a mode needs installed, and what is installed for nothing."""

from __future__ import annotations

from collections.abc import Iterator

from components.stack.config import StackConfig
from components.stack.config_wordings import CAPSULE_NOT_INSTALLED, CAPSULE_NOT_USED
from components.stack.partial import Check, Finding


def _capsule_not_installed(config: StackConfig) -> Iterator[Finding]:
    if config.makes_namespaces and config.capsule is None:
        yield ("tenancy", "mode"), CAPSULE_NOT_INSTALLED()


def _capsule_not_used(config: StackConfig) -> Iterator[Finding]:
    """Capsule in another mode: while it is down, nobody could change a namespace, and it would do nothing else."""
    if config.capsule is not None and not config.makes_namespaces:
        yield ("capsule",), CAPSULE_NOT_USED(mode=config.tenancy.mode.value)


INSTALLATION_CHECKS: tuple[Check, ...] = (_capsule_not_installed, _capsule_not_used)
