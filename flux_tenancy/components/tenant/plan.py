"""Everything that a tenant has, planned by its features: to add an object, plan it in its feature.

Source: `flux create tenant` of Flux's reference

Source of the label of lanes: https://fluxcd.io/flux/installation/configuration/sharding/#assign-resources-to-shards
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from flux_tenancy.components.installs.flux.controller_rights import LANED_RESOURCES
from flux_tenancy.components.plan import Planned, Stage, of_stage
from flux_tenancy.components.sync.notifications import planned_notification
from flux_tenancy.components.tenant.capsule.objects import planned_capsule
from flux_tenancy.components.tenant.grants import planned_grants
from flux_tenancy.components.tenant.identity import planned_delegation, planned_identity, planned_rights
from flux_tenancy.components.tenant.limits import planned_limits
from flux_tenancy.components.tenant.namespaces import planned_namespaces
from flux_tenancy.components.tenant.people import planned_people
from flux_tenancy.components.tenant.releases import planned_releases
from flux_tenancy.components.tenant.syncs import planned_sources, planned_syncs
from flux_tenancy.components.vocabulary.names import HELM_RELEASE, KUSTOMIZATION, LANE_LABEL

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.scope import TenantScope
    from flux_tenancy.components.vocabulary.manifests import Manifest


def in_lane(planned: Planned, lane: str) -> Planned:
    """What is planned, with the label of a lane if the controllers of lanes reconcile it.

    Args:
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


def planned_notifications(tenant: TenantScope) -> Iterator[Planned]:
    """All notifications about a tenant, in each of its namespaces: an Alert gets the events of its own only."""
    for place in tenant.places:
        for key, each in {**tenant.tenancy.notifications, **tenant.config.notifications}.items():
            yield from planned_notification(place, key, each, tenant.config.repository_url, tenant.provider_api)


FEATURES: tuple[Callable[[TenantScope], Iterable[Planned]], ...] = (
    planned_namespaces,
    planned_people,
    planned_identity,
    lambda tenant: planned_rights(tenant.config.namespace_names, tenant.rights),
    planned_sources,
    planned_grants,
    planned_delegation,
    planned_notifications,
    planned_syncs,
    planned_releases,
)
"""What a tenant has, feature by feature; the order within a stage is that of registration, and nothing else."""

_OF_LEAVING = (Stage.CAPSULE, Stage.NAMESPACES, Stage.LIMITS)


def tenant_plan(tenant: TenantScope) -> list[Planned]:
    """All objects of a tenant; of one that is leaving, its namespaces and limits, which stay as they are."""
    others = [each for feature in FEATURES for each in feature(tenant)]
    planned = [*others, *planned_limits(tenant, others), *planned_capsule(tenant, others)]
    planned = [in_lane(each, tenant.lane) for each in planned]
    return of_stage(planned, *_OF_LEAVING) if tenant.config.is_leaving else planned
