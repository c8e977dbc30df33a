"""Names of artifact servers that tenants may have read, and that an update replaces.

The error about an artifact that cannot be fetched has its URL. So the name of a server is in a status and in an Event
when a Kustomization or HelmRelease was reconciled while the server did not answer for three minutes.

Source: `FetchWithContext` in http/fetch/archive_fetcher.go of github.com/fluxcd/pkg
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pulumi

from flux_tenancy.components.cluster.client import explaining, items
from flux_tenancy.components.cluster.component import if_readable
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.installs.flux.egress import NAME_RESOURCES
from flux_tenancy.components.vocabulary.names import HELM_API, KUSTOMIZE_API

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.engine.state import State
    from flux_tenancy.components.vocabulary.manifests import Manifest

REPLACED = "flux-tenancy/artifact-hosts"
"""The annotation of a name that was replaced, and of the pods that were restarted with the new one."""
_APPLIERS = (f"/apis/{KUSTOMIZE_API}/kustomizations", f"/apis/{HELM_API}/helmreleases")
# Of both controllers, when they cannot fetch an artifact.
_REASON = "reason=ArtifactFailed"


@dataclass(frozen=True)
class SeenNames:
    """Names of artifact servers that are replaced, by the resources that have them.

    Attributes:
        seen: those that this update replaces.
        replaced: those that an earlier update has replaced.
    """

    seen: frozenset[str] = frozenset()
    replaced: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        return self.seen | self.replaced

    def warnings(self) -> list[Message]:
        """What the user should know about an update that replaces names."""
        if not self.seen:
            return []
        return [
            Message(
                "FT-CLU-118",
                "tenants may know the random name of an artifact server, which is in a status or an Event of a "
                "Kustomization or HelmRelease",
                "this update replaces the name, and restarts kustomize-controller and helm-controller; find out why "
                "source-controller did not answer for three minutes",
            )
        ]


def replaced_names(state: State) -> frozenset[str]:
    """The resources whose names an earlier update has replaced."""
    found = _recorded(state).items()
    return frozenset(resource for resource, each in found if REPLACED in (each.get("annotations") or {}))


def read_seen_names(api: client.ApiClient, state: State) -> frozenset[str]:
    """The resources whose names are in a status or an Event. Raises ClusterUnavailable."""
    names = {str(each["name"]): resource for resource, each in _recorded(state).items()}
    if not names:
        return frozenset()
    with explaining(api):
        said = [each.get("status") for path in _APPLIERS for each in items(api, path)]
    said += if_readable(partial(_messages, api), [])
    text = json.dumps(said)
    return frozenset(resource for name, resource in names.items() if name in text)


def _messages(api: client.ApiClient) -> list[Any]:
    with explaining(api):
        return [each.get("message") for each in items(api, "/api/v1/events", fieldSelector=_REASON)]


def restarted(deployment: Manifest, entries: Sequence[pulumi.Output[str]]) -> Manifest:
    """A controller whose pods are replaced when one of these names is; as it is if there are none.

    Pods read the names when they start.
    """
    if not entries:
        return deployment
    digest = pulumi.Output.all(*entries).apply(lambda each: hashlib.sha256("".join(each).encode()).hexdigest()[:16])
    template = deployment["spec"]["template"]
    metadata = template["metadata"]
    marked = metadata | {"annotations": metadata.get("annotations", {}) | {REPLACED: digest}}
    return deployment | {"spec": deployment["spec"] | {"template": template | {"metadata": marked}}}


def _recorded(state: State) -> dict[str, Mapping[str, Any]]:
    """The metadata of the Services that have such names, by resource."""
    return {
        resource: outputs["metadata"]
        for (type_, resource), outputs in state.resources.items()
        if type_ == "kubernetes:core/v1:Service" and resource.startswith(NAME_RESOURCES)
    }
