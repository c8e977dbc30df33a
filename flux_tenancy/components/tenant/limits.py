"""The limits of a tenant in each of its namespaces, as plain manifests: quotas, container limits, network policy.

They keep a tenant from filling the cluster's store, from starving other tenants and Flux's controllers, and from
reaching other tenants' pods. The tenant can read these objects and cannot change them. They have the tenant's name, so
that a namespace that is relabeled for another tenant gets other objects: Kyverno 1.19 may revert an object that it has
just changed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import Field

from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import (
    ContainerResource,
    CountedResource,
    Quantity,
    QuotaResource,
)
from flux_tenancy.components.plan import Planned, Stage
from flux_tenancy.components.tenant import identity
from flux_tenancy.components.tenant.network import TenantNetwork, network_openings
from flux_tenancy.components.tenant.role import (
    flux_resources,
)
from flux_tenancy.components.vocabulary.manifests import DISK, RBAC, Manifest, parse_quantity
from flux_tenancy.components.vocabulary.names import (
    BUCKET,
    GIT_REPOSITORY,
    HELM_REPOSITORY,
    OCI_REPOSITORY,
    SOURCE_RESOURCES,
)

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.scope import TenantScope
    from flux_tenancy.components.vocabulary.names import ObjectMeta


# 110 pods of a node reserve 7 GiB. A volume of its own is for more than the maximum.
_DISK_OF_A_CONTAINER = {"requests": "64Mi", "limits": "4Gi", "maximum": "16Gi"}
_Bounds = dict[ContainerResource, Quantity | None]


class ContainerLimits(Section):
    """The LimitRange of a tenant's namespaces. Source: https://kubernetes.io/docs/concepts/policy/limit-range/"""

    requests: _Bounds = Field(default_factory=dict, description="Default requests of a container, e.g. `cpu: 50m`.")
    limits: _Bounds = Field(default_factory=dict, description="Default limits of a container, e.g. `memory: 256Mi`.")
    maximum: _Bounds = Field(default_factory=dict, description="The highest limit of a container, e.g. `memory: 4Gi`.")
    minimum: _Bounds = Field(default_factory=dict, description="The lowest request of a container, e.g. `cpu: 10m`.")

    @property
    def whole(self) -> dict[str, dict[str, str]]:
        """The resources of each bound, from the lowest to the highest, with those of the disk that are not set."""
        whole = {name: dict(getattr(self, name)) for name in ("minimum", "requests", "limits", "maximum")}
        given = [(name, value) for name, each in whole.items() if (value := each.get(DISK)) is not None]
        names = list(whole)
        for name, default in _DISK_OF_A_CONTAINER.items():
            below = (value for other, value in given if names.index(other) < names.index(name))
            above = (value for other, value in given if names.index(other) > names.index(name))
            least = max((default, *below), key=parse_quantity)
            whole[name].setdefault(DISK, min((least, *above), key=parse_quantity))
        return {name: {key: value for key, value in each.items() if value is not None} for name, each in whole.items()}


class TenantLimits(Section):
    """Limits for each namespace of a tenant."""

    flux_objects: int = Field(
        100, ge=1, description="Maximum number of objects of each of Flux's kinds, and of the three keys below."
    )
    # kustomize-controller builds one at a time, so this many can be queued ahead of another tenant's: docs/tenants.md.
    kustomizations: int = Field(5, ge=1, description="Maximum number of Kustomizations.")
    # Each may occupy a worker until its timeout, and a release that is in progress keeps its chart in memory.
    helm_releases: int = Field(16, ge=1, description="Maximum number of HelmReleases.")
    # Each may occupy a worker until its timeout, also one whose repository is slow to read or to filter.
    sources: int = Field(
        16,
        ge=1,
        description="Maximum number of sources of each kind, and of HelmCharts, if higher than `helmReleases`.",
    )
    quota: dict[QuotaResource, Quantity] = Field(
        default_factory=dict,
        description=(
            "`hard` of a ResourceQuota, e.g. `requests.cpu: 4`, `pods: 50`; Pods have to set what a quota covers."
        ),
    )
    objects: dict[CountedResource, Annotated[int, Field(ge=0)] | None] = Field(
        default_factory=dict,
        description=(
            "Maximum numbers by resource, e.g. `secrets: 2000`, `jobs.batch: 50`; null for no limit. "
            "Defaults: docs/tenants.md#limits."
        ),
    )
    containers: ContainerLimits = Field(
        default_factory=ContainerLimits,
        description=(
            "Default requests and limits of containers, and their bounds; by default, only of "
            "`ephemeral-storage` (docs/sizing.md#disks-of-nodes). Null for none."
        ),
    )

    def over(self, defaults: TenantLimits) -> TenantLimits:
        """These limits, and the defaults where these set none."""
        return _over(defaults, self)

    @property
    def most_kustomizations(self) -> int:
        """How many Kustomizations a tenant may have in a namespace."""
        return min(self.kustomizations, self.flux_objects)

    @property
    def most_helm_releases(self) -> int:
        """How many HelmReleases a tenant may have in a namespace."""
        return min(self.helm_releases, self.flux_objects)

    @property
    def most_sources(self) -> int:
        """How many sources of each kind a tenant may have in a namespace."""
        return min(self.sources, self.flux_objects)

    @property
    def most_charts(self) -> int:
        """How many HelmCharts there may be in a namespace: helm-controller creates one for each HelmRelease."""
        return max(self.most_sources, self.most_helm_releases)


