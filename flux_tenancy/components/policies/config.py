"""The `policies` section: engine, modes and the platform's allow-lists."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from flux_tenancy.components.allowlists.types import (
    HostPatternText,
    ImagePatternText,
    IngressHost,
    ServiceType,
    SourcePatternText,
    VerifiedKind,
)
from flux_tenancy.components.config.allowances import Allows, Bounds, SeenOtherwise
from flux_tenancy.components.config.errors import MisplacedValueError
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import DnsLabel, Duration, matching
from flux_tenancy.components.keys.signing_keys import KeylessSigner
from flux_tenancy.components.keys.types import CosignPublicKey
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.sync.notifications import ProviderTypeName
from flux_tenancy.components.tenant.annotations import (
    BLOCKING_BUDGETS,
    HOSTS,
    IMAGES,
    MAXIMUM_GRACE_PERIOD,
    MAXIMUM_RELEASE_SIZE,
    MAXIMUM_TIMEOUT,
    MAXIMUM_TOKEN_LIFETIME,
    MINIMUM_INTERVAL,
    NOTIFICATIONS,
    SERVICE_TYPES,
    SOURCES,
    VERIFIED,
)
from flux_tenancy.components.tenant.bounds import TenantBounds, TokenLifetime

# One without a domain is Kubernetes' own. Source: IsQualifiedName in
# staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go of Kubernetes 1.36.
_FINALIZER = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
# At least a domain, which `*` must not replace: the platform's own annotations have one, too.
_ANNOTATION = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?|\*)$"
ServiceAnnotation = Annotated[
    str,
    *matching(
        _ANNOTATION,
        Message(
            "FT-CFG-509",
            "is not an annotation with its domain",
            "write it like example.com/name, or example.com/* for all",
        ),
    ),
]
FinalizerName = Annotated[
    str,
    *matching(
        _FINALIZER, Message("FT-CFG-500", "is not a finalizer with its domain", "write it like example.com/cleanup")
    ),
]


class ImageSignature(Section):
    """Images that must be signed, and their signers.

    An image that several entries match needs the signature of one of them, so that a key can be replaced.
    """

    images: tuple[ImagePatternText, ...] = Field(
        min_length=1, description="Repositories, e.g. `registry.example.com/org/*`."
    )
    key: CosignPublicKey | None = Field(None, description="Public key of the signer, the content of cosign.pub.")
    keyless: KeylessSigner | None = Field(None, description="Identity of the signer.")
    transparency_log: bool = Field(
        True,
        description="Require an entry in Sigstore's public transparency log; `false` for a key whose signatures "
        "are not logged.",
    )

    @model_validator(mode="after")
    def _one_signer(self) -> ImageSignature:
        if (self.key is None) == (self.keyless is None):
            raise ValueError(Message("FT-CFG-506", "needs exactly one of key and keyless"))
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
        (), description="Secrets of type `kubernetes.io/dockerconfigjson` in Kyverno's namespace, to log in with."
    )
    insecure: bool = Field(
        False, description="Allow registries without TLS or with an untrusted certificate; for a lab."
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
USUAL_TAINTS = (
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
)
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
        description="URL patterns for the sources of every tenant, e.g. `https://git.example.com/org/*` for everything "
        "at or below it, `https://charts.example.com`, `oci://registry.example.com/org/*`, "
        "`bucket://storage.example.com/name`, or `*` for all, in addition to the tenant's own. If neither the stack "
        "nor the tenant has any, a tenant has only the sources that the stack declares for it.",
    )
    providers: Annotated[tuple[CloudProvider, ...], Allows("let sources log in to the cloud {}")] = Field(
        (),
        description="Clouds that a source may log in to with its own service account; none by default.",
    )
    bucket_regions: Annotated[
        tuple[str, ...],
        Allows("fetch from Buckets in the region {}", "fetch from Buckets in any region", empty_is_anything=True),
    ] = Field((), description="Regions that a Bucket may set; any by default.")
    plain_http: Annotated[bool, Allows("fetch sources without TLS")] = Field(
        False, description="Allow sources without TLS: `http://` URLs or `insecure: true`; for a lab."
    )
    client_certificates: Annotated[
        bool,
        Allows("let sources trust certificate authorities of their own choice"),
    ] = Field(
        False,
        description="Allow tenants to set `certSecretRef` in their own sources; sources of the stack may "
        "always have it.",
    )
    submodules: Annotated[bool, Allows("fetch Git submodules of any URL")] = Field(
        False,
        description="Allow GitRepositories to fetch submodules, from any URL in the repository; admission policies "
        "cannot check them.",
    )
    includes: Annotated[bool, Allows("include GitRepositories in other ones")] = Field(
        False,
        description="Allow GitRepositories to copy others into themselves (`include`), which multiplies their content "
        "with each level; those of the stack always may.",
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
        description="Kinds whose content must be verified by signature, in addition to the tenant's own. With "
        "`HelmChart`, charts may come only from HelmRepositories, and by `chartRef` from an OCIRepository only if "
        "`OCIRepository` is listed as well.",
    )


class AllowedImages(Section):
    """Allowed container images of tenants."""

    allowed: Annotated[
        tuple[ImagePatternText, ...] | None,
        Allows("run images of {}", "run any image", own=IMAGES),
    ] = Field(
        None,
        description="Repositories, e.g. `registry.example.com/org/*`, in addition to the tenant's own. If neither the "
        "stack nor the tenant has any, all images are allowed.",
    )
    digests: Annotated[bool, Allows("run images by tag", forbidden_of=frozenset({""}))] = Field(
        False, description="Require images by digest."
    )
    signatures: tuple[ImageSignature, ...] = Field(
        (),
        description="Images that must be signed, and their signers; Kyverno verifies the signatures "
        "(docs/kyverno.md#signed-images).",
    )
    registries: RegistryAccess = Field(
        default_factory=RegistryAccess, description="How Kyverno reads signatures from registries."
    )


class AllowedNotifications(Section):
    """Allowed notifications of tenants that may write Providers or Receivers."""

    types: Annotated[tuple[ProviderTypeName, ...], Allows("write Providers of the type {}")] = Field(
        (), description="Types of Providers that tenants may write, e.g. `slack`; needed to open the kind `Provider`."
    )
    hosts: Annotated[tuple[HostPatternText, ...], Allows("send notifications to {}", own=NOTIFICATIONS)] = Field(
        (),
        description="Hosts that Providers of tenants may post to and whose tokens their Receivers may trust, e.g. "
        "`hooks.slack.com`, `alertmanager.monitoring.svc:9093`, `*.example.com`, in addition to the tenant's own.",
    )
    plain_http: Annotated[bool, Allows("send notifications without TLS")] = Field(
        False, description="Allow notifications without TLS, e.g. within the cluster."
    )


class IngressRules(Section):
    """Allowed host names and annotations of tenants' Ingresses."""

    hosts: Annotated[
        tuple[IngressHost, ...] | None,
        Allows("publish the host {}", "publish any host", own=HOSTS),
    ] = Field(
        None,
        description="Host names for the Ingresses, routes and certificates of every tenant, e.g. `shop.example.com`, "
        "or `*.example.com` for all names below, in addition to the tenant's own. If neither the stack nor the tenant "
        "has any, all are allowed.",
    )
    snippets: Annotated[bool, Allows("write snippets of proxy configuration in Ingresses")] = Field(
        False,
        description="Allow annotations that contain proxy configuration, such as `configuration-snippet` of "
        "ingress-nginx, which can read the traffic and Secrets of all tenants.",
    )


