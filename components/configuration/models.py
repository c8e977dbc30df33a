"""The configuration of a stack and of a tenant, typed once: checks, schemas and reference come from here."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from components.configuration.decryption import Decryption
from components.configuration.errors import MisplacedValueError
from components.configuration.kyverno import KyvernoConfig
from components.configuration.policies import PoliciesConfig, TenantPolicies
from components.configuration.resources import Resources
from components.configuration.section import Section
from components.configuration.sources import GitConfig, GitHubConfig, GitSource
from components.configuration.types import (
    ClusterUid,
    ControllerArgument,
    DnsLabel,
    Duration,
    EgressHost,
    FluxVersion,
    NamespaceName,
    Network,
    Quantity,
    QuotaResource,
    RepositoryPath,
    SecretText,
    ServiceAccountName,
    Sha256,
    TenantName,
    WebUrl,
)
from components.flux.controllers import DEFAULT_CONTROLLERS, RECONCILERS, REQUIRED_CONTROLLERS, Controller
from components.flux.lockdown_flags import SECRETS_CACHE, caches_secrets, refusal
from components.flux.support import OLDEST_KUBERNETES, known_versions, minor

RELEASE_URL = "https://github.com/fluxcd/flux2/releases/download/v{version}/install.yaml"

# Labels that decide what a tenant may do; they come from typed keys, never from free-form ones.
PROTECTED_LABEL_PREFIXES = (
    "pod-security.kubernetes.io/",
    "toolkit.fluxcd.io/",
    "flux-tenancy/",
    "kubernetes.io/",
    "kustomize.toolkit.fluxcd.io/",
    "app.kubernetes.io/managed-by",
)


class ClusterConfig(Section):
    """The one cluster of the stack and how to be sure that it is this one."""

    kubeconfig: str | None = Field(None, description="Path of a kubeconfig file; relative paths start at the project.")
    kubeconfig_content: SecretText | None = Field(
        None,
        description="A kubeconfig itself; `pulumi config set --secret --path cluster.kubeconfigContent`.",
    )
    context: str | None = Field(None, description="Context of the kubeconfig; its current one where left out.")
    uid: ClusterUid | None = Field(
        None,
        description="Expected identity of the cluster: the uid of its namespace `kube-system`. "
        "Where left out, the first `pulumi up` records it.",
    )

    adopt: bool = Field(
        False,
        description="Take over objects that are in the cluster already, such as those of `flux bootstrap`, instead of "
        "refusing to touch them (docs/adoption.md).",
    )

    @model_validator(mode="after")
    def _one_kubeconfig(self) -> ClusterConfig:
        if (self.kubeconfig is None) == (self.kubeconfig_content is None):
            raise ValueError("name the cluster by exactly one of kubeconfig (a path) and kubeconfigContent (a secret)")
        return self


class Profile(StrEnum):
    """Flux's security profiles. Source: Flux RFC-0003."""

    MULTI_TENANT = "multi-tenant"
    SINGLE_TENANT = "single-tenant"


class ManifestSource(Section):
    """Where a release's install manifest comes from. Both ways are held against the same digest."""

    url: WebUrl | None = Field(None, description="Where to fetch it; the published release where neither is given.")
    bundle: str | None = Field(
        None,
        description="Path of a local file, where there is no network; relative paths start at the project.",
    )

    @model_validator(mode="after")
    def _at_most_one(self) -> ManifestSource:
        if self.url is not None and self.bundle is not None:
            raise ValueError("give url or bundle, not both")
        return self


class Reconciliation(Section):
    """How a folder of a repository is applied.

    Source: https://fluxcd.io/flux/components/kustomize/kustomizations/
    """

    interval: Duration = Field("10m", description="How often to compare with the cluster and correct drift.")
    retry_interval: Duration = Field("1m", description="How soon to try again after a failure.")
    timeout: Duration = Field("5m", description="How long applying and becoming ready may take.")
    prune: bool = Field(True, description="Delete what left the repository.")
    wait: bool = Field(True, description="Call the sync ready only when everything that it applied is ready.")
    suspend: bool = Field(False, description="Stop reconciling, and pruning, for now.")
    decryption: Decryption | None = Field(
        None, description="What decrypts the Secrets that lie there encrypted by SOPS (docs/secrets.md)."
    )


