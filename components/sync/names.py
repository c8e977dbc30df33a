"""Names, labels and API versions by which syncs are found."""

from __future__ import annotations

from components.cluster.object_meta import ObjectMeta

SOURCE_API = "source.toolkit.fluxcd.io/v1"
KUSTOMIZE_API = "kustomize.toolkit.fluxcd.io/v1"

FLUX_NAMESPACE = "flux-system"
PLATFORM = ObjectMeta(name="flux-system", namespace=FLUX_NAMESPACE, labels={})
"""The platform's own sync, with the names that `flux bootstrap` gives."""

TENANT_LABEL = "toolkit.fluxcd.io/tenant"
# Tells namespaces of tenants that the stack lists from those that the platform has labelled itself.
MANAGED_BY_LABEL, MANAGER = "app.kubernetes.io/managed-by", "flux-tenancy"
