"""The `flux` section: the release, its security profile and the platform's own repository."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, field_validator, model_validator

from flux_tenancy.components.config.errors import MisplacedValueError
from flux_tenancy.components.config.messages import Message, joined
from flux_tenancy.components.config.networks import NetworkRange
from flux_tenancy.components.config.resources import Resources
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import RESERVED_PREFIXES, DnsLabel, Network, RepositoryPath, Sha256, WebUrl
from flux_tenancy.components.git.config import GitSource
from flux_tenancy.components.installs.flux.lockdown_flags import SECRETS_CACHE, caches_secrets, refusal
from flux_tenancy.components.installs.flux.release import (
    FLUX,
    ControllerArgument,
    EgressHost,
    FluxMinor,
    FluxVersion,
    reviewed_minor,
)
from flux_tenancy.components.installs.product import minor
from flux_tenancy.components.sync.kustomization import Reconciliation
from flux_tenancy.components.sync.notifications import Notification
from flux_tenancy.components.vocabulary.names import (
    DEFAULT_CONTROLLERS,
    DEFAULT_LANE,
    FLUX_NAMESPACE,
    LANED,
    REQUIRED_CONTROLLERS,
    Controller,
    account_of,
)

RELEASE_URL = f"{FLUX.repository}/releases/download/v{{version}}/install.yaml"
PLATFORM_LANE = "platform"
"""How messages and outputs name the platform's own controllers."""
SELECTOR = "--watch-label-selector="
CONCURRENT = "--concurrent="
# With the name of a controller and what the Deployment controller adds, it is part of the names of pods.
_LONGEST_LANE = 20
_CLUSTERS_OWN = tuple(prefix for prefix in RESERVED_PREFIXES if not FLUX_NAMESPACE.startswith(prefix))


class Profile(StrEnum):
    """Flux's security profiles. Source: Flux RFC-0003."""

    MULTI_TENANT = "multi-tenant"
    SINGLE_TENANT = "single-tenant"


class ManifestSource(Section):
    """Where a release's install manifest comes from. Either is checked against the same digest."""

    url: WebUrl | None = Field(None, description="URL of the manifest; defaults to that of the published Flux release.")
    bundle: str | None = Field(
        None,
        description="Path of a local file, for clusters without internet access; relative to the project or absolute.",
    )

    @model_validator(mode="after")
    def _at_most_one(self) -> ManifestSource:
        if self.url is not None and self.bundle is not None:
            raise ValueError(Message("FT-CFG-305", "sets url and bundle", "keep one of them"))
        return self


class PlatformSyncConfig(Reconciliation):
    """The platform team's own repository, applied with the rights of kustomize-controller.

    Its objects have the names that `flux bootstrap` uses, so that a bootstrapped cluster can be taken over.
    """

    source: Annotated[GitSource, Field(description="The platform's own repository.")]
    path: RepositoryPath | None = Field(
        None, description="Folder of the repository to apply; defaults to `./clusters/<stack>`."
    )


class VaultServer(Section):
    """An OpenBao or Vault server, and where service accounts of the cluster log in to it.

    Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#openbaovault-kubernetes-auth
    """

    address: WebUrl = Field(description="Its address, exactly as the encrypted files name it.")
    login_path: str = Field(min_length=1, description="Login path of the auth method, e.g. `auth/kubernetes/login`.")


class ControllerRights(StrEnum):
    """The rights of Flux's controllers (docs/lockdown.md#controllers-rights).

    `impersonate`: only to reconcile their own kinds, to act as the service accounts of tenants and those in
    `flux.impersonate`, and to get Secrets in their namespaces. `release`: those of the release: to read every Secret,
    and for kustomize-controller and helm-controller cluster-admin.
    """

    IMPERSONATE = "impersonate"
    RELEASE = "release"


class Impersonation(Section):
    """Service accounts of the platform in one namespace."""

    namespace: DnsLabel = Field(
        description="Their namespace: `flux-system`, a tenant's, or another existing one, except those of the "
        "cluster's own components, like `kube-system`."
    )
    service_accounts: tuple[DnsLabel, ...] = Field(
        min_length=1, description="Their names; the platform team creates them and binds them to the roles they need."
    )

    @field_validator("namespace")
    @classmethod
    def _not_the_clusters(cls, namespace: str) -> str:
        """The Role reads all Secrets of the namespace, here those of the cluster's components."""
        if namespace != FLUX_NAMESPACE and namespace.startswith(_CLUSTERS_OWN):
            raise ValueError(
                Message(
                    "FT-CFG-313",
                    "belongs to the cluster's own components, whose Secrets Flux could then read",
                    "use a separate namespace for the account and its Flux objects",
                )
            )
        return namespace


