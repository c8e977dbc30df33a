"""The Git sources of a stack, by the name that each of their objects has."""

from __future__ import annotations

from components.configuration import GitSource, StackConfig
from components.flux.platform_objects import PLATFORM


def sources_by_name(config: StackConfig) -> dict[str, GitSource]:
    """The platform's own source and those of the tenants; no tenant can have the platform's name."""
    own = {PLATFORM.name: config.flux.sync.source} if config.flux.sync is not None else {}
    return own | {name: tenant.source for name, tenant in config.tenants.items()}
