"""KyvernoInstall: a pinned chart, its values, its webhooks, and whether they really serve.

Put here what depends on the Kyverno release; policies are rendered for it elsewhere.
"""

from flux_tenancy.components.installs.kyverno.component import KyvernoInstall, KyvernoInstallArgs
from flux_tenancy.components.installs.kyverno.config import KyvernoConfig

__all__ = ["KyvernoConfig", "KyvernoInstall", "KyvernoInstallArgs"]
