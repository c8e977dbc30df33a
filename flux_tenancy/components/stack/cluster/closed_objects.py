"""Objects in tenants' namespaces that admission refuses at their next change: what they are or say is not listed.

They are older than the policies. A preview names them, with what to list.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.allowlists.source_patterns import read_pattern
from flux_tenancy.components.cluster.client import explaining, items
from flux_tenancy.components.cluster.namespaced_kinds import read_namespaced_kinds
from flux_tenancy.components.cluster.readable import if_readable
from flux_tenancy.components.config.messages import Message, Wording, printable
from flux_tenancy.components.policies.config import PolicyMode
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.notifications import is_secret_of, unlisted_host
from flux_tenancy.components.policies.policy_files import policy_text
from flux_tenancy.components.stack.checks.policies import is_in_use
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.tenant.config import TenantPolicies
from flux_tenancy.components.tenant.kinds import FLUX_KINDS, OPENED_KINDS
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import (
    GIT_REPOSITORY,
    HELM_CHART,
    HELM_RELEASE,
    HELM_REPOSITORY,
    OCI_REPOSITORY,
    TENANT_LABEL,
)

if TYPE_CHECKING:
    from kubernetes import client

_FIELDS = policy_text(PolicyName.ALLOWED_FIELDS).values
FIELDS: Mapping[str, list[str]] = _FIELDS["fields"]
"""The fields of `spec`, by kind."""
BELOW: Mapping[str, Mapping[str, list[str]]] = _FIELDS["below"]
"""The fields that a part of `spec` may have, by kind and path."""


def unlisted_fields(kind: str, spec: Mapping[str, Any]) -> list[str]:
    """The paths in `spec` that the policy refuses to a tenant."""
    found = [name for name in spec if name not in FIELDS[kind]]
    for path, names in BELOW.get(kind, {}).items():
        part: Any = spec
        for step in path.removesuffix("[]").split("."):
            part = part.get(step) or {}
        items = part if path.endswith("[]") else [part]
        found += [f"{path}.{name}" for item in items for name in item if name not in names]
    return sorted(set(found))


KIND_NOT_OPEN = Wording(
    "FT-CFG-680",
    "{objects}: not open to tenant {tenant}, and {refused} at the next change",
    "to keep it open, add {entry} to policies.kinds of the tenant, or to tenancy.kinds",
)

_Entry = tuple[PolicyName, Wording, str]
"""The policy that refuses an object, how a preview says it, and the entry that would allow the object."""

_PROVIDER = "Provider"
_LISTED = (GIT_REPOSITORY, HELM_REPOSITORY, OCI_REPOSITORY)
# helm-controller labels the HelmCharts that it makes; those are judged with their HelmRelease.
_OF_A_RELEASE = "helm.toolkit.fluxcd.io/name"


def read_unmarked(api: client.ApiClient) -> list[Manifest]:
    """Flux's objects in all namespaces that are not the platform's own. Raises ClusterUnavailable."""
    return [
        {**each, "kind": kind} for kind, path in _served(api) for each in if_readable(partial(_items, api, path), [])
    ]


def refused_as(policy: PolicyName, mode: PolicyMode) -> str:
    """What a policy does in a mode, for messages."""
    return f"{'warned about' if mode is PolicyMode.AUDIT else 'refused'} by the policy {policy}"


def closed_objects(
    config: StackConfig, objects: Iterable[Manifest], namespaces: Mapping[str, Mapping[str, str]]
) -> Iterator[Message]:
    """A warning for each tenant and each entry that would allow some of its objects.

    Args:
        objects: Flux's objects that are not the platform's own.
        namespaces: the labels of each namespace of the cluster: tenants make some, and others are onboarded by label.
    """
    owners = {name: labels[TENANT_LABEL] for name, labels in namespaces.items() if TENANT_LABEL in labels}
    owners |= {name: tenant for name, tenant in config.tenant_of_namespaces.items() if tenant in config.active_tenants}
    found: dict[tuple[str, _Entry], list[str]] = defaultdict(list)
    for each in objects:
        namespace = each["metadata"]["namespace"]
        if (tenant := owners.get(namespace)) is None or (own := _policies_of(tenant, config)) is None:
            continue
        for policy, wording, entry in _lacking(each, own, config):
            shown = printable(f"{each['kind']} {namespace}/{each['metadata']['name']}")
            found[tenant, (policy, wording, printable(entry))].append(shown)
    for (tenant, (policy, wording, entry)), names in found.items():
        if is_in_use(policy, config):
            refused = refused_as(policy, config.policies.mode_of(policy))
            yield wording(tenant=tenant, objects=", ".join(names), entry=entry, refused=refused)


def closed_kind(found: Manifest) -> str | None:
    """The entry of `kinds` that an object needs; None if its kind is always open."""
    kind, spec = found["kind"], found.get("spec", {})
    if kind in (HELM_CHART, HELM_RELEASE):
        if _OF_A_RELEASE in found["metadata"].get("labels", {}):
            return None
        chart = spec if kind == HELM_CHART else spec.get("chart", {}).get("spec", {})
        source = chart.get("sourceRef", {}).get("kind", HELM_REPOSITORY)
        return None if source == HELM_REPOSITORY else HELM_CHART
    return kind if kind in OPENED_KINDS else None


def _policies_of(tenant: str, config: StackConfig) -> TenantPolicies | None:
    """The lists of a tenant; None if the stack does not have the tenant or is about to remove it."""
    if (listed := config.active_tenants.get(tenant)) is not None:
        return listed.policies
    return TenantPolicies() if config.policies.onboarding and tenant not in config.tenants else None


def _lacking(found: Manifest, own: TenantPolicies, config: StackConfig) -> Iterator[_Entry]:
    """What an object would need; of one whose kind is closed only that, as this comes first."""
    kind, spec = found["kind"], found.get("spec", {})
    entry = closed_kind(found)
    if entry is not None and entry not in (*config.tenancy.kinds, *own.kinds):
        yield PolicyName.ALLOWED_KINDS, KIND_NOT_OPEN, entry
        return
    for path in unlisted_fields(kind, spec):
        yield (
            PolicyName.ALLOWED_FIELDS,
            Wording(
                "FT-CFG-685",
                "{objects}: has {entry}, which tenant {tenant} may not set, and is {refused} at the next change",
                "have the tenant remove it",
            ),
            f"spec.{path}",
        )
    if kind in _LISTED:
        allowed, url = (*config.policies.sources.allowed, *own.sources), str(spec.get("url"))
        if not any(read_pattern(each).allows(url) for each in allowed):
            yield (
                PolicyName.ALLOWED_SOURCES,
                Wording(
                    "FT-CFG-681",
                    "{objects}: not an allowed source for tenant {tenant}, and {refused} at the next change",
                    "to allow it, add {entry} to policies.sources of the tenant, or to policies.sources.allowed",
                ),
                url,
            )
    if kind == _PROVIDER:
        yield from _lacking_of_provider(spec, own, config)


def _lacking_of_provider(spec: Manifest, own: TenantPolicies, config: StackConfig) -> Iterator[_Entry]:
    rules, policy, type_ = config.policies.notifications, PolicyName.NOTIFICATION_ADDRESSES, str(spec.get("type"))
    if type_ not in rules.types:
        yield (
            policy,
            Wording(
                "FT-CFG-682",
                "{objects}: not of an allowed type for tenant {tenant}, and {refused} at the next change",
                "to allow it, add {entry} to policies.notifications.types",
            ),
            type_,
        )
    name = spec.get("secretRef", {}).get("name", "")
    if name and not is_secret_of(type_, name):
        yield (
            policy,
            Wording(
                "FT-CFG-684",
                "{objects}: its Secret has a name that tenant {tenant} may not use, and it is {refused} at "
                "the next change",
                "to keep it, have the tenant name the Secret {entry} or {entry}-<suffix>",
            ),
            f"provider-{type_}",
        )
    if (host := unlisted_host(rules, own.notifications, type_, spec.get("address"))) is not None:
        yield (
            policy,
            Wording(
                "FT-CFG-683",
                "{objects}: contacts {entry}, which is not an allowed host for tenant {tenant}, and is {refused} "
                "at the next change",
                "to allow it, add {entry} to policies.notifications of the tenant, or to policies.notifications.hosts",
            ),
            host,
        )


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