class PlatformSyncConfig(Reconciliation):
    """What the platform team keeps in Git, applied with the rights of kustomize-controller.

    It has the names that `flux bootstrap` gives, so that a cluster bootstrapped by it can be taken over.
    """

    source: Annotated[GitSource, Field(description="The platform's own repository.")]
    path: RepositoryPath | None = Field(
        None, description="Folder of the repository to apply; `./clusters/<stack>` where left out."
    )


class VaultServer(Section):
    """An OpenBao or Vault server and where service accounts of the cluster log in to it.

    Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#openbaovault-kubernetes-auth
    """

    address: WebUrl = Field(description="Its address, exactly as the encrypted files name it.")
    login_path: str = Field(min_length=1, description="Login path of the auth method, e.g. `auth/kubernetes/login`.")


class ControllerRights(StrEnum):
    """What kustomize-controller and helm-controller may do themselves (docs/controller-rights.md).

    `impersonate`: act as the service accounts of tenants, and of `flux.impersonate`, and nothing else. `release`: what
    the release gives them, which is everything.
    """

    IMPERSONATE = "impersonate"
    RELEASE = "release"


class Impersonation(Section):
    """Service accounts of the platform's own in one namespace."""

    namespace: DnsLabel = Field(description="Their namespace: `flux-system`, a tenant's, or one that exists already.")
    service_accounts: tuple[DnsLabel, ...] = Field(
        min_length=1, description="Their names; the platform makes them and binds them to what they need."
    )


class FluxEgress(Section):
    """What Flux's controllers may connect to under the multi-tenant profile, besides what they need anyway."""

    hosts: tuple[EgressHost, ...] = Field(
        (),
        description="Hosts that kustomize-controller may reach over HTTP: where kustomizations may fetch remote files "
        "from, key management services, API servers of other clusters. Every tenant can have files fetched from them "
        "(docs/lockdown.md).",
    )
    networks: tuple[Network, ...] = Field(
        (),
        description="Networks that a NetworkPolicy lets kustomize-controller's pod connect to, besides DNS and pods of "
        "`flux-system`: the endpoints of the API server (`kubectl get endpointslices kubernetes`) and those of `hosts`."
        " Where left out, it may connect to anything, as the release has it.",
    )


