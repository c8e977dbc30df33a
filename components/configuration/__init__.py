"""What a stack says, read once: typed models, the overlay of tenants, and errors that name file and path."""

from components.configuration.errors import ConfigurationError, Problem
from components.configuration.kyverno import KyvernoConfig
from components.configuration.loading import load_stack
from components.configuration.models import (
    ClusterConfig,
    FluxConfig,
    PlatformSyncConfig,
    StackConfig,
    TenancyConfig,
    TenantConfig,
)
from components.configuration.sources import GitConfig, GitHubConfig, GitSource

__all__ = [
    "ClusterConfig",
    "ConfigurationError",
    "FluxConfig",
    "GitConfig",
    "GitHubConfig",
    "GitSource",
    "KyvernoConfig",
    "PlatformSyncConfig",
    "Problem",
    "StackConfig",
    "TenancyConfig",
    "TenantConfig",
    "load_stack",
]
