"""CapsuleInstall: a pinned chart, its values, who may administrate tenants, and whether it really serves.

Put here what depends on the Capsule release; what Capsule does for one tenant belongs in `tenant`.
"""

from flux_tenancy.components.installs.capsule.component import CapsuleInstall, CapsuleInstallArgs
from flux_tenancy.components.installs.capsule.config import CapsuleConfig

__all__ = ["CapsuleConfig", "CapsuleInstall", "CapsuleInstallArgs"]