class FluxConfig(Section):
    """The Flux release and how it is locked down."""

    version: FluxVersion = Field(description="The release to install. Changing it upgrades a running cluster.")
    sha256: Sha256 = Field(description="Digest of the release's `install.yaml`; any other content is refused.")
    manifests: ManifestSource = Field(
        default_factory=ManifestSource, description="Where the install manifest comes from."
    )
    components: tuple[Controller, ...] = Field(DEFAULT_CONTROLLERS, description="Controllers to install.")
    profile: Profile = Field(Profile.MULTI_TENANT, description="Security profile; can be changed on a running cluster.")
    controller_rights: ControllerRights = Field(
        ControllerRights.IMPERSONATE,
        description="What kustomize-controller and helm-controller may do themselves, under the multi-tenant profile; "
        "the single-tenant one leaves them what the release gives.",
    )
    impersonate: tuple[Impersonation, ...] = Field(
        (),
        description="Service accounts that Kustomizations and HelmReleases of the platform name, beside those of "
        "tenants and, with `flux.sync`, `kustomize-controller` (docs/controller-rights.md).",
    )
    default_service_account: DnsLabel = Field(
        "default",
        description="The account as which Kustomizations and HelmReleases are applied that name none, under the "
        "multi-tenant profile: one of their own namespace by this name.",
    )
    workload_identity: bool = Field(
        False,
        description="Let controllers mint service account tokens, as cloud identities of objects need.",
    )
    extra_args: dict[Controller, tuple[ControllerArgument, ...]] = Field(
        default_factory=dict,
        description="More arguments for a controller, e.g. `--concurrent=8`; under the multi-tenant profile "
        "none that the profile sets itself or refuses (docs/lockdown.md).",
    )
    resources: dict[Controller, Resources] = Field(
        default_factory=dict, description="Compute resources of a controller, laid over the release's."
    )
    webhook_url: WebUrl | None = Field(
        None,
        description="Where Git hosts reach the Service `webhook-receiver` of this cluster, e.g. through an Ingress; "
        "needed for sources with a `webhook`.",
    )
    vaults: tuple[VaultServer, ...] = Field(
        (),
        description="The only OpenBao or Vault servers that service accounts of tenants may decrypt with.",
    )
    egress: FluxEgress = Field(
        default_factory=FluxEgress, description="What the controllers may connect to, besides what they need anyway."
    )
    sync: PlatformSyncConfig | None = Field(
        None, description="The platform's own repository, applied after the controllers; none where left out."
    )

    @property
    def impersonates(self) -> bool:
        """Whether the controllers may do nothing but act as service accounts."""
        return self.profile is Profile.MULTI_TENANT and self.controller_rights is ControllerRights.IMPERSONATE

    @property
    def url(self) -> str:
        return self.manifests.url or RELEASE_URL.format(version=self.version)

    @field_validator("version")
    @classmethod
    def _known_version(cls, version: str) -> str:
        if minor(version) not in OLDEST_KUBERNETES:
            raise ValueError(f"is a Flux version that this program does not know; it knows {known_versions()}")
        return version

    @field_validator("default_service_account")
    @classmethod
    def _powerless(cls, account: str) -> str:
        if account in {controller.value for controller in Controller}:
            raise ValueError(
                "is an account of Flux's own: what names no account in flux-system would be applied with its rights; "
                "choose another"
            )
        return account

    @field_validator("components")
    @classmethod
    def _usable(cls, components: tuple[Controller, ...]) -> tuple[Controller, ...]:
        if missing := [str(needed) for needed in REQUIRED_CONTROLLERS if needed not in components]:
            raise ValueError(f"must include {' and '.join(missing)}; no tenant is reconciled without")
        if len(set(components)) != len(components):
            raise ValueError("names a controller twice")
        return components

    @model_validator(mode="after")
    def _arguments_fit(self) -> FluxConfig:
        for key, controllers in (("extraArgs", self.extra_args), ("resources", self.resources)):
            if strangers := [str(controller) for controller in controllers if controller not in self.components]:
                raise ValueError(f"{key} is for {', '.join(strangers)}, which components does not install")
        if self.profile is Profile.MULTI_TENANT:
            arguments = [argument for several in self.extra_args.values() for argument in several]
            if reasons := list(filter(None, map(refusal, arguments))):
                raise ValueError(f"extraArgs: {'; '.join(reasons)}")
        if self.impersonates:
            for controller, more in self.extra_args.items():
                if controller in RECONCILERS and any(map(caches_secrets, more)):
                    raise ValueError(
                        f"extraArgs: the feature gate {SECRETS_CACHE} makes {controller.value} watch all Secrets "
                        "of the cluster, which controllerRights: impersonate does not let it; leave it out, or set "
                        "controllerRights to release"
                    )
        return self


class PolicyRule(Section):
    """A rule of a Kubernetes role."""

    api_groups: tuple[str, ...] = Field(description="API groups; the core one is the empty string.")
    resources: tuple[str, ...] = Field(
        min_length=1, description="Resources by their plural names, e.g. `certificates`."
    )
    verbs: tuple[str, ...] = Field(min_length=1, description="What is allowed, e.g. `get`, `list`, `watch`, `create`.")
    resource_names: tuple[str, ...] = Field(
        (), description="Names of the only objects that are meant; all where left out."
    )


class ContainerLimits(Section):
    """The LimitRange of a tenant's namespaces.

    Source: https://kubernetes.io/docs/concepts/policy/limit-range/
    """

    requests: dict[QuotaResource, Quantity] = Field(
        default_factory=dict, description="What a container requests that does not say, e.g. `cpu: 50m`."
    )
    limits: dict[QuotaResource, Quantity] = Field(
        default_factory=dict, description="The limits of a container that does not say, e.g. `memory: 256Mi`."
    )
    maximum: dict[QuotaResource, Quantity] = Field(
        default_factory=dict, description="The highest limit of a container, e.g. `memory: 4Gi`."
    )


