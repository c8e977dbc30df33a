"""Git sources: their objects in the cluster, their keys and webhooks at GitHub, and the rotation of those keys.

Put here what depends on where a repository is and who may read it.
"""

from flux_tenancy.components.git.config import GitConfig, GitHubConfig, GitSource, Sources
from flux_tenancy.components.git.source import GitAccess, git_access, planned_source

__all__ = ["GitAccess", "GitConfig", "GitHubConfig", "GitSource", "Sources", "git_access", "planned_source"]
