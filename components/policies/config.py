"""What tenants may do, as far as admission can see it: engine, mode and the platform's allow-lists."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from components.allowlists.types import HostPattern, HostPatternText, ImagePatternText, SourcePatternText, VerifiedKind
from components.config.errors import MisplacedValueError
from components.config.section import Section
from components.config.types import Duration, seconds
from components.policies.image_signatures_config import ImageSignature, RegistryAccess
from components.policies.names import PolicyName
from components.policies.types import FinalizerName


class PolicyEngine(StrEnum):
    """What admits: Kubernetes' own ValidatingAdmissionPolicies, Kyverno, both at once, or nothing."""

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
    """What becomes of a request that a policy is against."""

    ENFORCE = "enforce"
    AUDIT = "audit"
    OFF = "off"


CloudProvider = Literal["aws", "azure", "gcp"]
ServiceType = Literal["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]


VolumeType = Literal["cephfs", "fc", "glusterfs", "iscsi", "nfs", "rbd"]
ANY_TAINT = "*"
"""In place of the key of a taint."""

_SHORTEST_TOKEN_LIFETIME = "1h"


def _token_lifetime(duration: str) -> str:
    if seconds(duration) < seconds(_SHORTEST_TOKEN_LIFETIME):
        raise ValueError(
            f"is shorter than {_SHORTEST_TOKEN_LIFETIME}, which Kubernetes itself asks for in every pod; lengthen it"
        )
    return duration


TokenLifetime = Annotated[Duration, AfterValidator(_token_lifetime)]


class AllowedSources(Section):
    """Where manifests, charts and images of tenants may come from."""

    allowed: tuple[SourcePatternText, ...] | None = Field(
        None,
        description="URL patterns that every tenant's sources may have, e.g. `https://git.example.com/org/*` for "
        "all that is at or below it, `https://charts.example.com`, `oci://registry.example.com/org/*`, "
        "`bucket://storage.example.com/name`; a tenant's own come on top. Where neither the stack nor a tenant has "
        "any, its sources may be anywhere.",
    )
    providers: tuple[CloudProvider, ...] = Field(
        (),
        description="Clouds that a source may log in to as its own service account; none where left out.",
    )
    bucket_regions: tuple[str, ...] = Field((), description="Regions that a Bucket may name; any where left out.")
    plain_http: bool = Field(
        False, description="Let sources be fetched without TLS: by `http://` URLs or `insecure: true`; for a lab."
    )
    client_certificates: bool = Field(False, description="Let sources name a `certSecretRef`.")
    submodules: bool = Field(
        False,
        description="Let GitRepositories fetch submodules, from any address that a repository names: admission does "
        "not see it.",
    )
    verified: tuple[VerifiedKind, ...] = Field(
        (),
        description="Kinds whose content must be verified by signature; a tenant's own come on top. With `HelmChart`, "
        "charts come from HelmRepositories alone, and by `chartRef` from an OCIRepository only where that is listed, "
        "too.",
    )


class AllowedImages(Section):
    """Which container images tenants may run."""

    allowed: tuple[ImagePatternText, ...] | None = Field(
        None,
        description="Repositories, e.g. `registry.example.com/org/*`; a tenant's own come on top. Where neither the "
        "stack nor a tenant has any, images may be anywhere.",
    )
    digests: bool = Field(False, description="Ask for images by digest.")
    signatures: tuple[ImageSignature, ...] = Field(
        (), description="Images that have to be signed, and by whom; Kyverno looks (docs/images.md)."
    )
    registries: RegistryAccess = Field(
        default_factory=RegistryAccess, description="How Kyverno reads signatures from registries."
    )


class AllowedNotifications(Section):
    """Whom notification-controller may talk to for tenants."""

    hosts: tuple[HostPatternText, ...] | None = Field(
        None,
        description="Hosts that Providers may post to and whose tokens Receivers may trust, e.g. `hooks.slack.com`, "
        "`alertmanager.monitoring.svc:9093`, `*.example.com`; a tenant's own come on top. Where neither the stack nor "
        "a tenant has any, all public names.",
    )
    plain_http: bool = Field(False, description="Let notifications go without TLS, e.g. within the cluster.")


class IngressRules(Section):
    """What tenants may publish through the cluster's Ingress controllers."""

    hosts: tuple[HostPattern, ...] | None = Field(
        None,
        description="Host names that every tenant's Ingresses may have, e.g. `shop.example.com`, or `*.example.com` "
        "for all below; a tenant's own come on top. Where neither the stack nor a tenant has any, hosts may be any.",
    )
    snippets: bool = Field(
        False,
        description="Let annotations hold pieces of the proxy's configuration, such as `configuration-snippet` of "
        "ingress-nginx, which can read every tenant's traffic and Secrets.",
    )


class PoliciesConfig(Section):
    """Admission in tenants' namespaces."""

    engine: PolicyEngine = Field(PolicyEngine.NATIVE, description="What admits; `kyverno` and `both` need `kyverno`.")
    mode: PolicyMode = Field(
        PolicyMode.ENFORCE,
        description="Refuse (`enforce`), or let pass and warn (`audit`), which `make policy-report` shows.",
    )
    modes: dict[PolicyName, PolicyMode] = Field(
        default_factory=dict, description="Another mode for a policy, by its name (docs/policies.md)."
    )
    sources: AllowedSources = Field(default_factory=AllowedSources, description="Sources of tenants.")
    images: AllowedImages = Field(default_factory=AllowedImages, description="Container images of tenants.")
    notifications: AllowedNotifications = Field(
        default_factory=AllowedNotifications, description="Where notifications of tenants go."
    )
    flux_images: bool = Field(
        False,
        description="Ask for the signatures of Flux's own releases on its controllers' images; Kyverno needs a way to "
        "their registry and to Sigstore's keys (docs/images.md).",
    )
    onboarding: bool = Field(
        False,
        description="Let Kyverno furnish namespaces that the platform labels for a tenant (docs/onboarding.md).",
    )
    minimum_interval: Duration = Field("30s", description="Shortest interval of reconciliation.")
    # A day is what the webhooks of AWS and Azure mount, and SPIFFE's and Vault's agents live with less.
    maximum_token_lifetime: TokenLifetime = Field(
        "24h",
        description="Longest validity of a service account token that a pod mounts (`expirationSeconds`); kubelet "
        "renews it long before. At least 1h, which Kubernetes itself asks for in every pod.",
    )
    maximum_timeout: Duration = Field(
        "1h",
        description="Longest `timeout` of Flux's objects, during which a worker of a controller that all tenants share "
        "waits; holds also for a Kustomization without one, whose timeout is its interval.",
    )
    service_types: tuple[ServiceType, ...] = Field(("ClusterIP",), description="Types that a Service may have.")
    priority_classes: tuple[str, ...] = Field((), description="Priority classes that pods may name; none if left out.")
    finalizers: tuple[FinalizerName, ...] = Field(
        (),
        description="Finalizers that tenants may put on their objects besides those of Kubernetes and Flux, e.g. "
        "`example.com/cleanup`; a controller with rights in the whole cluster needs no entry for its own.",
    )
    csi_drivers: tuple[str, ...] = Field(
        (),
        description="CSI drivers whose volumes pods may name by themselves, without a claim, e.g. "
        "`secrets-store.csi.k8s.io`; none if left out.",
    )
    volume_types: tuple[VolumeType, ...] = Field(
        (), description="Network storage that pods may mount without a claim; none if left out."
    )
    tolerations: tuple[str, ...] | None = Field(
        None,
        description="Keys of the taints that pods may tolerate, e.g. `nvidia.com/gpu`; `*` for every one. Where left "
        "out, any but those of control planes, of nodes that are being drained or not well, and all at once.",
    )
    node_names: bool = Field(False, description="Let pods choose a node by its name, in a nodeSelector or an affinity.")
    blocking_disruption_budgets: bool = Field(
        False, description="Let PodDisruptionBudgets allow no eviction at all, which holds up drains of nodes."
    )
    ingress: IngressRules = Field(default_factory=IngressRules, description="What tenants publish.")
    storage_classes: tuple[str, ...] | None = Field(
        None,
        description="Storage classes that volume claims may have; any where left out. List them where the cluster has "
        "volumes that were made by hand: whoever claims their class gets one with what is in it.",
    )

    def mode_of(self, policy: PolicyName) -> PolicyMode:
        """The mode of one policy."""
        return self.modes.get(policy, self.mode)

    @model_validator(mode="after")
    def _off_is_the_engine(self) -> PoliciesConfig:
        if self.mode is PolicyMode.OFF:
            raise MisplacedValueError(("mode",), "is off; leave mode out and set engine to none")
        return self
