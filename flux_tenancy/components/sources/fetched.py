"""Whether the further sources of tenants have been fetched with the credentials that they now refer to.

Until then, the previous credentials must stay valid. It is the proof by which previous deploy keys are removed
(`components.git.fetch_status`); logins at registries and object stores are created and revoked by their owners.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import pulumi
from pulumi.output import UNKNOWN

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.components.git.fetch_status import not_fetched
from flux_tenancy.components.sources.config import ExternalArtifactSource, HelmRepositorySource
from flux_tenancy.components.vocabulary.manifests import Find, Manifest

if TYPE_CHECKING:
    from flux_tenancy.components.sources.objects import AnySource
    from flux_tenancy.components.sync.status import Progress

FETCHED = "yes"
"""What is said of a source that has been fetched."""


def has_status(source: AnySource) -> bool:
    """Whether Flux reports on a source: not on one of charts in a registry, which it reads with each chart."""
    return not isinstance(source, ExternalArtifactSource) and not (
        isinstance(source, HelmRepositorySource) and source.is_oci
    )


def fetched(
    sources: Mapping[str, Manifest], progress: pulumi.Output[dict[str, Progress]], find: Find
) -> pulumi.Output[dict[str, str]]:
    """By name, `yes` for each source that has been fetched as it is now, or why it is not proven.

    In a preview the value is unknown: it depends on what the update finds, and a saved plan would fix it.

    Args:
        sources: the sources' objects by name.
        progress: the progress of each sync, after which the cluster is read.
        find: looks up an object of the cluster.
    """

    async def look(_: Any) -> dict[str, str]:
        return {name: await asyncio.to_thread(_state, manifest, find) for name, manifest in sources.items()}

    if not sources:
        return pulumi.Output.from_input({})
    if pulumi.runtime.is_dry_run():
        return pulumi.Output.from_input(cast(dict[str, str], UNKNOWN))
    return progress.apply(look)


def _state(manifest: Manifest, find: Find) -> str:
    try:
        return not_fetched(find(manifest)) or FETCHED
    except ClusterUnavailable as error:
        return str(error)
