"""The `policies` section: engine, modes and the platform's allow-lists."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from flux_tenancy.components.allowlists.entries import (
    HostPatternText,
    ImagePatternText,
    IngressHost,
    ServiceType,
    SourcePatternText,
    VerifiedKind,
)
from flux_tenancy.components.config.allowances import Allows, Bounds, SeenOtherwise
from flux_tenancy.components.config.errors import EXACTLY_ONE, NOT_A, MisplacedValueError
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import DnsLabel, Duration, matching
from flux_tenancy.components.keys.signing_keys import CosignPublicKey, KeylessSigner
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.sync.notifications import ProviderTypeName
from flux_tenancy.components.tenant.annotations import (
    BLOCKING_BUDGETS,
    CSI_DRIVERS,
    HOSTS,
    IMAGES,
    MAXIMUM_GRACE_PERIOD,
    MAXIMUM_RELEASE_SIZE,
    MAXIMUM_TIMEOUT,
    MAXIMUM_TOKEN_LIFETIME,
    MINIMUM_INTERVAL,
    NOTIFICATIONS,
    PRIORITY_CLASSES,
    SERVICE_TYPES,
    SOURCES,
    STORAGE_CLASSES,
    TOLERATIONS,
    VERIFIED,
)
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
_USUALLY_TOLERATED = "every taint but those of control planes and of nodes that are cordoned or unhealthy"


def is_usually_tolerated(taint: str) -> bool:
    """Whether pods may tolerate a taint in a stack that lists none."""
    return taint in USUAL_TAINTS or re.match(OWN_TAINTS, taint) is None


class AllowedSources(Section):
    """Allowed sources of tenants."""

    allowed: Annotated[
        tuple[SourcePatternText, ...], Allows("fetch sources from {}", "fetch sources from any URL", own=SOURCES)
    ] = Field(
        (),
        description=(
            "URL patterns, in addition to the tenant's own, e.g. `https://git.example.com/org/*`, "
            "`oci://registry.example.com/org/*`, `bucket://storage.example.com/name`, or `*` for all. If "
            "there are neither, only the sources that the stack declares."
        ),
    )
    providers: Annotated[tuple[CloudProvider, ...], Allows("let sources log in to the cloud {}")] = Field(
        (),
        description="Clouds that a source may log in to with its own service account.",
    )
    bucket_regions: Annotated[
        tuple[str, ...],
        Allows("fetch from Buckets in the region {}", "fetch from Buckets in any region", empty_is_anything=True),
    ] = Field((), description="Regions that a Bucket may set; any by default.")
    plain_http: Annotated[bool, Allows("fetch sources without TLS")] = Field(
        False, description="Allow sources without TLS (`http://`, `insecure: true`), for a lab."
    )
    client_certificates: Annotated[
        bool,
        Allows("let sources trust certificate authorities of their own choice"),
    ] = Field(
        False,
        description="Allow tenants to set `certSecretRef` in sources that they write.",
    )
    submodules: Annotated[bool, Allows("fetch Git submodules of any URL")] = Field(
        False,
        description="Allow submodules, from any URL; admission cannot check them.",
    )
    includes: Annotated[bool, Allows("include GitRepositories in other ones")] = Field(
        False,
        description=("Allow GitRepositories to `include` others, which multiplies content with each level."),
    )
    verified: Annotated[
        tuple[VerifiedKind, ...],
        Allows(
            "fetch {} objects whose content is not verified",
            own=VERIFIED,
            forbidden_of=frozenset(get_args(VerifiedKind)),
        ),
    ] = Field(
        (),
        description=(
            "Kinds that must be signed, in addition to the tenant's own. With `HelmChart`, charts come only "
            "from HelmRepositories, or from OCIRepositories if `OCIRepository` is listed, too."
        ),
    )


class AllowedImages(Section):
    """Allowed container images of tenants."""

    allowed: Annotated[
        tuple[ImagePatternText, ...] | None,
        Allows("run images of {}", "run any image", own=IMAGES),
    ] = Field(
        None,
        description=(
            "Repositories, e.g. `registry.example.com/org/*`, in addition to the tenant's own; all if "
            "there are neither."
        ),
    )
    digests: Annotated[bool, Allows("run images by tag", forbidden_of=frozenset({""}))] = Field(
        False, description="Require images by digest."
    )
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

    types: Annotated[tuple[ProviderTypeName, ...], Allows("write Providers of the type {}")] = Field(
        (), description="Types of Providers that tenants may write, e.g. `slack`."
    )
    hosts: Annotated[tuple[HostPatternText, ...], Allows("send notifications to {}", own=NOTIFICATIONS)] = Field(
        (),
        description=(
            "Hosts that Providers may post to and whose tokens Receivers may trust, in addition to the "
            "tenant's own, e.g. `hooks.slack.com`, `alertmanager.monitoring.svc:9093`, `*.example.com`."
        ),
    )
    plain_http: Annotated[bool, Allows("send notifications without TLS")] = Field(
        False, description="Allow notifications without TLS."
    )


class IngressRules(Section):
    """Allowed host names and annotations of tenants' Ingresses."""

    hosts: Annotated[
        tuple[IngressHost, ...] | None,
        Allows("publish the host {}", "publish any host", own=HOSTS),
    ] = Field(
        None,
        description=(
            "Host names for Ingresses, routes and certificates, in addition to the tenant's own, e.g. "
            "`shop.example.com`, `*.example.com`; all if there are neither."
        ),
    )
    snippets: Annotated[bool, Allows("write snippets of proxy configuration in Ingresses")] = Field(
        False,
        description=(
            "Allow annotations with proxy configuration, such as ingress-nginx's `configuration-snippet`, "
            "which can read the traffic and Secrets of all tenants."
        ),
    )