class MaximumSizes(Section):
    """Bounds on one object of a tenant."""

    containers: Annotated[int, Bounds("run pods of up to {} containers", "run pods of more than {} containers")] = (
        Field(30, ge=1, description="Maximum number of containers of a pod, with its init containers.")
    )
    volumes: Annotated[int, Bounds("run pods with up to {} volumes", "run pods with more than {} volumes")] = Field(
        60, ge=1, description="Maximum number of volumes of a pod."
    )
    projected_sources: Annotated[
        int,
        Bounds("run pods with up to {} projected sources", "run pods with more than {} projected sources"),
    ] = Field(100, ge=1, description="Maximum number of sources of a pod's projected volumes, in all of them.")
    variables: Annotated[
        int,
        Bounds("run pods with up to {} environment variables", "run pods with more than {} environment variables"),
    ] = Field(
        500, ge=1, description="Maximum number of entries in `env` and `envFrom` of a pod's containers, in all of them."
    )
    ports: Annotated[int, Bounds("list up to {} ports", "list more than {} ports")] = Field(
        100, ge=1, description="Maximum number of ports of a Service, and of a pod's containers in all of them."
    )
    hosts: Annotated[
        int,
        Bounds("write Ingresses with up to {} hosts and paths", "write Ingresses with more than {} hosts and paths"),
    ] = Field(200, ge=1, description="Maximum number of rules, paths and hosts of an Ingress, counted together.")
    owners: Annotated[int, Bounds("set up to {} owners", "set more than {} owners")] = Field(
        20, ge=1, description="Maximum number of `ownerReferences` and finalizers of an object, counted together."
    )
    keys: Annotated[int, Bounds("store up to {} keys", "store more than {} keys")] = Field(
        1000, ge=1, description="Maximum number of keys of a ConfigMap or Secret."
    )
    data: Annotated[
        int,
        Bounds("store ConfigMaps and Secrets of up to {}", "store ConfigMaps and Secrets of more than {}", unit=" KiB"),
    ] = Field(
        256,
        ge=1,
        le=1536,
        description="Maximum size of a ConfigMap or Secret, in KiB, written as JSON (docs/sizing.md); that of a "
        "Secret in which Helm stores a release is `maximumReleaseSize`.",
    )
    object: Annotated[
        int, Bounds("store other objects of up to {}", "store other objects of more than {}", unit=" KiB")
    ] = Field(
        128,
        ge=1,
        le=1536,
        description="Maximum size of any other object, and of the pod in it, in KiB, written as JSON.",
    )


