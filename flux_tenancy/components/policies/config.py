"""The `policies` section: engine, modes and the platform's allow-lists."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, model_validator

from flux_tenancy.components.allowlists.entries import (
    HostPatternText,
    ImagePatternText,
    IngressHost,
    ServiceType,
    SourcePatternText,
    VerifiedKind,
)
from flux_tenancy.components.config.errors import EXACTLY_ONE, NOT_A, MisplacedValueError
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import DnsLabel, Duration, matching
from flux_tenancy.components.keys.signing_keys import CosignPublicKey, KeylessSigner
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.sync.notifications import ProviderTypeName
from flux_tenancy.components.tenant.config import TenantBounds, TokenLifetime

# One without a domain is Kubernetes' own. Source: IsQualifiedName in
# staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go of Kubernetes 1.36.
_FINALIZER = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
# At least a domain, which `*` must not replace: the platform's own annotations have one, too.
_ANNOTATION = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?|\*)$"
ServiceAnnotation = Annotated[
    str,
    *matching(
        _ANNOTATION,
        NOT_A(what="an annotation with its domain", example="example.com/name, or example.com/* for all"),
    ),
]
FinalizerName = Annotated[
    str,
    *matching(_FINALIZER, NOT_A(what="a finalizer with its domain", example="example.com/cleanup")),
]


class ImageSignature(Section):
    """Images that must be signed, and their signer."""

    images: tuple[ImagePatternText, ...] = Field(
        min_length=1, description="Repositories, e.g. `registry.example.com/org/*`."
    )
    key: CosignPublicKey | None = Field(None, description="Public key of the signer (cosign.pub).")
    keyless: KeylessSigner | None = Field(None, description="Identity of the signer.")
    transparency_log: bool = Field(
        True,
        description="Require an entry in Sigstore's transparency log.",
    )

    @model_validator(mode="after")
    def _one_signer(self) -> ImageSignature:
        if (self.key is None) == (self.keyless is None):
            raise ValueError(EXACTLY_ONE(keys="key and keyless"))
        if self.keyless is not None and not self.transparency_log:
            raise MisplacedValueError(
                ("transparencyLog",),
                Message(
                    "FT-CFG-507",
                    "must be true for keyless signatures: their certificates expire within minutes, and only the "
                    "log proves when they were used",
                ),
            )
        return self


class RegistryAccess(Section):
    """How Kyverno reads signatures of images from registries."""

    secrets: tuple[DnsLabel, ...] = Field(
        (), description="Secrets of type `kubernetes.io/dockerconfigjson` in Kyverno's namespace."
    )
    insecure: bool = Field(
        False, description="Allow registries without TLS or with an untrusted certificate, for a lab."
    )


class PolicyEngine(StrEnum):
    """Engine that enforces the admission policies: Kubernetes' ValidatingAdmissionPolicies, Kyverno, both, or none."""

    NATIVE = "native"
    KYVERNO = "kyverno"
    BOTH = "both"
    NONE = "none"

    @property
    def native(self) -> bool:
        return self in (PolicyEngine.NATIVE, PolicyEngine.BOTH)

    @property
    def kyverno(self) -> bool:
        return self in (PolicyEngine.KYVERNO, PolicyEngine.BOTH)


class PolicyMode(StrEnum):
    """Reaction to a request that violates an admission policy."""

    ENFORCE = "enforce"
    AUDIT = "audit"
    OFF = "off"


CloudProvider = Literal["aws", "azure", "gcp"]