class MaximumSizes(Section):
    """Bounds on one object of a tenant."""

    containers: Annotated[int, Bounds("run pods of up to {} containers", "run pods of more than {} containers")] = (
        Field(30, ge=1, description="Containers of a pod, with its init containers.")
    )
    volumes: Annotated[int, Bounds("run pods with up to {} volumes", "run pods with more than {} volumes")] = Field(
        60, ge=1, description="Volumes of a pod."
    )
    projected_sources: Annotated[
        int,
        Bounds("run pods with up to {} projected sources", "run pods with more than {} projected sources"),
    ] = Field(100, ge=1, description="Sources of a pod's projected volumes.")
    variables: Annotated[
        int,
        Bounds("run pods with up to {} environment variables", "run pods with more than {} environment variables"),
    ] = Field(500, ge=1, description="Entries in `env` and `envFrom` of a pod's containers.")
    ports: Annotated[int, Bounds("list up to {} ports", "list more than {} ports")] = Field(
        100, ge=1, description="Ports of a Service, and of a pod's containers."
    )
    hosts: Annotated[
        int,
        Bounds("write Ingresses with up to {} hosts and paths", "write Ingresses with more than {} hosts and paths"),
    ] = Field(200, ge=1, description="Rules, paths and hosts of an Ingress, together.")
    owners: Annotated[int, Bounds("set up to {} owners", "set more than {} owners")] = Field(
        20, ge=1, description="`ownerReferences` and finalizers of an object, together."
    )
    keys: Annotated[int, Bounds("store up to {} keys", "store more than {} keys")] = Field(
        1000, ge=1, description="Keys of a ConfigMap or Secret."
    )
    data: Annotated[
        int,
        Bounds("store ConfigMaps and Secrets of up to {}", "store ConfigMaps and Secrets of more than {}", unit=" KiB"),
    ] = Field(
        256,
        ge=1,
        le=1536,
        description=(
            "KiB of a ConfigMap or Secret as JSON (docs/sizing.md); for Helm's release Secrets, `maximumReleaseSize`."
        ),
    )
    object: Annotated[
        int, Bounds("store other objects of up to {}", "store other objects of more than {}", unit=" KiB")
    ] = Field(128, ge=1, le=1536, description="KiB of any other object, and of the pod in it, as JSON.")


