"""Names, labels and API versions by which syncs are found, the metadata of their objects, and their Secrets."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from flux_tenancy.components.vocabulary.manifests import Manifest, plural_of


class SecretPurpose(StrEnum):
    """What a Secret with a generated name is for."""

    GIT = "git"
    SIGNERS = "signers"
    SOPS = "sops"
    CREDENTIALS = "credentials"
    CERTIFICATES = "certificates"
    PROXY = "proxy"
    VALUES = "values"


_WEBHOOK = "webhook"
_OF_SYNCS = (SecretPurpose.GIT, SecretPurpose.SIGNERS, SecretPurpose.SOPS)
# Not those of a tenant's further sources: the preflight does not read all that may refer to them.
_OF_RELEASES = (*_OF_SYNCS, SecretPurpose.VALUES)
GENERATED_SUFFIX = f"({'|'.join(_OF_RELEASES)})-[0-9a-f]{{8}}$"
"""Pattern of the end of a generated name that follows the name of a sync or release."""
SECRET_SUFFIX = f"-({_WEBHOOK}$|({'|'.join(_OF_SYNCS)})-[0-9a-f]{{8}}$)"
"""Pattern of the end of the names of a sync's Secrets, after its own name.

Source: https://www.pulumi.com/docs/iac/concepts/resources/names/#autonaming
"""


@dataclass(frozen=True)
class ObjectMeta:
    """What the metadata of a sync's objects has in common.

    Attributes:
        name: name of the sync, and of its source.
        namespace: namespace of all its objects.
        labels: labels of all its objects.
        owner: the tenant, if the object is one of several and not named as the tenant; otherwise empty.
    """

    name: str
    namespace: str
    labels: Mapping[str, str]
    owner: str = ""

    @property
    def prefix(self) -> str:
        """What the names of its Secrets begin with, which no other sync, source or release of the stack has."""
        # A dot, since a dash would let two tenants' objects have the same prefix.
        return f"{self.owner}.{self.name}" if self.owner else self.name

    def metadata(self, name: str) -> Manifest:
        metadata: Manifest = {"name": name, "namespace": self.namespace}
        return metadata | {"labels": dict(self.labels)} if self.labels else metadata

    def secret(self, name: str, data: Mapping[str, str], type_: str = "Opaque") -> Manifest:
        """A Secret of this type with this content, as plain text by key."""
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": self.metadata(name),
            "type": type_,
            "data": {key: b64encode(value.encode()).decode() for key, value in data.items()},
        }

    def generated_secret(self, purpose: SecretPurpose, data: Mapping[str, str], type_: str = "Opaque") -> Manifest:
        """An immutable Secret with a generated name: for other content, the engine creates another Secret.

        So the reference to it changes and Flux reads it at once, and the previous Secret stays until that is done. The
        name reveals nothing of the content: everybody with read access to the source or the sync sees it.
        """
        return self.immutable_secret(self.secret_reference(purpose), data, type_)

    def immutable_secret(self, prefix: str, data: Mapping[str, str], type_: str = "Opaque") -> Manifest:
        """An immutable Secret whose name is generated from a prefix (`generated_secret`)."""
        secret = self.secret("", data, type_)
        named = {key: value for key, value in secret["metadata"].items() if key != "name"}
        return secret | {"metadata": {"generateName": f"{prefix}-", **named}, "immutable": True}

    def secret_reference(self, purpose: SecretPurpose) -> str:
        """The placeholder for a Secret's generated name until it is known (`components.plan`)."""
        return f"{self.prefix}-{purpose.value}"

    @property
    def webhook_secret_name(self) -> str:
        """Name of the Secret with the token of the source's webhook."""
        return f"{self.prefix}-{_WEBHOOK}"


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