VolumeType = Literal["cephfs", "fc", "glusterfs", "iscsi", "nfs", "rbd"]
ANY_TAINT = "*"
"""Stands for every key of a taint."""
# Kubernetes adds tolerations of these to pods before admission. They open no dedicated nodes.
# Source: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions
USUAL_TAINTS = ("node.kubernetes.io/memory-pressure", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
OWN_TAINTS = r"^(node|node-role|node\.cloudprovider)\.kubernetes\.io/"
"""The keys of taints of control planes, of drained nodes, and of unhealthy nodes."""


class AllowedSources(Section):
    """Allowed sources of tenants."""

    allowed: tuple[SourcePatternText, ...] = Field(
        (),
        description=(
            "URL patterns, in addition to the tenant's own, e.g. `https://git.example.com/org/*`, "
            "`oci://registry.example.com/org/*`, `bucket://storage.example.com/name`, or `*` for all. If "
            "there are neither, only the sources that the stack declares."
        ),
    )
    providers: tuple[CloudProvider, ...] = Field(
        (),
        description="Clouds that a source may log in to with its own service account.",
    )
    bucket_regions: tuple[str, ...] = Field((), description="Regions that a Bucket may set; any by default.")
    plain_http: bool = Field(False, description="Allow sources without TLS (`http://`, `insecure: true`), for a lab.")
    client_certificates: bool = Field(
        False,
        description="Allow tenants to set `certSecretRef` in sources that they write.",
    )
    submodules: bool = Field(
        False,
        description="Allow submodules, from any URL; admission cannot check them.",
    )
    includes: bool = Field(
        False,
        description=("Allow GitRepositories to `include` others, which multiplies content with each level."),
    )
    verified: tuple[VerifiedKind, ...] = Field(
        (),
        description=(
            "Kinds that must be signed, in addition to the tenant's own. With `HelmChart`, charts come only "
            "from HelmRepositories, or from OCIRepositories if `OCIRepository` is listed, too."
        ),
    )


class AllowedImages(Section):
    """Allowed container images of tenants."""

    allowed: tuple[ImagePatternText, ...] | None = Field(
        None,
        description=(
            "Repositories, e.g. `registry.example.com/org/*`, in addition to the tenant's own; all if "
            "there are neither."
        ),
    )
    digests: bool = Field(False, description="Require images by digest.")
    signatures: tuple[ImageSignature, ...] = Field(
        (),
        description="Images that must be signed, and their signers; of several matching entries, one is enough "
        "(docs/kyverno.md#signed-images).",
    )
    registries: RegistryAccess = Field(
        default_factory=RegistryAccess, description="How Kyverno reads signatures from registries."
    )


class AllowedNotifications(Section):
    """Allowed notifications of tenants that may write Providers or Receivers."""

    types: tuple[ProviderTypeName, ...] = Field(
        (), description="Types of Providers that tenants may write, e.g. `slack`."
    )
    hosts: tuple[HostPatternText, ...] = Field(
        (),
        description=(
            "Hosts that Providers may post to and whose tokens Receivers may trust, in addition to the "
            "tenant's own, e.g. `hooks.slack.com`, `alertmanager.monitoring.svc:9093`, `*.example.com`."
        ),
    )
    plain_http: bool = Field(False, description="Allow notifications without TLS.")


class IngressRules(Section):
    """Allowed host names and annotations of tenants' Ingresses."""

    hosts: tuple[IngressHost, ...] | None = Field(
        None,
        description=(
            "Host names for Ingresses, routes and certificates, in addition to the tenant's own, e.g. "
            "`shop.example.com`, `*.example.com`; all if there are neither."
        ),
    )
    snippets: bool = Field(
        False,
        description=(
            "Allow annotations with proxy configuration, such as ingress-nginx's `configuration-snippet`, "
            "which can read the traffic and Secrets of all tenants."
        ),
    )


class MaximumSizes(Section):
    """Bounds on one object of a tenant."""

    containers: int = Field(30, ge=1, description="Containers of a pod, with its init containers.")
    volumes: int = Field(60, ge=1, description="Volumes of a pod.")
    projected_sources: int = Field(100, ge=1, description="Sources of a pod's projected volumes.")
    variables: int = Field(500, ge=1, description="Entries in `env` and `envFrom` of a pod's containers.")
    ports: int = Field(100, ge=1, description="Ports of a Service, and of a pod's containers.")
    hosts: int = Field(200, ge=1, description="Rules, paths and hosts of an Ingress, together.")
    owners: int = Field(20, ge=1, description="`ownerReferences` and finalizers of an object, together.")
    keys: int = Field(1000, ge=1, description="Keys of a ConfigMap or Secret.")
    data: int = Field(
        256,
        ge=1,
        le=1536,
        description=(
            "KiB of a ConfigMap or Secret as JSON (docs/sizing.md); for Helm's release Secrets, `maximumReleaseSize`."
        ),
    )
    object: int = Field(128, ge=1, le=1536, description="KiB of any other object, and of the pod in it, as JSON.")


class PoliciesConfig(Section):
    """Admission policies for tenants' namespaces. Lists are empty by default and allow nothing more, unless noted."""

    engine: PolicyEngine = Field(
        PolicyEngine.NATIVE,
        description="Engine of the admission policies; `kyverno` and `both` need the section `kyverno`.",
    )
    mode: PolicyMode = Field(
        PolicyMode.ENFORCE,
        description="Deny violations, or allow and report them (`audit`, `flux-tenancy tenant violations`).",
    )
    modes: dict[PolicyName, PolicyMode] = Field(
        default_factory=dict, description="Modes of single admission policies, by name (docs/policies.md)."
    )
    sources: AllowedSources = Field(default_factory=AllowedSources, description="Sources of tenants.")
    images: AllowedImages = Field(default_factory=AllowedImages, description="Container images of tenants.")
    notifications: AllowedNotifications = Field(
        default_factory=AllowedNotifications, description="Notifications of tenants."
    )
    flux_images: bool = Field(
        False,
        description=("Require signatures of Flux's images (docs/kyverno.md#fluxs-own-images)."),
    )
    onboarding: bool = Field(
        False,
        description="Let Kyverno provision labelled namespaces (docs/kyverno.md#onboarding-by-label).",
    )
    minimum_interval: Duration = Field("30s", description="Minimum interval of reconciliation.")
    # The webhooks of AWS and Azure request a day; SPIFFE's and Vault's agents need less.
    maximum_token_lifetime: TokenLifetime = Field(
        "24h",
        description="Maximum lifetime of a mounted service account token (`expirationSeconds`), at least 1h.",
    )
    maximum_timeout: Duration = Field(
        "1h",
        description=("Maximum `timeout` of Flux's objects, and maximum interval of a Kustomization without one."),
    )
    service_types: tuple[ServiceType, ...] = Field(("ClusterIP",), description="Allowed types of Services.")
    service_annotations: tuple[ServiceAnnotation, ...] = Field(
        (),
        description=(
            "Annotations that tenants may set on Services of type LoadBalancer, e.g. `metallb.io/*`, in "
            "addition to those of Flux, Helm and kubectl."
        ),
    )
    roles: bool = Field(
        False,
        description="Let tenants write Roles and RoleBindings within their own permissions "
        "(docs/tenants.md#roles-and-network-policies).",
    )
    network_policies: bool = Field(
        False,
        description="Let tenants write NetworkPolicies for connections with their own namespaces and to DNS "
        "(docs/tenants.md#roles-and-network-policies).",
    )
    load_balancer_classes: tuple[str, ...] = Field((), description="Allowed values of `spec.loadBalancerClass`.")
    priority_classes: tuple[str, ...] = Field((), description="Allowed priority classes of pods.")
    finalizers: tuple[FinalizerName, ...] = Field(
        (),
        description=(
            "Finalizers that tenants may set in addition to those of Kubernetes and Flux, e.g. "
            "`example.com/cleanup`; controllers with cluster-wide rights need no entry."
        ),
    )
    maximum_release_size: int = Field(
        128,
        ge=1,
        le=1024,
        description=(
            "Maximum KiB of a Helm release's Secret; helm-controller may need a thousand times as much memory."
        ),
    )
    maximum_sizes: MaximumSizes = Field(
        default_factory=MaximumSizes, description="Bounds on one object, which Kubernetes enforces before any webhook."
    )
    # Databases and runners of jobs take minutes to stop; the longest defaults of well-known charts are an hour.
    maximum_termination_grace_period: Duration = Field(
        "1h",
        description="Maximum `terminationGracePeriodSeconds` of pods, which delays node drains.",
    )
    pod_defaults: Literal["restricted"] | None = Field(
        None,
        description="Fill in what the Pod Security Standard `restricted` requires and a Pod leaves out; needs "
        "Kubernetes 1.36 (docs/tenants.md#pods).",
    )
    csi_drivers: tuple[str, ...] = Field(
        (),
        description="CSI drivers of inline volumes, e.g. `secrets-store.csi.k8s.io`.",
    )
    volume_types: tuple[VolumeType, ...] = Field((), description="Network storage that pods may mount without a claim.")
    tolerations: tuple[str, ...] | None = Field(
        None,
        description=(
            "Taints that pods may tolerate, by key, e.g. `nvidia.com/gpu`; `*` for all. By default, "
            "any except those of control planes and of cordoned or unhealthy nodes."
        ),
    )
    node_names: bool = Field(
        False, description="Allow pods to choose a node by name, in a nodeSelector or an affinity."
    )
    blocking_disruption_budgets: bool = Field(False, description="Allow PodDisruptionBudgets that block node drains.")
    tenant_bounds: TenantBounds = Field(
        default_factory=TenantBounds,
        description="How far a tenant's `policies` may go beyond the stack's bounds; by default, not at all.",
    )
    ingress: IngressRules = Field(default_factory=IngressRules, description="Ingresses of tenants.")
    storage_classes: tuple[str, ...] | None = Field(
        None,
        description=(
            "Storage classes of volume claims; any by default. List them if the cluster has manually "
            "created volumes: claims of their class get one with its data."
        ),
    )

    def mode_of(self, policy: PolicyName) -> PolicyMode:
        """The mode of one policy."""
        return self.modes.get(policy, self.mode)

    @model_validator(mode="after")
    def _an_engine_for_defaults(self) -> PoliciesConfig:
        if self.pod_defaults and self.engine is PolicyEngine.NONE:
            raise MisplacedValueError(
                ("podDefaults",),
                Message("FT-CFG-510", "has no effect with engine: none", "remove it, or choose an engine"),
            )
        return self

    @model_validator(mode="after")
    def _off_is_the_engine(self) -> PoliciesConfig:
        if self.mode is PolicyMode.OFF:
            raise MisplacedValueError(
                ("mode",),
                Message("FT-CFG-502", "must not be off", "set it to enforce, or to audit to only report violations"),
            )
        return self