class PoliciesConfig(Section):
    """Admission policies for tenants' namespaces. Lists are empty by default and allow nothing more, unless noted."""

    engine: Annotated[PolicyEngine, SeenOtherwise()] = Field(
        PolicyEngine.NATIVE,
        description="Engine of the admission policies; `kyverno` and `both` need the section `kyverno`.",
    )
    mode: Annotated[PolicyMode, SeenOtherwise()] = Field(
        PolicyMode.ENFORCE,
        description="Deny violations, or allow and report them (`audit`, `flux-tenancy tenant violations`).",
    )
    modes: Annotated[dict[PolicyName, PolicyMode], SeenOtherwise()] = Field(
        default_factory=dict, description="Modes of single admission policies, by name (docs/policies.md)."
    )
    sources: AllowedSources = Field(default_factory=AllowedSources, description="Sources of tenants.")
    images: AllowedImages = Field(default_factory=AllowedImages, description="Container images of tenants.")
    notifications: AllowedNotifications = Field(
        default_factory=AllowedNotifications, description="Notifications of tenants."
    )
    flux_images: Annotated[bool, SeenOtherwise()] = Field(
        False,
        description=("Require signatures of Flux's images (docs/kyverno.md#fluxs-own-images)."),
    )
    onboarding: Annotated[bool, SeenOtherwise()] = Field(
        False,
        description="Let Kyverno provision labelled namespaces (docs/kyverno.md#onboarding-by-label).",
    )
    minimum_interval: Annotated[
        Duration,
        Bounds(
            "let Flux reconcile every {}",
            "let Flux reconcile more often than every {}",
            least=True,
            own=MINIMUM_INTERVAL,
        ),
    ] = Field("30s", description="Minimum interval of reconciliation.")
    # The webhooks of AWS and Azure request a day; SPIFFE's and Vault's agents need less.
    maximum_token_lifetime: Annotated[
        TokenLifetime,
        Bounds(
            "mount tokens that are valid for up to {}",
            "mount tokens that are valid for more than {}",
            own=MAXIMUM_TOKEN_LIFETIME,
        ),
    ] = Field(
        "24h",
        description="Maximum lifetime of a mounted service account token (`expirationSeconds`), at least 1h.",
    )
    maximum_timeout: Annotated[
        Duration, Bounds("set timeouts of up to {}", "set timeouts of more than {}", own=MAXIMUM_TIMEOUT)
    ] = Field(
        "1h",
        description=("Maximum `timeout` of Flux's objects, and maximum interval of a Kustomization without one."),
    )
    service_types: Annotated[tuple[ServiceType, ...], Allows("create Services of type {}", own=SERVICE_TYPES)] = Field(
        ("ClusterIP",), description="Allowed types of Services."
    )
    service_annotations: Annotated[
        tuple[ServiceAnnotation, ...],
        Allows("set the annotation {} of load balancers"),
    ] = Field(
        (),
        description=(
            "Annotations that tenants may set on Services of type LoadBalancer, e.g. `metallb.io/*`, in "
            "addition to those of Flux, Helm and kubectl."
        ),
    )
    roles: Annotated[bool, SeenOtherwise()] = Field(
        False,
        description="Let tenants write Roles and RoleBindings within their own permissions "
        "(docs/tenants.md#roles-and-network-policies).",
    )
    network_policies: Annotated[bool, SeenOtherwise()] = Field(
        False,
        description="Let tenants write NetworkPolicies for connections with their own namespaces and to DNS "
        "(docs/tenants.md#roles-and-network-policies).",
    )
    load_balancer_classes: Annotated[tuple[str, ...], Allows("choose the class {} of load balancers")] = Field(
        (), description="Allowed values of `spec.loadBalancerClass`."
    )
    priority_classes: Annotated[tuple[str, ...], Allows("use the PriorityClass {}", own=PRIORITY_CLASSES)] = Field(
        (), description="Allowed priority classes of pods."
    )
    finalizers: Annotated[tuple[FinalizerName, ...], Allows("set the finalizer {}")] = Field(
        (),
        description=(
            "Finalizers that tenants may set in addition to those of Kubernetes and Flux, e.g. "
            "`example.com/cleanup`; controllers with cluster-wide rights need no entry."
        ),
    )
    maximum_release_size: Annotated[
        int,
        Bounds(
            "store Helm releases of up to {}",
            "store Helm releases of more than {}",
            unit=" KiB",
            own=MAXIMUM_RELEASE_SIZE,
        ),
    ] = Field(
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
    maximum_termination_grace_period: Annotated[
        Duration,
        Bounds(
            "run pods that may take up to {} to end",
            "run pods that may take more than {} to end",
            own=MAXIMUM_GRACE_PERIOD,
        ),
    ] = Field(
        "1h",
        description="Maximum `terminationGracePeriodSeconds` of pods, which delays node drains.",
    )
    pod_defaults: Annotated[Literal["restricted"] | None, SeenOtherwise()] = Field(
        None,
        description="Fill in what the Pod Security Standard `restricted` requires and a Pod leaves out; needs "
        "Kubernetes 1.36 (docs/tenants.md#pods).",
    )
    csi_drivers: Annotated[
        tuple[str, ...], Allows("mount volumes of the CSI driver {} without a claim", own=CSI_DRIVERS)
    ] = Field(
        (),
        description="CSI drivers of inline volumes, e.g. `secrets-store.csi.k8s.io`.",
    )
    volume_types: Annotated[tuple[VolumeType, ...], Allows("mount {} volumes without a claim")] = Field(
        (), description="Network storage that pods may mount without a claim."
    )
    tolerations: Annotated[
        tuple[str, ...] | None,
        Allows(
            "tolerate {}",
            "tolerate every taint",
            own=TOLERATIONS,
            unset=(_USUALLY_TOLERATED, is_usually_tolerated),
        ),
    ] = Field(
        None,
        description=(
            "Taints that pods may tolerate, by key, e.g. `nvidia.com/gpu`; `*` for all. By default, "
            "any except those of control planes and of cordoned or unhealthy nodes."
        ),
    )
    node_names: Annotated[bool, Allows("choose a node by its name")] = Field(
        False, description="Allow pods to choose a node by name, in a nodeSelector or an affinity."
    )
    blocking_disruption_budgets: Annotated[
        bool, Allows("create PodDisruptionBudgets that block node drains", own=BLOCKING_BUDGETS)
    ] = Field(False, description="Allow PodDisruptionBudgets that block node drains.")
    tenant_bounds: TenantBounds = Field(
        default_factory=TenantBounds,
        description="How far a tenant's `policies` may go beyond the stack's bounds; by default, not at all.",
    )
    ingress: IngressRules = Field(default_factory=IngressRules, description="Ingresses of tenants.")
    storage_classes: Annotated[
        tuple[str, ...] | None,
        Allows("claim volumes of the StorageClass {}", "claim volumes of any StorageClass", own=STORAGE_CLASSES),
    ] = Field(
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
