"""A namespace of a tenant."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, field_validator

from components.config.messages import Message
from components.config.section import Section
from components.config.types import NamespaceName
from components.tenant.types import ServiceAccountName

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
    return {"pod-security.kubernetes.io/enforce": level.value, "pod-security.kubernetes.io/warn": level.value}


class NamespaceConfig(Section):
    """A namespace that belongs to the tenant."""

    name: NamespaceName = Field(description="Name; a namespace belongs to at most one tenant.")
    pod_security: PodSecurity = Field(
        PodSecurity.RESTRICTED, description="Pod Security Standard that is enforced and warned about."
    )
    delegated_to: ServiceAccountName | None = Field(
        None,
        description="Service account as which Flux applies everything in this namespace instead of the tenant's, for a "
        "team below the tenant, which creates and binds it (docs/grants.md#teams-below-a-tenant).",
    )
    labels: dict[str, str] = Field(
        default_factory=dict,
        description="Additional labels, e.g. a cost center; none that the platform sets itself.",
    )
    annotations: dict[str, str] = Field(
        default_factory=dict, description="Additional annotations; none that the platform sets itself."
    )

    @field_validator("labels", "annotations")
    @classmethod
    def _free_keys(cls, entries: dict[str, str]) -> dict[str, str]:
        if taken := [key for key in entries if key.startswith(PROTECTED_LABEL_PREFIXES)]:
            raise ValueError(
                Message(
                    "FT-CFG-402",
                    f"sets {', '.join(taken)}, which the platform sets itself",
                    "remove them, or use keys such as podSecurity",
                )
            )
        return entries
