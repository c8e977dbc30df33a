"""KyvernoInstall: a pinned chart, its values, its webhooks, and whether they really serve.

Put here what depends on the Kyverno release; policies are rendered for it elsewhere.
"""

from components.installs.kyverno.component import KyvernoInstall, KyvernoInstallArgs
from components.installs.kyverno.config import KyvernoConfig

__all__ = ["KyvernoConfig", "KyvernoInstall", "KyvernoInstallArgs"]
