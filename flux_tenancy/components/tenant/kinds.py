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
from typing import Annotated, Any

from pydantic import AfterValidator, WithJsonSchema

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.yaml_files import data_of
from flux_tenancy.components.vocabulary.manifests import ResourceTable

_WITHHELD: Mapping[str, Any] = data_of(__file__, "withheld_groups.yaml")
_KUBERNETES: Mapping[str, str] = {f"{name}.k8s.io": why for name, why in _WITHHELD["kubernetes"].items()}
_WHY_CORE = "the tenant role has what is safe of it"


def owner_of(group: str) -> str | None:
    """Whose an API group is that cannot be granted; None for any other, e.g. `cert-manager.io`."""
    if "." not in group or group in _KUBERNETES:
        return "Kubernetes"
    return next(
        (row["owner"] for row in _WITHHELD["others"] for end in row["groups"] if f".{group}".endswith(f".{end}")), None
    )


def why_withheld(group: str) -> str:
    """Why an API group with an owner (`owner_of`) cannot be granted."""
    owner = owner_of(group)
    if owner == "Kubernetes":
        return _KUBERNETES.get(group, _WHY_CORE)
    return next((str(row["why"]) for row in _WITHHELD["others"] if row["owner"] == owner), "")


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
