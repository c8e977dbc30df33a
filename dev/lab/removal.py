"""Deletes single clusters of a lab, so that their next `up` starts from scratch."""

from __future__ import annotations

from collections.abc import Sequence

from dev.lab.cluster import Cluster, clusters
from dev.lab.errors import LabError
from dev.lab.git_host import GitHost
from dev.lab.project import provide_project
from dev.lab.pulumi import LabPulumi
from dev.lab.settings import Settings


def remove_clusters(settings: Settings, names: Sequence[str]) -> None:
    """Delete clusters, Pulumi's state of their stacks, and what the stacks registered at the Git host.

    Stack files, the Git host's repositories and other clusters are kept.

    Args:
        names: names of the stacks.

    Raises:
        LabError: there is no such cluster, or the Git host or Pulumi fails; the same call can be repeated.
    """
    known = {cluster.name: cluster for cluster in clusters(settings)}
    for name in names:
        if not name:
            raise LabError("STACK is empty", "name a stack, or omit STACK to delete the whole lab")
        if name not in known:
            raise LabError(
                f"there is no cluster {name} in {settings.state / 'clusters'}; clusters: {', '.join(known) or 'none'}",
                "use one of these clusters",
            )
    for name in dict.fromkeys(names):
        _remove(settings, known[name])


def _remove(settings: Settings, cluster: Cluster) -> None:
    # The Git host first: if it is not running, nothing has changed. The cluster's folder last: as long as it exists, an
    # interrupted removal can be repeated.
    GitHost(settings).withdraw(cluster.name, cluster.webhook_url)
    cluster.stop()
    LabPulumi(settings).remove(cluster.name, provide_project(settings))
    cluster.delete()