_Limits = TypeVar("_Limits", TenantLimits, ContainerLimits)


def _over(defaults: _Limits, own: _Limits) -> _Limits:
    changed = {}
    for name in own.model_fields_set:
        default, value = getattr(defaults, name), getattr(own, name)
        if isinstance(value, ContainerLimits):
            value = _over(default, value)
        changed[name] = {**default, **value} if isinstance(value, dict) else value
    return defaults.model_copy(update=changed)


class TenantStore(Section):
    """How much tenants may store in the cluster's etcd (docs/sizing.md#what-tenants-can-store)."""

    total: Quantity | None = Field(
        None, description="How much all tenants together may store, e.g. `1Gi`; warns if their limits allow more."
    )
    namespace: Quantity | None = Field(
        None,
        description=(
            "How much a namespace may store, e.g. `128Mi`: lowers the default numbers of "
            "`limits.objects` and `limits.fluxObjects` in proportion."
        ),
    )


_FLUX_OBJECTS = "flux-objects"
_ROLES, _BINDINGS = f"count/roles.{RBAC}", f"count/rolebindings.{RBAC}"
# Kubernetes creates these in each namespace.
_OF_KUBERNETES = {"count/configmaps": 1, "count/serviceaccounts": 1}
ROOM_AT_HOME = Counter(_OF_KUBERNETES | {_BINDINGS: 1}) + Counter(identity.ROOM_AT_HOME)
"""What the platform's objects take in the home of a tenant that the platform's own repository provisions."""

OBJECT_COUNTS: Mapping[str, int] = {
    "configmaps": 500,
    "persistentvolumeclaims": 100,
    "pods": 500,
    "podtemplates": 100,
    "replicationcontrollers": 100,
    # Helm keeps five revisions of a release as Secrets.
    "secrets": 1000,
    "serviceaccounts": 200,
    "services": 200,
    "services.loadbalancers": 10,
    "controllerrevisions.apps": 2000,
    "daemonsets.apps": 50,
    "deployments.apps": 200,
    # A Deployment keeps ten old ReplicaSets.
    "replicasets.apps": 2500,
    "statefulsets.apps": 100,
    "horizontalpodautoscalers.autoscaling": 200,
    "cronjobs.batch": 100,
    "jobs.batch": 1000,
    "leases.coordination.k8s.io": 200,
    "ingresses.networking.k8s.io": 200,
    "poddisruptionbudgets.policy": 200,
    f"rolebindings.{RBAC}": 200,
    f"roles.{RBAC}": 200,
}
"""How many objects of Kubernetes' own kinds a tenant may have in a namespace by default.

Every kind that a tenant can create is included: objects that no quota counts could fill the cluster's store. The
numbers are far above what an ordinary application needs.
"""
# Resource names of quotas that do not name a kind, so they get no prefix `count/`.
_NOT_COUNTED_BY_KIND = ("services.loadbalancers",)

_NETWORK_POLICIES, _MOST_NETWORK_POLICIES = "networkpolicies.networking.k8s.io", 50
# The tenant's `default-deny` and its openings.
_ROOM_FOR_POLICIES = {f"count/{_NETWORK_POLICIES}": 2}

