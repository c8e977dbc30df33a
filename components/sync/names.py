"""Names, labels and API versions by which syncs are found."""

from __future__ import annotations

from components.cluster.object_meta import ObjectMeta

SOURCE_API = "source.toolkit.fluxcd.io/v1"
KUSTOMIZE_API = "kustomize.toolkit.fluxcd.io/v1"
GIT_REPOSITORY = "GitRepository"
"""The kind of every source."""

FLUX_NAMESPACE = "flux-system"
PLATFORM = ObjectMeta(name="flux-system", namespace=FLUX_NAMESPACE, labels={})
"""The platform's own sync, with the same names as `flux bootstrap` uses."""

TENANT_LABEL = "toolkit.fluxcd.io/tenant"
# Distinguishes namespaces of tenants that the stack lists from those that the platform's users have labeled.
MANAGED_BY_LABEL, MANAGER = "app.kubernetes.io/managed-by", "flux-tenancy"


def sync_label(name: str) -> str:
    """How messages name a sync: `tenant shop`, or `the platform's own sync`."""
    return "the platform's own sync" if name == PLATFORM.name else f"tenant {name}"
