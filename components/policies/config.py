"""The `policies` section: engine, modes and the platform's allow-lists."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from components.allowlists.types import (
    HostPatternText,
    ImagePatternText,
    IngressHost,
    ServiceType,
    SourcePatternText,
    VerifiedKind,
)
from components.config.errors import MisplacedValueError
from components.config.messages import Message
from components.config.section import Section
from components.config.types import DnsLabel, Duration, matching, seconds
from components.keys.signing_keys import KeylessSigner
from components.keys.types import CosignPublicKey
from components.policies.names import PolicyName
from components.sync.notifications import ProviderTypeName

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
    """Images that have to be signed, and by whom.

    An image that several entries match needs the signature of one of them, so that a key can be replaced.
    """

    images: tuple[ImagePatternText, ...] = Field(
        min_length=1, description="Repositories, e.g. `registry.example.com/org/*`."
    )
    key: CosignPublicKey | None = Field(None, description="Public key of the signer, the content of cosign.pub.")
    keyless: KeylessSigner | None = Field(None, description="Identity of the signer.")
    transparency_log: bool = Field(
        True,
        description="Require an entry in Sigstore's public transparency log; `false` for a key whose signatures are in "
        "none.",
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
    """What enforces the policies: Kubernetes' ValidatingAdmissionPolicies, Kyverno, both, or nothing."""

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
    """What happens to a request that violates a policy."""

    ENFORCE = "enforce"
    AUDIT = "audit"
    OFF = "off"


CloudProvider = Literal["aws", "azure", "gcp"]


VolumeType = Literal["cephfs", "fc", "glusterfs", "iscsi", "nfs", "rbd"]
ANY_TAINT = "*"
"""Stands for every key of a taint."""

_SHORTEST_TOKEN_LIFETIME = "1h"


def _token_lifetime(duration: str) -> str:
    if seconds(duration) < seconds(_SHORTEST_TOKEN_LIFETIME):
        raise ValueError(
            Message(
                "FT-CFG-501",
                f"is shorter than {_SHORTEST_TOKEN_LIFETIME}, which Kubernetes requests for every pod",
                f"set {_SHORTEST_TOKEN_LIFETIME} or more",
            )
        )
    return duration


TokenLifetime = Annotated[Duration, AfterValidator(_token_lifetime)]


class AllowedSources(Section):
    """Where tenants' sources may come from."""

    allowed: tuple[SourcePatternText, ...] = Field(
        (),
        description="URL patterns for the sources of every tenant, e.g. `https://git.example.com/org/*` for everything "
        "at or below it, `https://charts.example.com`, `oci://registry.example.com/org/*`, "
        "`bucket://storage.example.com/name`, or `*` for all, in addition to the tenant's own. If neither the stack "
        "nor the tenant has any, a tenant has only the sources that the stack declares for it.",
    )
    providers: tuple[CloudProvider, ...] = Field(
        (),
        description="Clouds that a source may log in to with its own service account; none by default.",
    )
    bucket_regions: tuple[str, ...] = Field((), description="Regions that a Bucket may set; any by default.")
    plain_http: bool = Field(
        False, description="Allow sources without TLS: `http://` URLs or `insecure: true`; for a lab."
    )
    client_certificates: bool = Field(
        False,
        description="Allow tenants to set `certSecretRef` in their own sources; those of the stack always may.",
    )
    submodules: bool = Field(
        False,
        description="Allow GitRepositories to fetch submodules, from any URL in the repository: admission does not see "
        "them.",
    )
    verified: tuple[VerifiedKind, ...] = Field(
        (),
        description="Kinds whose content must be verified by signature, in addition to the tenant's own. With "
        "`HelmChart`, charts may come only from HelmRepositories, and by `chartRef` from an OCIRepository only if "
        "`OCIRepository` is listed as well.",
    )


class AllowedImages(Section):
    """Which container images tenants may run."""

    allowed: tuple[ImagePatternText, ...] | None = Field(
        None,
        description="Repositories, e.g. `registry.example.com/org/*`, in addition to the tenant's own. If neither the "
        "stack nor the tenant has any, all images are allowed.",
    )
    digests: bool = Field(False, description="Require images by digest.")
    signatures: tuple[ImageSignature, ...] = Field(
        (), description="Images that have to be signed, and by whom; Kyverno verifies them (docs/images.md)."
    )
    registries: RegistryAccess = Field(
        default_factory=RegistryAccess, description="How Kyverno reads signatures from registries."
    )


class AllowedNotifications(Section):
    """What notification-controller may send for tenants, if these may write Providers or Receivers."""

    types: tuple[ProviderTypeName, ...] = Field(
        (), description="Types of Providers that tenants may write, e.g. `slack`; needed to open the kind `Provider`."
    )
    hosts: tuple[HostPatternText, ...] = Field(
        (),
        description="Hosts that Providers of tenants may post to and whose tokens their Receivers may trust, e.g. "
        "`hooks.slack.com`, `alertmanager.monitoring.svc:9093`, `*.example.com`, in addition to the tenant's own.",
    )
    plain_http: bool = Field(False, description="Allow notifications without TLS, e.g. within the cluster.")


