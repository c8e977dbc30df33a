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
_KUBERNETES = frozenset(
    f"{name}.k8s.io"
    for name in (
        "admissionregistration",
        "apiextensions",
        "apiregistration",
        "authentication",
        "authorization",
        "certificates",
        "coordination",
        "discovery",
        "events",
        "flowcontrol.apiserver",
        "imagepolicy",
        "internal.apiserver",
        "lifecycle",
        "networking",
        "node",
        "rbac.authorization",
        "resource",
        "scheduling",
        "storage",
        "storagemigration",
    )
)
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
    is_custom = _RESOURCE.fullmatch(value) is not None and owner_of(value.partition(".")[2]) is None
    if value not in OPENED_KINDS and not is_custom:
        raise ValueError(
            Message(
                "FT-CFG-405",
                "is not a kind that can be opened to tenants",
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