class FluxEgress(Section):
    """Allowed connections of Flux's controllers under the multi-tenant profile, beyond those always needed."""

    hosts: tuple[EgressHost, ...] = Field(
        (),
        description="Hosts that kustomize-controller and helm-controller may reach over HTTP: hosts of remote files in "
        "kustomizations and of schemas that a chart's schema refers to, key management services, API servers of other "
        "clusters; write them with their ports, e.g. "
        "`files.example.com:443`. Every tenant can fetch files from them (docs/lockdown.md).",
    )
    networks: tuple[Network, ...] = Field(
        (),
        description="Networks that a NetworkPolicy lets kustomize-controller's pod connect to, in addition to DNS "
        "and pods of `flux-system`: the endpoints of the API server (`kubectl get endpointslices kubernetes`) and "
        "those of `hosts`. By default, it may connect to anything, as in the Flux release.",
    )
    allowed: dict[Controller, tuple[NetworkRange, ...]] = Field(
        default_factory=dict,
        description="Addresses that a NetworkPolicy lets the pods of a controller connect to, in addition to DNS, "
        "pods of `flux-system` and `apiServer`. A controller that is not listed may connect to anything, as in the "
        "Flux release (docs/grants.md#network).",
    )
    api_server: tuple[NetworkRange, ...] = Field(
        (), description="Endpoints of the API server (`kubectl get endpointslices kubernetes`), for `allowed`."
    )
    proxy: WebUrl | None = Field(
        None,
        description="A forward proxy, e.g. `http://proxy.example.com:3128`, through which all controllers send their "
        "HTTP requests, except their own to the API server and to each other; without one, kustomize-controller "
        "and helm-controller connect only to `hosts`, and the other controllers connect directly "
        "(docs/grants.md#network).",
    )


def _usable_lane(value: str) -> str:
    if len(value) > _LONGEST_LANE or value == PLATFORM_LANE:
        raise ValueError(
            Message(
                "FT-CFG-860",
                "is not a name of a lane",
                f"choose a name of at most {_LONGEST_LANE} characters, except {PLATFORM_LANE}",
            )
        )
    return value


LaneName = Annotated[DnsLabel, AfterValidator(_usable_lane)]


class Lane(Section):
    """A set of Flux's controllers that serves some of the tenants, and nobody else.

    Source: https://fluxcd.io/flux/installation/configuration/sharding/
    """

    resources: dict[Controller, Resources] = Field(
        default_factory=dict,
        description="Compute resources of a controller of this lane, merged over those of `flux.resources`.",
    )
    workers: int | None = Field(
        None,
        ge=1,
        description="Number of objects that each controller of this lane reconciles at once; few of them limit what "
        "its tenants take from the API server. By default, more than one tenant may have.",
    )