class IngressRules(Section):
    """What tenants may publish through the cluster's Ingress controllers."""

    hosts: tuple[IngressHost, ...] | None = Field(
        None,
        description="Host names for the Ingresses of every tenant, e.g. `shop.example.com`, or `*.example.com` for all "
        "names below, in addition to the tenant's own. If neither the stack nor the tenant has any, all are allowed.",
    )
    snippets: bool = Field(
        False,
        description="Allow annotations that contain proxy configuration, such as `configuration-snippet` of "
        "ingress-nginx, which can read the traffic and Secrets of all tenants.",
    )


class PoliciesConfig(Section):
    """Admission in tenants' namespaces."""

    engine: PolicyEngine = Field(
        PolicyEngine.NATIVE, description="What enforces the policies; `kyverno` and `both` need the section `kyverno`."
    )
    mode: PolicyMode = Field(
        PolicyMode.ENFORCE,
        description="Deny violations (`enforce`), or allow and report them (`audit`), see "
        "`flux-tenancy tenant violations`.",
    )
    modes: dict[PolicyName, PolicyMode] = Field(
        default_factory=dict, description="A different mode for a policy, by its name (docs/policies.md)."
    )
    sources: AllowedSources = Field(default_factory=AllowedSources, description="Sources of tenants.")
    images: AllowedImages = Field(default_factory=AllowedImages, description="Container images of tenants.")
    notifications: AllowedNotifications = Field(
        default_factory=AllowedNotifications, description="Notifications of tenants."
    )
    flux_images: bool = Field(
        False,
        description="Require the signatures of Flux's releases on its controllers' images; Kyverno needs access to "
        "their registry and to Sigstore's keys (docs/images.md).",
    )
    onboarding: bool = Field(
        False,
        description="Let Kyverno provision namespaces that the platform labels for a tenant (docs/onboarding.md).",
    )
    minimum_interval: Duration = Field("30s", description="Minimum interval of reconciliation.")
    # The webhooks of AWS and Azure request a day; SPIFFE's and Vault's agents need less.
    maximum_token_lifetime: TokenLifetime = Field(
        "24h",
        description="Maximum lifetime of a service account token that a pod mounts (`expirationSeconds`); kubelet "
        "renews it long before. At least 1h, which Kubernetes requests for every pod.",
    )
    maximum_timeout: Duration = Field(
        "1h",
        description="Maximum `timeout` of Flux's objects, for which they can occupy a worker that all tenants share; "
        "applies also to a Kustomization without one, whose timeout is its interval.",
    )
    service_types: tuple[ServiceType, ...] = Field(("ClusterIP",), description="Types that a Service may have.")
    service_annotations: tuple[ServiceAnnotation, ...] = Field(
        (),
        description="Annotations that tenants may set on Services of type LoadBalancer, e.g. "
        "`service.beta.kubernetes.io/aws-load-balancer-type`, or `metallb.io/*` for all that begin so; by default only "
        "those that Flux, Helm and kubectl set.",
    )
    load_balancer_classes: tuple[str, ...] = Field(
        (), description="Values of `spec.loadBalancerClass` that tenants may set; none by default."
    )
    priority_classes: tuple[str, ...] = Field((), description="Priority classes that pods may use; none by default.")
    finalizers: tuple[FinalizerName, ...] = Field(
        (),
        description="Finalizers that tenants may set in addition to those of Kubernetes and Flux, e.g. "
        "`example.com/cleanup`; a controller with cluster-wide rights needs no entry for its own.",
    )
    maximum_release_size: int = Field(
        128,
        ge=1,
        le=1024,
        description="Maximum size, in KiB, of the Secret in which Helm stores a release; helm-controller may need a "
        "thousand times as much memory to read it.",
    )
    # Databases and runners of jobs take minutes to stop; the longest defaults of well-known charts are an hour.
    maximum_termination_grace_period: Duration = Field(
        "1h",
        description="Maximum `terminationGracePeriodSeconds` of pods, for which they can hold up the drain of a node.",
    )
    csi_drivers: tuple[str, ...] = Field(
        (),
        description="CSI drivers whose volumes pods may mount inline, without a claim, e.g. "
        "`secrets-store.csi.k8s.io`; none by default.",
    )
    volume_types: tuple[VolumeType, ...] = Field(
        (), description="Network storage that pods may mount without a claim; none by default."
    )
    tolerations: tuple[str, ...] | None = Field(
        None,
        description="Keys of the taints that pods may tolerate, e.g. `nvidia.com/gpu`; `*` for all. By default, any "
        "except those of control planes and of cordoned or unhealthy nodes, and no toleration of all taints.",
    )
    node_names: bool = Field(
        False, description="Allow pods to choose a node by name, in a nodeSelector or an affinity."
    )
    blocking_disruption_budgets: bool = Field(
        False, description="Allow PodDisruptionBudgets that permit no eviction, which block node drains."
    )
    ingress: IngressRules = Field(default_factory=IngressRules, description="Ingresses of tenants.")
    storage_classes: tuple[str, ...] | None = Field(
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
                ("mode",), Message("FT-CFG-502", "must not be off", "remove mode and set engine to none")
            )
        return self