COUNT = "count/"
"""The prefix of a quota's resource name for a number of objects."""
_RELEASES = "count/helmreleases.helm.toolkit.fluxcd.io"
_CHARTS = "count/helmcharts.source.toolkit.fluxcd.io"
_SOURCES = [
    f"count/{SOURCE_RESOURCES[kind]}.source.toolkit.fluxcd.io"
    for kind in (GIT_REPOSITORY, OCI_REPOSITORY, HELM_REPOSITORY, BUCKET)
]
SYNCS = "count/kustomizations.kustomize.toolkit.fluxcd.io"
"""A quota's resource name for Kustomizations."""


def planned_limits(tenant: TenantScope, others: Iterable[Planned]) -> Iterator[Planned]:
    """The limits of each of the tenant's namespaces, and the openings in its network policy."""
    rooms = room_of(others)
    for place in tenant.places:
        room = rooms.get(place.namespace, _OF_KUBERNETES)
        own = tenant.config.limits_in(place.namespace, tenant.tenancy.limits)
        limits = limiting_objects(place, own, tenant.tenancy.network_policy, room)
        for each in (*limits, *network_openings(place, tenant.config.network)):
            yield Planned(Stage.LIMITS, each, room={})


def room_of(planned: Iterable[Planned]) -> dict[str, Counter[str]]:
    """What the platform's and Kubernetes' own objects take of quotas, so that the tenant has the rest to itself.

    Returns:
        By namespace, the number of objects by a quota's resource names.
    """
    rooms: dict[str, Counter[str]] = defaultdict(lambda: Counter(_OF_KUBERNETES))
    for each in planned:
        if each.namespace:
            rooms[each.namespace].update(each.room_taken)
    return rooms


def room_where_made(planned: Iterable[Planned], home: str) -> Counter[str]:
    """The same in a namespace that a tenant makes itself: Capsule binds there what is bound in its home."""
    room = room_of(planned)[home]
    # With the bindings of the reader of the namespace, of the tenant's role, and of the deleter.
    return Counter({**_OF_KUBERNETES, _ROLES: room[_ROLES], _BINDINGS: room[_BINDINGS] + 3})


def limiting_objects(
    meta: ObjectMeta, limits: TenantLimits, network: TenantNetwork, room: Mapping[str, int]
) -> list[Manifest]:
    """All limits of one namespace.

    Args:
        meta: the namespace, with the name of its tenant and the label that all of the tenant's namespaces have.
        room: counted objects that are not the tenant's (`room_of`), added to its limits.
    """
    room = {**room, **_ROOM_FOR_POLICIES}
    objects = [_quota(meta, _FLUX_OBJECTS, _with_room(_flux_counts(limits), room))]
    if counts := _object_counts(limits):
        objects.append(_quota(meta, "objects", _with_room(counts, room)))
    if limits.quota:
        objects.append(_quota(meta, "quota", dict(limits.quota)))
    if any((bounds := limits.containers.whole).values()):
        objects.append(_container_limits(meta, bounds))
    if network is TenantNetwork.DEFAULT_DENY:
        objects.append(_default_deny(meta))
    return objects


def with_network_policies(limits: TenantLimits) -> TenantLimits:
    """These limits with a number of NetworkPolicies, for tenants that may write them."""
    objects = {_NETWORK_POLICIES: _MOST_NETWORK_POLICIES, **limits.objects}
    return limits.model_copy(update={"objects": objects})


def all_counts(limits: TenantLimits) -> dict[str, str]:
    """`hard` of all quotas together, without room for the platform's objects."""
    return _with_room({**_flux_counts(limits), **_object_counts(limits)}, {}) | dict(limits.quota)


def _flux_counts(limits: TenantLimits) -> dict[str, int]:
    """The limits for Flux's kinds, each object of which costs its controllers time.

    Source: https://kubernetes.io/docs/concepts/policy/resource-quotas/#quota-on-object-count
    """
    counts = {f"{COUNT}{resource}": limits.flux_objects for resource in flux_resources()}
    counts |= {SYNCS: limits.most_kustomizations, _RELEASES: limits.most_helm_releases}
    return counts | dict.fromkeys(_SOURCES, limits.most_sources) | {_CHARTS: limits.most_charts}


def _object_counts(limits: TenantLimits) -> dict[str, int]:
    """The limits for Kubernetes' own kinds; those in `quota` replace defaults."""
    own = {name.removeprefix(COUNT) for name in limits.quota}
    defaults = {name: count for name, count in OBJECT_COUNTS.items() if name not in own}
    counts = defaults | {name.removeprefix(COUNT): count for name, count in limits.objects.items()}
    return {
        name if name in _NOT_COUNTED_BY_KIND else f"{COUNT}{name}": count
        for name, count in counts.items()
        if count is not None
    }


