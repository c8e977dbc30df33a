"""Objects in tenants' namespaces that admission refuses at their next change: of kinds or sources that are not open.

They are older than the policies, or than the entry that opened them. A preview names them, with what to open.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from components.allowlists.source_patterns import read_pattern
from components.cluster.client import explaining, items
from components.cluster.manifests import Manifest
from components.cluster.namespaced_kinds import read_namespaced_kinds
from components.cluster.unreadable import if_readable
from components.config.printable import printable
from components.config.wordings import Message
from components.policies.names import PolicyName
from components.stack.config import StackConfig
from components.stack.config_wordings import KIND_NOT_OPEN, SOURCE_NOT_LISTED
from components.stack.policy_checks import is_in_use
from components.sync.names import (
    GIT_REPOSITORY,
    HELM_CHART,
    HELM_RELEASE,
    HELM_REPOSITORY,
    OCI_REPOSITORY,
    TENANT_LABEL,
)
from components.tenant.config import TenantConfig
from components.tenant.kinds import FLUX_KINDS, OPENED_KINDS

if TYPE_CHECKING:
    from kubernetes import client

_LISTED = (GIT_REPOSITORY, HELM_REPOSITORY, OCI_REPOSITORY)
# helm-controller labels the HelmCharts that it makes; those are judged with their HelmRelease.
_OF_A_RELEASE = "helm.toolkit.fluxcd.io/name"


def read_unmarked(api: client.ApiClient) -> list[Manifest]:
    """Flux's objects in all namespaces that are not the platform's own.

    Raises:
        ClusterUnavailable: the cluster does not answer.
    """
    return [
        {**each, "kind": kind} for kind, path in _served(api) for each in if_readable(partial(_items, api, path), [])
    ]


def closed_objects(config: StackConfig, objects: Iterable[Manifest]) -> Iterator[Message]:
    """A warning for each tenant and each entry that would open some of its objects.

    Args:
        config: the stack.
        objects: Flux's objects that are not the platform's own.
    """
    owners = {name: tenant for tenant, each in config.active_tenants.items() for name in each.namespace_names}
    kinds: dict[tuple[str, str], list[str]] = defaultdict(list)
    urls: dict[tuple[str, str], list[str]] = defaultdict(list)
    for each in objects:
        namespace = each["metadata"]["namespace"]
        if (name := owners.get(namespace)) is None:
            continue
        tenant, shown = config.tenants[name], printable(f"{each['kind']} {namespace}/{each['metadata']['name']}")
        if (entry := _closed_kind(each)) is not None and not _is_open(entry, tenant, config):
            kinds[name, entry].append(shown)
        elif each["kind"] in _LISTED and not _is_listed(url := str(each.get("spec", {}).get("url")), tenant, config):
            urls[name, printable(url)].append(shown)
    if is_in_use(PolicyName.ALLOWED_KINDS, config):
        for (name, entry), names in kinds.items():
            yield KIND_NOT_OPEN(tenant=name, objects=", ".join(names), entry=entry)
    if is_in_use(PolicyName.ALLOWED_SOURCES, config):
        for (name, entry), names in urls.items():
            yield SOURCE_NOT_LISTED(tenant=name, objects=", ".join(names), entry=entry)


def _items(api: client.ApiClient, path: str) -> list[Manifest]:
    with explaining(api):
        return items(api, path, labelSelector=f"!{TENANT_LABEL}")


def _served(api: client.ApiClient) -> Iterator[tuple[str, str]]:
    """Flux's kinds in the cluster, with the paths of their objects."""
    groups = {(group, resource): kind for kind, (group, resource) in FLUX_KINDS.items()}
    for each in read_namespaced_kinds(api):
        group = each.root.split("/")[2] if each.root.startswith("/apis/") else ""
        if (kind := groups.get((group, each.resource))) is not None:
            yield kind, f"{each.root}/{each.resource}"


def _closed_kind(found: Manifest) -> str | None:
    """The entry of `kinds` that an object needs; None if its kind is always open."""
    kind, spec = found["kind"], found.get("spec", {})
    if kind in (HELM_CHART, HELM_RELEASE):
        if _OF_A_RELEASE in found["metadata"].get("labels", {}):
            return None
        chart = spec if kind == HELM_CHART else spec.get("chart", {}).get("spec", {})
        source = chart.get("sourceRef", {}).get("kind", HELM_REPOSITORY)
        return None if source == HELM_REPOSITORY else HELM_CHART
    return kind if kind in OPENED_KINDS else None


def _is_open(entry: str, tenant: TenantConfig, config: StackConfig) -> bool:
    return entry in (*config.tenancy.kinds, *tenant.policies.kinds)


def _is_listed(url: str, tenant: TenantConfig, config: StackConfig) -> bool:
    return any(read_pattern(each).allows(url) for each in (*config.policies.sources.allowed, *tenant.policies.sources))
