"""The kinds of objects that tenants may write: Kubernetes' own, those of Flux that are open, and those that are opened.

A kind that is not listed is closed, so a new version of Flux or another controller opens nothing by itself.

API groups whose objects decide what tenants may do cannot be granted, even if the stack lists them
(`tenancy.grantableGroups`). What the tenant role (`components.tenant.role`) leaves out of Kubernetes' and Flux's own
groups is left out on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.vocabulary.manifests import ResourceTable

# Source: the groups of k8s.io/api 1.37, of apiextensions-apiserver and of kube-aggregator.
_KUBERNETES: Mapping[str, str] = {
    f"{name}.k8s.io": why
    for name, why in {
        "admissionregistration": "its objects decide which requests the cluster accepts",
        "apiextensions": "definitions of kinds hold for the whole cluster",
        "apiregistration": "its objects redirect APIs of the whole cluster",
        "authentication": "its requests ask for identities",
        "authorization": "its requests ask for permissions of others",
        "certificates": "its certificates prove identities, also those of nodes",
        "coordination": "the tenant role has its Leases, and the rest elects controllers of the cluster",
        "discovery": "EndpointSlices can send a Service's traffic to any address",
        "events": "controllers write events",
        "flowcontrol.apiserver": "its objects decide whose requests the API server serves first",
        "imagepolicy": "its requests decide which images run",
        "internal.apiserver": "only API servers use it",
        "lifecycle": "its objects decide how Pods of others end",
        "networking": "the tenant role has its Ingresses, NetworkPolicies follow from `network` of the tenant, and the "
        "rest holds for the whole cluster",
        "node": "its objects hold for the whole cluster",
        "rbac.authorization": "its objects are permissions; the role `admin` of a tenant has those of a namespace",
        "resource": "its claims take devices of nodes, which no policy bounds",
        "scheduling": "its objects decide which Pods of others have to make room",
        "storage": "its objects hold for the whole cluster",
        "storagemigration": "its objects rewrite those of the whole cluster",
    }.items()
}
_WHY_CORE = "the tenant role has what is safe of it"
# By the end of the group's name.
_OWNERS: Mapping[str, str] = {
    "fluxcd.io": "Flux",
    "fluxcd.controlplane.io": "Flux",
    "kyverno.io": "Kyverno",
    "wgpolicyk8s.io": "Kyverno",
    "openreports.io": "Kyverno",
    "gatekeeper.sh": "Gatekeeper",
    "capsule.clastix.io": "Capsule",
    "projectcapsule.dev": "Capsule",
    "policy.networking.k8s.io": "the cluster's network",
    "antrea.io": "the cluster's network",
    "cilium.io": "the cluster's network",
    "k8s.ovn.org": "the cluster's network",
    "projectcalico.org": "the cluster's network",
}


def owner_of(group: str) -> str | None:
    """Whose an API group is that cannot be granted; None for any other, e.g. `cert-manager.io`."""
    if "." not in group or group in _KUBERNETES:
        return "Kubernetes"
    return next((owner for end, owner in _OWNERS.items() if group == end or group.endswith(f".{end}")), None)


_WHY: Mapping[str, str] = {
    "Flux": "its kinds can only be opened, by their names: `tenancy.kinds`, or `policies.kinds` of the tenant",
    "Kyverno": "its objects decide which requests the cluster accepts",
    "Gatekeeper": "its objects decide which requests the cluster accepts",
    "Capsule": "its objects decide what tenants may have",
    "the cluster's network": "its objects decide who may connect to whom, also for other tenants",
}


def why_withheld(group: str) -> str:
    """Why an API group with an owner (`owner_of`) cannot be granted."""
    owner = owner_of(group)
    return _KUBERNETES.get(group, _WHY_CORE) if owner == "Kubernetes" else _WHY.get(owner or "", "")


_SOURCE, _IMAGE, _NOTIFICATION = (f"{name}.toolkit.fluxcd.io" for name in ("source", "image", "notification"))

RECEIVER = "Receiver"

FLUX_KINDS: Mapping[str, tuple[str, str]] = {
    "Bucket": (_SOURCE, "buckets"),
    "GitRepository": (_SOURCE, "gitrepositories"),
    "HelmChart": (_SOURCE, "helmcharts"),
    "HelmRepository": (_SOURCE, "helmrepositories"),
    "OCIRepository": (_SOURCE, "ocirepositories"),
    "ArtifactGenerator": ("source.extensions.fluxcd.io", "artifactgenerators"),
    "Kustomization": ("kustomize.toolkit.fluxcd.io", "kustomizations"),
    "HelmRelease": ("helm.toolkit.fluxcd.io", "helmreleases"),
    "Alert": (_NOTIFICATION, "alerts"),
    "Provider": (_NOTIFICATION, "providers"),
    RECEIVER: (_NOTIFICATION, "receivers"),
    "ImagePolicy": (_IMAGE, "imagepolicies"),
    "ImageRepository": (_IMAGE, "imagerepositories"),
    "ImageUpdateAutomation": (_IMAGE, "imageupdateautomations"),
}
"""Flux's kinds that a tenant can be allowed to write: API group and plural.

