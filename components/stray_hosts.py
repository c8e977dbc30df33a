"""Services whose names no tenant can guess, which a killed update has made: the next one gives them other names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pulumi
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from components.flux.platform_objects import FLUX_NAMESPACE
from components.half_made import carries_marks, names_cluster
from components.kubernetes_api import ClusterFacts, ClusterUnavailable, ask, explaining, items
from components.recorded import Recorded

_SERVICES = f"/api/v1/namespaces/{FLUX_NAMESPACE}/services"
# What FluxInstall calls them.
_NAME = re.compile(r"artifacts-[0-9a-f]{32}")


def read_stray_hosts(api: client.ApiClient, cluster: ClusterFacts, recorded: Recorded) -> list[str]:
    """Ask the cluster for such Services, unless the state has a controller: these come after all that they need.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    deployments = recorded.names("kubernetes:apps/v1:Deployment")
    if not names_cluster(recorded, cluster.uid) or any(name.startswith(f"{FLUX_NAMESPACE}/") for name in deployments):
        return []
    with explaining(api):
        return stray_hosts((each["metadata"] for each in items(api, _SERVICES)), recorded)


def stray_hosts(services: Iterable[Mapping[str, Any]], recorded: Recorded) -> list[str]:
    """The Services that the program has applied and the state does not have.

    Args:
        services: metadata of those of Flux's namespace.
        recorded: what earlier updates of this stack have left.
    """
    known = {outputs.get("metadata", {}).get("name") for outputs in recorded.outputs("kubernetes:core/v1:Service")}
    return [
        metadata["name"]
        for metadata in services
        if _NAME.fullmatch(metadata["name"]) and metadata["name"] not in known and carries_marks(dict(metadata))
    ]


def remove_hosts(api: client.ApiClient, names: Iterable[str]) -> None:
    """Remove them; a preview removes nothing.

    Raises:
        pulumi.RunError: the cluster does not do it.
    """
    if pulumi.runtime.is_dry_run():
        return
    try:
        with explaining(api):
            for name in names:
                answer = ask(api, "DELETE", f"{_SERVICES}/{name}")
                if answer.status >= 300 and answer.status != 404:
                    raise ApiException(http_resp=answer)
    except ClusterUnavailable as error:
        raise pulumi.RunError(str(error)) from None
