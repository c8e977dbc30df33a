"""The Git sources of a stack and what they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from flux_tenancy.components.git.config import GitHubConfig, GitSource
from flux_tenancy.components.vocabulary.names import PLATFORM_META

WEBHOOK_ROOT = "/hook/"
"""The beginning of the paths of all Receivers."""


@dataclass(frozen=True)
class Sources:
    """The Git sources of a stack.

    Attributes:
        by_name: each source by the prefix of its objects' names: a tenant's name, that of the platform's own sync, or
            `tenant.source` for a tenant's further ones.
        homes: the namespace of each source's objects, by the same name.
        github: GitHub, where deploy keys and webhooks are registered.
        known_hosts: host keys of Git hosts, as lines of an SSH `known_hosts` file.
        webhook_url: where Git hosts reach this cluster's Receivers, or None.
    """

    by_name: Mapping[str, GitSource] = field(default_factory=dict)
    homes: Mapping[str, str] = field(default_factory=dict)
    github: GitHubConfig = field(default_factory=GitHubConfig)
    known_hosts: Sequence[str] = ()
    webhook_url: str | None = None

    @property
    def github_owners(self) -> set[str]:
        """The organizations and users whose repositories something is registered in."""
        return {source.github.owner for source in self.by_name.values() if source.github is not None}


def github_key_path(name: str) -> str:
    """The key in the stack file that names a source's repository at GitHub, e.g. `tenants.shop.source.github`."""
    if name == PLATFORM_META.name:
        return "flux.sync.source.github"
    tenant, _, source = name.partition(".")
    return f"tenants.{tenant}.sources.{source}.github" if source else f"tenants.{tenant}.source.github"


def object_name(name: str) -> str:
    """The name of a source's GitRepository."""
    return name.rpartition(".")[2]


def repository_in(url: str) -> str:
    """The repository in a URL, in lower case and independent of host and scheme."""
    return urlsplit(url).path.strip("/").removesuffix(".git").lower()
