"""Names, labels and API versions by which syncs are found."""

from __future__ import annotations

from enum import StrEnum

from flux_tenancy.components.vocabulary.manifests import plural_of
from flux_tenancy.components.vocabulary.object_meta import ObjectMeta

SOURCE_API = "source.toolkit.fluxcd.io/v1"
KUSTOMIZE_API = "kustomize.toolkit.fluxcd.io/v1"
HELM_API = "helm.toolkit.fluxcd.io/v2"
KUSTOMIZATION, HELM_RELEASE, HELM_CHART = "Kustomization", "HelmRelease", "HelmChart"
GIT_REPOSITORY, HELM_REPOSITORY, OCI_REPOSITORY = "GitRepository", "HelmRepository", "OCIRepository"
BUCKET, EXTERNAL_ARTIFACT = "Bucket", "ExternalArtifact"
SOURCE_RESOURCES = {
    kind: plural_of(kind) for kind in (GIT_REPOSITORY, OCI_REPOSITORY, HELM_REPOSITORY, BUCKET, EXTERNAL_ARTIFACT)
}
"""The resource of each kind of source."""
APPLIED_SOURCES = (GIT_REPOSITORY, OCI_REPOSITORY, BUCKET, EXTERNAL_ARTIFACT)
"""The kinds of source that a Kustomization can apply.

Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#source-reference
"""

FLUX_NAMESPACE = "flux-system"
PLATFORM_META = ObjectMeta(name="flux-system", namespace=FLUX_NAMESPACE, labels={})
"""The platform's own sync, with the same names as `flux bootstrap` uses."""

POD_SECURITY_LABEL = "pod-security.kubernetes.io/enforce"
"""Source: https://kubernetes.io/docs/concepts/security/pod-security-admission/"""
TENANT_LABEL = "toolkit.fluxcd.io/tenant"
# Distinguishes namespaces of tenants that the stack lists from those that the platform's users have labeled.
MANAGED_BY_LABEL, MANAGER = "app.kubernetes.io/managed-by", "flux-tenancy"


class Controller(StrEnum):
    """A controller of Flux; the value is the name of its Deployment and of its `app.kubernetes.io/component` label.

    Source: https://fluxcd.io/flux/components/
    """

    SOURCE = "source-controller"
    KUSTOMIZE = "kustomize-controller"
    HELM = "helm-controller"
    NOTIFICATION = "notification-controller"
    IMAGE_REFLECTOR = "image-reflector-controller"
    IMAGE_AUTOMATION = "image-automation-controller"
    SOURCE_WATCHER = "source-watcher"


DEFAULT_CONTROLLERS = (Controller.SOURCE, Controller.KUSTOMIZE, Controller.HELM, Controller.NOTIFICATION)
RECONCILERS = (Controller.KUSTOMIZE, Controller.HELM)
"""Those that apply what others wrote."""
LANED = (Controller.SOURCE, *RECONCILERS)
"""Those of which each lane has its own; the others have no label selector, or serve objects of all lanes."""
LANE_LABEL = "sharding.fluxcd.io/key"
"""The label of the objects, controllers and pods of a lane; those of the platform have none.

Source: https://fluxcd.io/flux/installation/configuration/sharding/
"""
DEFAULT_LANE = "tenants"
"""The lane of tenants that name none."""
# Nothing that this program registers is reconciled without these two.
REQUIRED_CONTROLLERS = (Controller.SOURCE, Controller.KUSTOMIZE)


def account_of(controller: Controller, lane: str = "") -> str:
    """The service account that the pods of a controller run as with narrow rights.

    Args:
        lane: its lane; empty for the platform's. Of controllers without lanes, there is only the platform's.
    """
    account = f"{controller.value}-{'impersonator' if controller in RECONCILERS else 'restricted'}"
    return f"{account}-{lane}" if lane and controller in LANED else account


def applied_key(tenant: str, kind: str, name: str) -> str:
    """The key among all syncs of the stack of what Flux applies for a tenant; of its own sync, the tenant's name."""
    return tenant if (kind, name) == (KUSTOMIZATION, tenant) else f"{tenant}/{kind}/{name}"


def owner_of(key: str) -> str:
    """The tenant, or the platform's own sync, that a key among all syncs of the stack belongs to."""
    return key.partition("/")[0]


def sync_label(name: str) -> str:
    """How messages name a sync: `tenant shop`, `tenant shop: HelmRelease podinfo`, or `the platform's own sync`."""
    tenant, _, applied = name.partition("/")
    if applied:
        return f"tenant {tenant}: {applied.replace('/', ' ')}"
    tenant, _, source = name.partition(".")
    if source:
        return f"source {source} of tenant {tenant}"
    return "the platform's own sync" if name == PLATFORM_META.name else f"tenant {name}"