def _with_room(counts: Mapping[str, int], room: Mapping[str, int]) -> dict[str, str]:
    return {resource: _quantity(count + room.get(resource, 0)) for resource, count in counts.items()}


def _quantity(count: int) -> str:
    """A number in the API server's canonical form, so that a comparison shows no difference.

    Source: CanonicalizeBytes in staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go of Kubernetes 1.36
    """
    for suffix, factor in (("M", 1_000_000), ("k", 1_000)):
        if count and count % factor == 0:
            return f"{count // factor}{suffix}"
    return str(count)


_FIELDS = {"defaultRequest": "requests", "default": "limits", "max": "maximum", "min": "minimum"}


def _container_limits(meta: ObjectMeta, bounds: Mapping[str, Mapping[str, str]]) -> Manifest:
    """Source: https://kubernetes.io/docs/concepts/policy/limit-range/"""
    found = {field: dict(bounds[name]) for field, name in _FIELDS.items() if bounds[name]}
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": meta.metadata(f"{meta.name}-containers"),
        "spec": {"limits": [{"type": "Container", **found}]},
    }


def _default_deny(meta: ObjectMeta) -> Manifest:
    """Pods may connect to the tenant's own namespaces and to DNS only, and not to Flux's artifacts.

    Source: https://kubernetes.io/docs/concepts/services-networking/network-policies/
    """
    own = {"namespaceSelector": {"matchLabels": dict(meta.labels)}}
    dns = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": meta.metadata(f"{meta.name}-default-deny"),
        "spec": {
            "podSelector": {},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": [own]}],
            "egress": [
                {"to": [own]},
                {"to": [dns], "ports": [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]},
            ],
        },
    }


def _quota(meta: ObjectMeta, name: str, hard: dict[str, str]) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": meta.metadata(f"{meta.name}-{name}"),
        "spec": {"hard": hard},
    }


# Load balancers are counted as Services, too.
_DEFAULTS = {name: count for name, count in OBJECT_COUNTS.items() if name != "services.loadbalancers"}
STORED = frozenset({*_DEFAULTS, *flux_resources()})
"""The kinds that every tenant can store, as `<plural>.<group>`."""


@dataclass(frozen=True)
class LargestObjects:
    """How large an object may be, in bytes.

    Attributes:
        secret: a Secret, also one in which Helm stores a release.
    """

    config_map: int
    secret: int
    other: int

    def of(self, resource: str) -> int:
        """How large an object of a resource may be, by its name `<plural>.<group>`."""
        return {"configmaps": self.config_map, "secrets": self.secret}.get(resource, self.other)


def most_bytes(counts: Mapping[str, int], largest: LargestObjects) -> int:
    """How many bytes so many objects have at most.

    Args:
        counts: their numbers, by resource.
    """
    return sum(count * largest.of(resource) for resource, count in counts.items())


def counted_by(hard: Mapping[str, str]) -> dict[str, int]:
    """The numbers of objects that a quota allows, by resource.

    Args:
        hard: its `hard`, in which Kubernetes' older kinds may have no prefix.
    """
    names = ((key, key.removeprefix(COUNT)) for key in hard)
    return {name: int(parse_quantity(hard[key])) for key, name in names if key != name or name in STORED}


def within(limits: TenantLimits, size: int, largest: LargestObjects) -> TenantLimits:
    """These limits with numbers of objects that have no more than this many bytes together.

    The default numbers become smaller, all in the same proportion; those that are set stay.
    """
    given = {each.removeprefix(COUNT) for each in (*limits.objects, *limits.quota)}
    free = {name: count for name, count in _DEFAULTS.items() if name not in given}
    every = counted_by(all_counts(limits))
    if "flux_objects" not in limits.model_fields_set:
        free |= {name: count for name in flux_resources() if (count := every[name]) == limits.flux_objects}
    fixed = most_bytes({name: count for name, count in every.items() if name not in free}, largest)
    share = (size - fixed) / most_bytes(free, largest) if free else 1
    if share >= 1:
        return limits
    scaled = {name: max(1, int(count * share)) for name, count in free.items()}
    flux = min((scaled.pop(name) for name in flux_resources() if name in scaled), default=limits.flux_objects)
    return limits.model_copy(update={"objects": scaled | dict(limits.objects), "flux_objects": flux})