ExternalArtifact is missing: its status, which its author writes, is an address that Flux fetches without any check.
"""

OPEN_FLUX_KINDS = ("Kustomization", "HelmRelease", "GitRepository", "HelmRepository", "OCIRepository", "HelmChart")
"""The kinds of Flux that are always open; `allowed-sources` limits what sources fetch.

Of HelmCharts, and of the charts of HelmReleases, only those from a HelmRepository are open.
"""

OPENED_KINDS = tuple(kind for kind in FLUX_KINDS if kind == "HelmChart" or kind not in OPEN_FLUX_KINDS)
"""The kinds of Flux that a stack or a tenant opens by name; `HelmChart` stands for charts from Git and Buckets."""

# A plural and an API group, as kubectl writes them.
_RESOURCE = re.compile(r"[a-z][-a-z0-9]*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")


def flux_kinds_by_group() -> ResourceTable:
    """The resources of `FLUX_KINDS`, in its order."""
    by_group = groupby(FLUX_KINDS.values(), key=itemgetter(0))
    return tuple((group, tuple(resource for _, resource in kinds)) for group, kinds in by_group)


def group_resource(group: str, resource: str) -> str:
    """A resource as kubectl writes it: `certificates.cert-manager.io`, or `pods` of the core group.

    Source: https://pkg.go.dev/k8s.io/apimachinery/pkg/runtime/schema#GroupResource
    """
    return f"{resource}.{group}" if group else resource


def resources_of(kinds: Iterable[str]) -> tuple[str, ...]:
    """The resources of kinds as the configuration names them."""
    return tuple(group_resource(*FLUX_KINDS[kind]) if kind in FLUX_KINDS else kind for kind in kinds)


def _opened_kind(value: str) -> str:
    group = value.partition(".")[2] if _RESOURCE.fullmatch(value) else ""
    owner = owner_of(group)
    if value not in OPENED_KINDS and owner is not None:
        why = f": it belongs to {owner}, and {why_withheld(group)}" if group else ""
        raise ValueError(
            Message(
                "FT-CFG-405",
                f"is not a kind that can be opened to tenants{why}",
                f"use one of {', '.join(OPENED_KINDS)}, or the resource of another controller, such as "
                "certificates.cert-manager.io",
            )
        )
    return value


OpenedKind = Annotated[
    str,
    AfterValidator(_opened_kind),
    WithJsonSchema(
        {
            "type": "string",
            "anyOf": [{"enum": [*OPENED_KINDS]}, {"pattern": f"^{_RESOURCE.pattern}$"}],
            "description": "one of Flux's kinds, or <plural>.<API group>",
        }
    ),
]
"""A kind that a stack or a tenant opens: one of Flux's by its name, a custom one as `certificates.cert-manager.io`."""