class PoliciesConfig(Section):
    """Admission policies for tenants' namespaces."""

    engine: Annotated[PolicyEngine, SeenOtherwise()] = Field(
        PolicyEngine.NATIVE,
        description="Engine that enforces the admission policies; `kyverno` and `both` need the section `kyverno`.",
    )
    mode: Annotated[PolicyMode, SeenOtherwise()] = Field(
        PolicyMode.ENFORCE,
        description="Deny violations (`enforce`), or allow and report them (`audit`), see "
        "`flux-tenancy tenant violations`.",
    )
    modes: Annotated[dict[PolicyName, PolicyMode], SeenOtherwise()] = Field(
        default_factory=dict, description="A different mode for an admission policy, by its name (docs/policies.md)."
    )
    sources: AllowedSources = Field(default_factory=AllowedSources, description="Sources of tenants.")
    images: AllowedImages = Field(default_factory=AllowedImages, description="Container images of tenants.")
    notifications: AllowedNotifications = Field(
        default_factory=AllowedNotifications, description="Notifications of tenants."
    )
    flux_images: Annotated[bool, SeenOtherwise()] = Field(
        False,
        description="Require the signatures of Flux's releases on its controllers' images; Kyverno needs access to "
        "their registry and to Sigstore's keys (docs/kyverno.md#signed-images).",
    )
    onboarding: Annotated[bool, SeenOtherwise()] = Field(
        False,
        description="Let Kyverno provision namespaces that the platform labels for a tenant "
        "(docs/kyverno.md#onboarding-by-label).",
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
        description="Maximum lifetime of a service account token that a pod mounts (`expirationSeconds`); kubelet "
        "renews it long before. At least 1h, which Kubernetes requests for every pod.",
    )
    maximum_timeout: Annotated[
        Duration, Bounds("set timeouts of up to {}", "set timeouts of more than {}", own=MAXIMUM_TIMEOUT)
    ] = Field(
        "1h",
        description="Maximum `timeout` of Flux's objects, during which they can occupy a worker that all tenants "
        "share. It also limits the interval of a Kustomization without a timeout, because the timeout defaults to "
        "the interval.",
    )
    service_types: Annotated[tuple[ServiceType, ...], Allows("create Services of type {}", own=SERVICE_TYPES)] = Field(
        ("ClusterIP",), description="Types that a Service may have."
    )
    service_annotations: Annotated[
        tuple[ServiceAnnotation, ...],
        Allows("set the annotation {} of load balancers"),
    ] = Field(
        (),
        description="Annotations that tenants may set on Services of type LoadBalancer, e.g. "
        "`service.beta.kubernetes.io/aws-load-balancer-type`, or `metallb.io/*` for all with that prefix; by "
        "default, only those that Flux, Helm and kubectl set.",
    )
    load_balancer_classes: Annotated[tuple[str, ...], Allows("choose the class {} of load balancers")] = Field(
        (), description="Values of `spec.loadBalancerClass` that tenants may set; none by default."
    )
    priority_classes: Annotated[tuple[str, ...], Allows("use the PriorityClass {}")] = Field(
        (), description="Priority classes that pods may use; none by default."
    )
    finalizers: Annotated[tuple[FinalizerName, ...], Allows("set the finalizer {}")] = Field(
        (),
        description="Finalizers that tenants may set in addition to those of Kubernetes and Flux, e.g. "
        "`example.com/cleanup`; finalizers that a controller with cluster-wide rights sets need no entry.",
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
        description="Maximum size, in KiB, of the Secret in which Helm stores a release; helm-controller may need a "
        "thousand times as much memory to read it.",
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
        description="Maximum `terminationGracePeriodSeconds` of pods, during which they can delay a node drain.",
    )
    csi_drivers: Annotated[tuple[str, ...], Allows("mount volumes of the CSI driver {} without a claim")] = Field(
        (),
        description="CSI drivers whose volumes pods may mount inline, without a claim, e.g. "
        "`secrets-store.csi.k8s.io`; none by default.",
    )
    volume_types: Annotated[tuple[VolumeType, ...], Allows("mount {} volumes without a claim")] = Field(
        (), description="Network storage that pods may mount without a claim; none by default."
    )
    tolerations: Annotated[
        tuple[str, ...] | None,
        Allows("tolerate {}", "tolerate every taint", unset=(_USUALLY_TOLERATED, is_usually_tolerated)),
    ] = Field(
        None,
        description="Keys of the taints that pods may tolerate, e.g. `nvidia.com/gpu`; `*` for all. By default, any "
        "except those of control planes and of cordoned or unhealthy nodes, and no toleration of all taints.",
    )
    node_names: Annotated[bool, Allows("choose a node by its name")] = Field(
        False, description="Allow pods to choose a node by name, in a nodeSelector or an affinity."
    )
    blocking_disruption_budgets: Annotated[
        bool, Allows("create PodDisruptionBudgets that block node drains", own=BLOCKING_BUDGETS)
    ] = Field(False, description="Allow PodDisruptionBudgets that permit no eviction, which block node drains.")
    tenant_bounds: TenantBounds = Field(
        default_factory=TenantBounds,
        description="How far `policies` of a tenant may go beyond the bounds of the stack; only keys that are set "
        "count, and none by default.",
    )
    ingress: IngressRules = Field(default_factory=IngressRules, description="Ingresses of tenants.")
    storage_classes: Annotated[
        tuple[str, ...] | None, Allows("claim volumes of the StorageClass {}", "claim volumes of any StorageClass")
    ] = Field(
        None,
        description="Storage classes that volume claims may use; any by default. List them if the cluster has manually "
        "created volumes: a claim of their class gets one of them with its data.",
    )

    def mode_of(self, policy: PolicyName) -> PolicyMode:
        """The mode of one policy."""
        return self.modes.get(policy, self.mode)

    @model_validator(mode="after")
    def _off_is_the_engine(self) -> PoliciesConfig:
        if self.mode is PolicyMode.OFF:
            raise MisplacedValueError(
                ("mode",),
                Message("FT-CFG-502", "must not be off", "set it to enforce, or to audit to only report violations"),
            )
        return self
