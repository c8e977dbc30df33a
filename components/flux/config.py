"""The `flux` section: the release, its security profile and the platform's own repository."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from components.config.resources import Resources
from components.config.section import Section
from components.config.types import DnsLabel, Network, RepositoryPath, Sha256, WebUrl
from components.flux.controllers import DEFAULT_CONTROLLERS, RECONCILERS, REQUIRED_CONTROLLERS, Controller
from components.flux.lockdown_flags import SECRETS_CACHE, caches_secrets, refusal
from components.flux.support import OLDEST_KUBERNETES, known_versions, minor
from components.flux.types import ControllerArgument, EgressHost, FluxVersion
from components.git.config import GitSource
from components.sync.config import Reconciliation

RELEASE_URL = "https://github.com/fluxcd/flux2/releases/download/v{version}/install.yaml"


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
