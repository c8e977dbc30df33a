"""A tenant's namespaces: their section, and what Pod Security, Capsule and the policies read there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from flux_tenancy.components.config.errors import SET_BY
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import NamespaceName, ServiceAccountName
from flux_tenancy.components.plan import Planned, Stage
from flux_tenancy.components.tenant.annotations import account_annotations, lane_annotations, namespace_annotations
from flux_tenancy.components.tenant.capsule.config import CAPSULE_TENANT_LABEL, TenancyMode
from flux_tenancy.components.tenant.freezes import freeze_annotations
from flux_tenancy.components.tenant.limits import TenantLimits
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL, MANAGER, POD_SECURITY_LABEL, TENANT_LABEL

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.scope import TenantScope
    from flux_tenancy.components.vocabulary.manifests import Manifest


# Labels that decide what a tenant may do; they are set by typed keys only.
PROTECTED_LABEL_PREFIXES = (
    "pod-security.kubernetes.io/",
    "toolkit.fluxcd.io/",
    "flux-tenancy/",
    "kubernetes.io/",
    "kustomize.toolkit.fluxcd.io/",
    "app.kubernetes.io/managed-by",
)


class PodSecurity(StrEnum):
    """Pod Security Standards. Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/"""

    RESTRICTED = "restricted"
    BASELINE = "baseline"
    PRIVILEGED = "privileged"


def pod_security_labels(level: PodSecurity) -> dict[str, str]:
    """Labels of a namespace that enforce a Pod Security Standard and warn about violations.

    Source: https://kubernetes.io/docs/concepts/security/pod-security-admission/
    """
    return {POD_SECURITY_LABEL: level.value, "pod-security.kubernetes.io/warn": level.value}


class NamespaceConfig(Section):
    """A namespace that belongs to the tenant."""

    name: NamespaceName = Field(description="Name; a namespace belongs to at most one tenant.")
    pod_security: PodSecurity = Field(
        PodSecurity.RESTRICTED, description="Pod Security Standard that is enforced and warned about."
    )
    delegated_to: ServiceAccountName | None = Field(
        None,
        description=(
            "Service account, created by the tenant, that Flux uses here instead of the tenant's "
            "(docs/grants.md#teams-below-a-tenant)."
        ),
    )
    limits: TenantLimits = Field(
        default_factory=TenantLimits, description="Limits of this namespace, where they differ from the tenant's."
    )
    labels: dict[str, str] = Field(
        default_factory=dict, description="Additional labels, except those that the platform sets."
    )
    annotations: dict[str, str] = Field(
        default_factory=dict, description="Additional annotations, except those that the platform sets."
    )

    @field_validator("labels", "annotations")
    @classmethod
    def _free_keys(cls, entries: dict[str, str]) -> dict[str, str]:
        if taken := [key for key in entries if key.startswith(PROTECTED_LABEL_PREFIXES)]:
            raise ValueError(SET_BY(what=", ".join(taken), owner="the platform"))
        return entries


def planned_namespaces(tenant: TenantScope) -> Iterator[Planned]:
    """The tenant's namespaces; its home comes first."""
    config = tenant.config
    for namespace in config.namespaces:
        account = namespace.delegated_to or tenant.account
        annotations = namespace_annotations(config, config.grants_in(namespace.name))
        annotations |= account_annotations(tenant.name, account, tenant.default_account)
        annotations |= lane_annotations(tenant.lane) | freeze_annotations(tenant.name, config, tenant.tenancy)
        labels = _capsule_labels(tenant, namespace.name)
        yield Planned(Stage.NAMESPACES, _namespace(tenant.name, namespace, annotations, labels))


def _capsule_labels(tenant: TenantScope, namespace: str) -> dict[str, str]:
    """The label by which Capsule owns a namespace; a tenant's home is never Capsule's."""
    owned = tenant.tenancy.mode is TenancyMode.CAPSULE and namespace != tenant.config.home
    return {CAPSULE_TENANT_LABEL: tenant.name} if owned else {}


def _namespace(
    tenant: str, namespace: NamespaceConfig, annotations: Mapping[str, str], labels: Mapping[str, str]
) -> Manifest:
    metadata: Manifest = {
        "name": namespace.name,
        "labels": {
            **namespace.labels,
            TENANT_LABEL: tenant,
            MANAGED_BY_LABEL: MANAGER,
            **pod_security_labels(namespace.pod_security),
            **labels,
        },
        "annotations": {**namespace.annotations, **annotations},
    }
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