class TenantLimits(Section):
    """How much a tenant may have, in each of its namespaces."""

    flux_objects: int = Field(
        100, ge=1, description="How many objects of each of Flux's kinds: GitRepositories, HelmReleases and so on."
    )
    # kustomize-controller builds one at a time, so this many stand before a neighbour's: docs/tenants.md.
    kustomizations: int = Field(
        5,
        ge=1,
        description="How many Kustomizations, as far as `fluxObjects` allows; Flux builds one at a time, so a tenant's "
        "push waits for those of another.",
    )
    quota: dict[QuotaResource, Quantity] = Field(
        default_factory=dict,
        description="`hard` of a ResourceQuota, e.g. `requests.cpu: 4`, `pods: 50`; a Pod has to state what a quota "
        "is for.",
    )
    objects: dict[QuotaResource, Annotated[int, Field(ge=0)] | None] = Field(
        default_factory=dict,
        description="Other numbers of objects of Kubernetes' own kinds than those in docs/tenants.md, by resource, "
        "e.g. `secrets: 2000`, `jobs.batch: 50`; null counts none of that kind.",
    )
    containers: ContainerLimits = Field(
        default_factory=ContainerLimits,
        description="What a container gets that states no requests or limits, and the most that it may have; nothing "
        "where left out, since Pods that run well without would be throttled or killed.",
    )

    @property
    def most_kustomizations(self) -> int:
        """How many Kustomizations of its own a tenant may have in a namespace."""
        return min(self.kustomizations, self.flux_objects)


class TenantNetwork(StrEnum):
    """What Pods of a tenant may talk to, where the cluster's network heeds NetworkPolicies."""

    NONE = "none"
    DEFAULT_DENY = "default-deny"


class TenancyConfig(Section):
    """What holds for all tenants of the stack."""

    limits: TenantLimits = Field(
        default_factory=TenantLimits, description="How much a tenant may have, in each of its namespaces."
    )
    network_policy: TenantNetwork = Field(
        TenantNetwork.NONE,
        description="Let Pods of tenants that the stack lists talk to anything (`none`), or to the tenant's own "
        "namespaces and DNS alone (`default-deny`); no tenant can open that itself (docs/tenants.md).",
    )
    extra_rules: tuple[PolicyRule, ...] = Field(
        (), description="Rules added to the tenant role, e.g. for the platform's own custom resources."
    )
    service_account_name: ServiceAccountName | None = Field(
        None,
        description="Name of the service account as which Flux applies what is a tenant's, e.g. `flux`; that of the "
        "tenant where left out.",
    )
    settle_timeout: Duration = Field(
        "60s",
        description="How long `pulumi up` waits for Flux's answer about each sync that the update concerns, and at "
        "most 10 s of it about all others; a tenant that is not ready by then is reported and never fails the update.",
    )
    offboarding_timeout: Duration = Field(
        "5m",
        description="How long `pulumi up` waits for each namespace of a tenant that is removed, and for Flux to prune "
        "on top of `sync.timeout`; then the tenant's access goes first (docs/tenants.md).",
    )


class PodSecurity(StrEnum):
    """Pod Security Standards. Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/"""

    RESTRICTED = "restricted"
    BASELINE = "baseline"
    PRIVILEGED = "privileged"


class NamespaceConfig(Section):
    """A namespace that belongs to the tenant."""

    name: NamespaceName = Field(description="Name; a namespace of the cluster belongs to one tenant at most.")
    pod_security: PodSecurity = Field(
        PodSecurity.RESTRICTED, description="Pod Security Standard that is enforced and warned about."
    )
    labels: dict[str, str] = Field(
        default_factory=dict,
        description="More labels, e.g. a cost centre; none that the platform sets itself.",
    )
    annotations: dict[str, str] = Field(
        default_factory=dict, description="More annotations; none that the platform sets itself."
    )

    @field_validator("labels", "annotations")
    @classmethod
    def _free_keys(cls, entries: dict[str, str]) -> dict[str, str]:
        if taken := [key for key in entries if key.startswith(PROTECTED_LABEL_PREFIXES)]:
            raise ValueError(f"sets {', '.join(taken)}, which the platform sets itself; use podSecurity and the like")
        return entries


class SyncConfig(Reconciliation):
    """How the tenant's repository is applied. Source: https://fluxcd.io/flux/components/kustomize/kustomizations/"""

    path: RepositoryPath = Field("./", description="Folder of the repository to apply.")
    target_namespace: NamespaceName | None = Field(
        None,
        description="Namespace that every object of the repository is put into; one of the tenant's own.",
    )
    deletion_policy: Literal["MirrorPrune", "Delete", "WaitForTermination", "Orphan"] = Field(
        "WaitForTermination",
        description="What becomes of the applied objects when the tenant is removed: they are deleted and "
        "awaited, deleted, left (`Orphan`), or as `prune` says (`MirrorPrune`).",
    )


