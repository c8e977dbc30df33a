"""FluxInstall and PlatformSync: a pinned release, locked down, and the repository of the platform itself.

Put here what depends on the Flux release, its controllers and their flags.
"""

from flux_tenancy.components.installs.flux.component import FluxInstall, FluxInstallArgs
from flux_tenancy.components.installs.flux.config import FluxConfig, PlatformSyncConfig
from flux_tenancy.components.installs.flux.platform_sync import PlatformSync, PlatformSyncArgs

__all__ = ["FluxConfig", "FluxInstall", "FluxInstallArgs", "PlatformSync", "PlatformSyncArgs", "PlatformSyncConfig"]