class FluxConfig(Section):
    """The Flux release and how it is locked down."""

    version: FluxVersion = Field(description="The Flux release to install; changing it upgrades a running cluster.")
    sha256: Sha256 = Field(
        description="SHA-256 digest of the Flux release's `install.yaml`; any other content is refused."
    )
    unreviewed_minor: FluxMinor | None = Field(
        None,
        description="A minor version of Flux newer than those that this program supports, e.g. `2.11`, to install its "
        "releases with the flags of the newest supported one (docs/support.md).",
    )
    manifests: ManifestSource = Field(default_factory=ManifestSource, description="Source of the install manifest.")
    components: tuple[Controller, ...] = Field(DEFAULT_CONTROLLERS, description="The controllers to install.")
    profile: Profile = Field(
        Profile.MULTI_TENANT, description="The security profile; it can be changed on a running cluster."
    )
    controller_rights: ControllerRights = Field(
        ControllerRights.IMPERSONATE,
        description="The rights of Flux's controllers under the multi-tenant profile; under the single-tenant "
        "profile they have those of the Flux release.",
    )
    impersonate: tuple[Impersonation, ...] = Field(
        (),
        description="Service accounts that Kustomizations and HelmReleases of the platform use, in addition to those "
        "of tenants and, with `flux.sync`, `kustomize-controller` (docs/lockdown.md#controllers-rights).",
    )
    default_service_account: DnsLabel = Field(
        "default",
        description="Service account, in their own namespace, for Kustomizations and HelmReleases that name none; only "
        "under the multi-tenant profile.",
    )
    workload_identity: bool = Field(
        False,
        description="Allow controllers to create service account tokens; required for workload identity of objects. "
        "Since Flux 2.10, only of accounts that the stack or the tenant's `tokenAccounts` names.",
    )
    extra_args: dict[Controller, tuple[ControllerArgument, ...]] = Field(
        default_factory=dict,
        description="Additional arguments of a controller, e.g. `--concurrent=8`; under the multi-tenant profile, "
        "except those that the profile sets or refuses (docs/lockdown.md).",
    )
    resources: dict[Controller, Resources] = Field(
        default_factory=dict,
        description="Compute resources of a controller, merged over those of the Flux release; its volumes have the "
        "limit for `ephemeral-storage` (docs/sizing.md#disks-of-nodes).",
    )
    lanes: dict[LaneName, Lane] = Field(
        default_factory=dict,
        description="Lanes: further sets of source-controller, kustomize-controller and helm-controller, each for the "
        f"tenants that name it in `lane`; `{DEFAULT_LANE}` is that of all others. By default, tenants share the "
        "platform's controllers (docs/sizing.md#lanes).",
    )
    set_lanes: bool = Field(
        False,
        description="Label the Flux objects that tenants write with their lane, by a MutatingAdmissionPolicy, so that "
        "tenants need not; needs Kubernetes 1.36 and Kubernetes' own admission policies.",
    )
    webhook_url: WebUrl | None = Field(
        None,
        description="URL at which Git hosts reach the Service `webhook-receiver` of this cluster, e.g. through an "
        "Ingress; needed for sources with a `webhook`.",
    )
    vaults: tuple[VaultServer, ...] = Field(
        (),
        description="OpenBao or Vault servers that tenants' service accounts may use for decryption; none by default.",
    )
    egress: FluxEgress = Field(
        default_factory=FluxEgress,
        description="Allowed connections of the controllers, in addition to those that they always need.",
    )
    sync: PlatformSyncConfig | None = Field(
        None, description="The platform's own repository, applied after the controllers; none by default."
    )

    notifications: dict[DnsLabel, Notification] = Field(
        default_factory=dict,
        description="Notifications about the platform's own sync, by name; for those about tenants, use "
        "`tenancy.notifications` (docs/syncs.md#notifications).",
    )

    @property
    def impersonates(self) -> bool:
        """Whether the controllers may only act as service accounts."""
        return self.profile is Profile.MULTI_TENANT and self.controller_rights is ControllerRights.IMPERSONATE

    def lane_of(self, lane: str | None) -> str:
        """The lane of a tenant that names this one, or none; empty if the tenants share the platform's controllers."""
        return (lane or DEFAULT_LANE) if self.lanes else ""

    def resources_of(self, controller: Controller, lane: str = "") -> list[Resources]:
        """The resources of a controller of a lane, or of the platform; later ones are merged over earlier ones."""
        several: list[Mapping[Controller, Resources]] = [self.resources]
        several += [self.lanes[lane].resources] if lane else []
        return [found[controller] for found in several if controller in found]

    def arguments_of(self, controller: Controller, lane: str = "") -> list[str]:
        """The user's arguments of a controller of a lane, or of the platform."""
        given = self.extra_args.get(controller, ())
        workers = self.lanes[lane].workers if lane else None
        if workers is None:
            return list(given)
        return [*(each for each in given if not each.startswith(CONCURRENT)), f"{CONCURRENT}{workers}"]

    @property
    def grants_named_tokens(self) -> bool:
        """Whether the controllers may create tokens, and the stack names the accounts: since Flux 2.10."""
        return self.workload_identity and reviewed_minor(self.version) >= (2, 10)

    @property
    def url(self) -> str:
        return self.manifests.url or RELEASE_URL.format(version=self.version)

    @model_validator(mode="after")
    def _reviewed_version(self) -> FluxConfig:
        if FLUX.supports(self.version):
            return self
        newer = minor(self.version) > max(FLUX.minors)
        own, newest = (".".join(map(str, each)) for each in (minor(self.version), max(FLUX.minors)))
        if newer and self.unreviewed_minor == own:
            return self
        raise MisplacedValueError(
            ("version",),
            Message(
                "FT-FLX-011",
                f"is a release of Flux {own}, whose flags, rights and fields are not reviewed for this program",
                f"use {FLUX.versions()}, or set flux.unreviewedMinor to {own} to install it like Flux {newest}",
            ).of(self.version)
            if newer
            else Message("FT-CFG-301", "is not a supported version of Flux", f"use {FLUX.versions()}").of(self.version),
        )

    @field_validator("default_service_account")
    @classmethod
    def _powerless(cls, account: str) -> str:
        if account in {name for each in Controller for name in (each.value, account_of(each))}:
            raise ValueError(
                Message(
                    "FT-CFG-306",
                    "is one of Flux's own service accounts; objects in flux-system that name no account would run "
                    "with its permissions",
                    "choose another name",
                )
            )
        return account

    @field_validator("components")
    @classmethod
    def _usable(cls, components: tuple[Controller, ...]) -> tuple[Controller, ...]:
        if missing := [str(needed) for needed in REQUIRED_CONTROLLERS if needed not in components]:
            raise ValueError(
                Message("FT-CFG-307", f"must include {' and '.join(missing)}, without which no tenant is reconciled")
            )
        if len(set(components)) != len(components):
            raise ValueError(Message("FT-CFG-308", "lists a controller twice", "keep one of them"))
        return components

    @model_validator(mode="after")
    def _something_to_report(self) -> FluxConfig:
        if self.notifications and self.sync is None:
            raise MisplacedValueError(
                ("notifications",),
                Message(
                    "FT-MSG-061",
                    "reports on flux.sync, which is not set",
                    "set flux.sync, or use tenancy.notifications for notifications about tenants",
                ),
            )
        return self

    @model_validator(mode="after")
    def _lanes_fit(self) -> FluxConfig:
        if not self.lanes and self.set_lanes:
            raise MisplacedValueError(
                ("setLanes",), Message("FT-CFG-867", "has no lanes to set", "remove it, or set flux.lanes")
            )
        if not self.lanes:
            return self
        if DEFAULT_LANE not in self.lanes:
            raise MisplacedValueError(
                ("lanes",),
                Message("FT-CFG-861", f"lacks the lane {DEFAULT_LANE} of tenants that name none", "add it"),
            )
        if not self.impersonates:
            raise MisplacedValueError(
                ("lanes",),
                Message(
                    "FT-CFG-862",
                    "needs controllers with narrow rights: with those of the release, each lane is cluster-admin",
                    "use profile: multi-tenant with controllerRights: impersonate, or remove the lanes",
                ),
            )
        for name, lane in self.lanes.items():
            of_lanes = [each for each in self.components if each in LANED]
            if absent := [each.value for each in lane.resources if each not in of_lanes]:
                raise MisplacedValueError(
                    ("lanes", name, "resources"),
                    Message(
                        "FT-CFG-863",
                        f"lists {', '.join(absent)}, which a lane does not have",
                        f"use {', '.join(of_lanes)}",
                    ),
                )
        if any(each.startswith(SELECTOR) for controller in LANED for each in self.extra_args.get(controller, ())):
            raise MisplacedValueError(
                ("extraArgs",),
                Message("FT-CFG-864", f"sets {SELECTOR[:-1]}, which flux.lanes sets itself", "remove it"),
            )
        return self

    @model_validator(mode="after")
    def _arguments_fit(self) -> FluxConfig:
        for path, controllers in (
            (("extraArgs",), self.extra_args),
            (("resources",), self.resources),
            (("egress", "allowed"), self.egress.allowed),
        ):
            if strangers := [str(controller) for controller in controllers if controller not in self.components]:
                raise MisplacedValueError(
                    path,
                    Message(
                        "FT-CFG-309",
                        f"lists {', '.join(strangers)}, but flux.components does not",
                        "add it there, or remove it here",
                    ),
                )
        if self.egress.allowed and not self.egress.api_server:
            raise MisplacedValueError(
                ("egress", "allowed"),
                Message(
                    "FT-TEN-530",
                    "would cut controllers off from the API server",
                    "list its endpoints in flux.egress.apiServer; `kubectl get endpointslices kubernetes` shows them",
                ),
            )
        if self.profile is Profile.MULTI_TENANT:
            found = (
                refusal(controller, each, self.version)
                for controller, several in self.extra_args.items()
                for each in several
            )
            if reasons := list(filter(None, found)):
                raise MisplacedValueError(("extraArgs",), joined(reasons))
        if self.impersonates:
            for controller, more in self.extra_args.items():
                if any(map(caches_secrets, more)):
                    raise MisplacedValueError(
                        ("extraArgs",),
                        Message(
                            "FT-CFG-312",
                            f"enables the feature gate {SECRETS_CACHE}, which makes {controller.value} watch all "
                            "Secrets of the cluster; controllerRights: impersonate does not allow that",
                            "remove the gate",
                        ),
                    )
        return self