class Role(StrEnum):
    """What a tenant may do in its namespaces: the project's own role, or that of Kubernetes by this name."""

    TENANT = "tenant"
    ADMIN = "admin"
    CLUSTER_ADMIN = "cluster-admin"


class TenantConfig(Section):
    """A tenant as one environment has it: its base file with the stack's entry laid over it."""

    namespaces: tuple[NamespaceConfig, ...] = Field(
        min_length=1,
        description="Namespaces of the tenant; the first is its home, where source and sync live.",
    )
    source: Annotated[GitSource, Field(description="Where the tenant's manifests come from.")]
    sync: SyncConfig = Field(default_factory=SyncConfig, description="How they are applied.")
    role: Role = Field(
        Role.TENANT,
        description="Cluster role that is bound to the tenant's service account in each of its namespaces.",
    )
    service_account_name: ServiceAccountName | None = Field(
        None,
        description="Name of the service account as which Flux applies what is the tenant's; "
        "`tenancy.serviceAccountName`, or else the tenant's own name, where left out.",
    )
    policies: TenantPolicies = Field(
        default_factory=TenantPolicies, description="What it may have beyond what all tenants may."
    )

    @property
    def home(self) -> str:
        return self.namespaces[0].name

    @property
    def namespace_names(self) -> tuple[str, ...]:
        return tuple(namespace.name for namespace in self.namespaces)

    @model_validator(mode="after")
    def _own_namespaces(self) -> TenantConfig:
        names = self.namespace_names
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise MisplacedValueError(("namespaces",), f"lists {', '.join(twice)} twice")
        target = self.sync.target_namespace
        if target is not None and target not in names:
            raise MisplacedValueError(
                ("sync", "targetNamespace"),
                f"{target!r} is none of the tenant's namespaces: {', '.join(names)}",
            )
        return self


class StackConfig(Section):
    """Everything that `Pulumi.<stack>.yaml` says to this project, laid over the tenants' base files."""

    cluster: ClusterConfig = Field(description="The cluster that the stack is applied to.")
    flux: FluxConfig = Field(description="The Flux release and how it is locked down.")
    kyverno: KyvernoConfig | None = Field(
        None, description="Kyverno, installed before the first tenant; none where left out (docs/kyverno.md)."
    )
    tenancy: TenancyConfig = Field(
        default_factory=TenancyConfig, description="What holds for all tenants of the stack."
    )
    policies: PoliciesConfig = Field(
        default_factory=PoliciesConfig, description="What admission refuses in tenants' namespaces (docs/policies.md)."
    )
    git: GitConfig = Field(default_factory=GitConfig, description="What is known of Git hosts.")
    github: GitHubConfig = Field(
        default_factory=GitHubConfig, description="GitHub, where deploy keys and webhooks are registered."
    )
    tenants: dict[TenantName, TenantConfig] = Field(
        default_factory=dict,
        description="The tenants that this environment has, by name; laid over the tenant's file.",
    )

    @property
    def sources(self) -> dict[tuple[str, ...], GitSource]:
        """Every Git source of the stack by the path of its keys."""
        sources: dict[tuple[str, ...], GitSource] = {}
        if self.flux.sync is not None:
            sources["flux", "sync", "source"] = self.flux.sync.source
        return sources | {("tenants", name, "source"): tenant.source for name, tenant in self.tenants.items()}

    @property
    def decryptions(self) -> dict[tuple[str, ...], Decryption]:
        """What decrypts each sync of the stack, by the path of its keys."""
        syncs: dict[tuple[str, ...], Reconciliation | None] = {("flux", "sync"): self.flux.sync}
        syncs |= {("tenants", name, "sync"): tenant.sync for name, tenant in self.tenants.items()}
        return {(*path, "decryption"): sync.decryption for path, sync in syncs.items() if sync and sync.decryption}

    @field_validator("tenants", "tenancy", "policies", "git", "github", mode="before")
    @classmethod
    def _empty(cls, value: Any) -> Any:
        return {} if value is None else value
