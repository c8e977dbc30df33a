"""FluxInstall and PlatformSync: a pinned release, locked down, and the repository of the platform itself.

Put here what depends on the Flux release, its controllers and their flags.
"""

from components.flux.component import FluxInstall, FluxInstallArgs
from components.flux.config import FluxConfig, PlatformSyncConfig
from components.flux.platform_sync import PlatformSync, PlatformSyncArgs

__all__ = ["FluxConfig", "FluxInstall", "FluxInstallArgs", "PlatformSync", "PlatformSyncArgs", "PlatformSyncConfig"]
