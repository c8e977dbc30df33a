"""Git sources: their objects in the cluster, their keys and webhooks at GitHub, and the rotation of those keys.

Put here what depends on where a repository is and who may read it.
"""

from flux_tenancy.components.git.config import GitConfig, GitHubConfig, GitSource
from flux_tenancy.components.git.source import GitAccess, git_access, planned_source
from flux_tenancy.components.git.sources import Sources

__all__ = ["GitAccess", "GitConfig", "GitHubConfig", "GitSource", "Sources", "git_access", "planned_source"]
