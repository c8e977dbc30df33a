"""What a stack says, read once: typed models, the overlay of tenants, and errors that name file and path."""

from components.configuration.errors import ConfigurationError, Problem
from components.configuration.loading import load_stack
from components.configuration.models import (
    ClusterConfig,
    FluxConfig,
    StackConfig,
    TenancyConfig,
    TenantConfig,
)

__all__ = [
    "ClusterConfig",
    "ConfigurationError",
    "FluxConfig",
    "Problem",
    "StackConfig",
    "TenancyConfig",
    "TenantConfig",
    "load_stack",
]
