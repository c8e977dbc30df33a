"""The lane of a tenant: the label of its Flux objects, and of what Flux applies for it.

Source: https://fluxcd.io/flux/installation/configuration/sharding/#assign-resources-to-shards
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flux_tenancy.components.installs.flux.controller_rights import LANED_RESOURCES
from flux_tenancy.components.vocabulary.names import HELM_RELEASE, KUSTOMIZATION, LANE_LABEL

if TYPE_CHECKING:
    from flux_tenancy.components.plan.planned import Planned
    from flux_tenancy.components.vocabulary.manifests import Manifest


def in_lane(planned: Planned, lane: str) -> Planned:
    """What is planned, with the label of a lane if the controllers of lanes reconcile it.

    Args:
        planned: an object of a tenant.
        lane: the tenant's lane; empty if the stack has none.
    """
    group, _, _ = planned.manifest.get("apiVersion", "").rpartition("/")
    if not lane or group not in LANED_RESOURCES:
        return planned
    label = {LANE_LABEL: lane}
    manifest = planned.manifest | {"metadata": _labelled(planned.manifest["metadata"], label)}
    if planned.kind in (KUSTOMIZATION, HELM_RELEASE):
        spec = manifest["spec"]
        spec = spec | {"commonMetadata": _labelled(spec.get("commonMetadata", {}), label)}
        if (chart := spec.get("chart")) is not None:
            # helm-controller creates a HelmChart from it.
            spec |= {"chart": chart | {"metadata": _labelled(chart.get("metadata", {}), label)}}
        manifest = manifest | {"spec": spec}
    return replace(planned, manifest=manifest)


def _labelled(metadata: Manifest, label: dict[str, str]) -> Manifest:
    return metadata | {"labels": metadata.get("labels", {}) | label}
