"""The `flux` section: the release, its security profile and the platform's own repository."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, field_validator, model_validator

from flux_tenancy.components.config.errors import (
    NO_EFFECT,
    NOT_A,
    NOT_ALLOWED,
    RESERVED,
    SET_BY,
    TWICE,
    MisplacedValueError,
)
from flux_tenancy.components.config.messages import Message, joined
from flux_tenancy.components.config.networks import NetworkRange
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import RESERVED_PREFIXES, DnsLabel, Network, RepositoryPath, Sha256, WebUrl
from flux_tenancy.components.git.config import GitSource
from flux_tenancy.components.installs.flux.lockdown_flags import SECRETS_CACHE, enables, refusal
from flux_tenancy.components.installs.flux.release import (
    FLUX,
    SELECTOR,
    ControllerArgument,
    EgressHost,
    FluxMinor,
    FluxVersion,
    reviewed_minor,
)
from flux_tenancy.components.installs.product import ControllerResources, UrlOrBundle, minor
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
CONCURRENT = "--concurrent="
# With the name of a controller and what the Deployment controller adds, it is part of the names of pods.
_LONGEST_LANE = 20
_CLUSTERS_OWN = tuple(prefix for prefix in RESERVED_PREFIXES if not FLUX_NAMESPACE.startswith(prefix))


class Profile(StrEnum):
    """Flux's security profiles. Source: Flux RFC-0003."""

    MULTI_TENANT = "multi-tenant"
    SINGLE_TENANT = "single-tenant"


class ManifestSource(UrlOrBundle):
    """Where a release's install manifest comes from. Either is checked against the same digest."""


class PlatformSyncConfig(Reconciliation):
    """The platform team's own repository, applied with the rights of kustomize-controller.

    Its objects have the names that `flux bootstrap` uses, so that a bootstrapped cluster can be taken over.
    """

    source: Annotated[GitSource, Field(description="The platform's own repository.")]
    path: RepositoryPath | None = Field(None, description="Folder to apply; defaults to `./clusters/<stack>`.")


class VaultServer(Section):
    """An OpenBao or Vault server, and where service accounts of the cluster log in to it.

    Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#openbaovault-kubernetes-auth
    """

    address: WebUrl = Field(description="Its address, exactly as in the encrypted files.")
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
        description="Their namespace; not one of the cluster's own components, like `kube-system`."
    )
    service_accounts: tuple[DnsLabel, ...] = Field(min_length=1, description="Their names; create and bind them.")

    @field_validator("namespace")
    @classmethod
    def _not_the_clusters(cls, namespace: str) -> str:
        """The Role reads all Secrets of the namespace, here those of the cluster's components."""
        if namespace.startswith(_CLUSTERS_OWN):
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
        description=(
            "Hosts that kustomize-controller and helm-controller may reach over HTTP, with ports, e.g. "
            "`files.example.com:443`. Every tenant can fetch files from them "
            "(docs/lockdown.md#what-kustomize-controller-and-helm-controller-may-connect-to)."
        ),
    )
    networks: tuple[Network, ...] = Field(
        (),
        description=(
            "Networks that a NetworkPolicy opens for kustomize-controller, in addition to DNS and "
            "`flux-system`: those of the API server and of `hosts`. Any by default."
        ),
    )
    allowed: dict[Controller, tuple[NetworkRange, ...]] = Field(
        default_factory=dict,
        description=(
            "Addresses that a NetworkPolicy opens for a controller, in addition to DNS, `flux-system` "
            "and `apiServer`; any for controllers that are not listed (docs/grants.md#network)."
        ),
    )
    api_server: tuple[NetworkRange, ...] = Field(
        (), description="Endpoints of the API server (`kubectl get endpointslices kubernetes`), for `allowed`."
    )
    proxy: WebUrl | None = Field(
        None,
        description=(
            "Forward proxy for HTTP requests of all controllers, except to the API server and each other. "
            "Without it, kustomize-controller and helm-controller connect only to `hosts`, others directly "
            "(docs/grants.md#network)."
        ),
    )


def _usable_lane(value: str) -> str:
    if len(value) > _LONGEST_LANE or value == PLATFORM_LANE:
        raise ValueError(
            NOT_A(
                what="the name of a lane",
                example=f"team-a, with at most {_LONGEST_LANE} characters, and not {PLATFORM_LANE}",
            )
        )
    return value


LaneName = Annotated[DnsLabel, AfterValidator(_usable_lane)]


class Lane(Section):
    """A set of Flux's controllers that serves some of the tenants, and nobody else.

    Source: https://fluxcd.io/flux/installation/configuration/sharding/
    """

    resources: dict[Controller, ControllerResources] = Field(
        default_factory=dict,
        description="Compute resources of a controller of this lane, merged over `flux.resources`.",
    )
    workers: int | None = Field(
        None,
        ge=1,
        description="Objects that each controller reconciles at once; by default, more than one tenant may have.",
    )


class FluxConfig(Section):
    """The Flux release and how it is locked down."""

    version: FluxVersion = Field(description="The Flux release; changing it upgrades a running cluster.")
    sha256: Sha256 = Field(description="Digest of the release's `install.yaml`; any other content is refused.")
    unreviewed_minor: FluxMinor | None = Field(
        None,
        description=(
            "A newer minor version than supported, e.g. `2.11`, to install with the newest supported one's "
            "flags (docs/support.md)."
        ),
    )
    manifests: ManifestSource = Field(default_factory=ManifestSource, description="Source of the install manifest.")
    components: tuple[Controller, ...] = Field(DEFAULT_CONTROLLERS, description="The controllers to install.")
    profile: Profile = Field(
        Profile.MULTI_TENANT, description="The security profile; it can be changed on a running cluster."
    )
    controller_rights: ControllerRights = Field(
        ControllerRights.IMPERSONATE, description="Rights of Flux's controllers under the multi-tenant profile."
    )
    impersonate: tuple[Impersonation, ...] = Field(
        (),
        description=(
            "Service accounts of the platform's own Kustomizations and HelmReleases, except "
            "`flux.sync`'s (docs/lockdown.md#controllers-rights)."
        ),
    )
    default_service_account: DnsLabel = Field(
        "default",
        description=(
            "Service account, in their own namespace, of Kustomizations and HelmReleases that name "
            "none; only under the multi-tenant profile."
        ),
    )
    workload_identity: bool = Field(
        False,
        description=(
            "Allow controllers to create service account tokens, for workload identity of objects. "
            "Since Flux 2.10, only of accounts that the stack or `tokenAccounts` names."
        ),
    )
    extra_args: dict[Controller, tuple[ControllerArgument, ...]] = Field(
        default_factory=dict,
        description="Additional arguments, e.g. `--concurrent=8`, as far as the profile allows (docs/lockdown.md).",
    )
    resources: dict[Controller, ControllerResources] = Field(
        default_factory=dict,
        description=(
            "Compute resources of a controller, merged over the release's; its volumes have the limit "
            "for `ephemeral-storage` (docs/sizing.md#disks-of-nodes)."
        ),
    )
    lanes: dict[LaneName, Lane] = Field(
        default_factory=dict,
        description="Further sets of controllers, each for the tenants that name it in `lane`; "
        f"`{DEFAULT_LANE}` is that of all others (docs/sizing.md#lanes).",
    )
    set_lanes: bool = Field(
        False,
        description=(
            "Label tenants' Flux objects with their lane; needs Kubernetes 1.36 and `policies.engine` "
            "`native` or `both`."
        ),
    )
    set_accounts: bool = Field(
        False,
        description=(
            "Set the tenant's service account in its Kustomizations and HelmReleases that name none; needs "
            "Kubernetes 1.36."
        ),
    )
    webhook_url: WebUrl | None = Field(
        None,
        description="URL at which Git hosts reach the Service `webhook-receiver`; needed for sources with a `webhook`.",
    )
    vaults: tuple[VaultServer, ...] = Field(
        (), description="OpenBao or Vault servers that tenants' service accounts may use for decryption."
    )
    egress: FluxEgress = Field(default_factory=FluxEgress, description="Additional connections of the controllers.")
    sync: PlatformSyncConfig | None = Field(None, description="The platform's own repository; none by default.")

    notifications: dict[DnsLabel, Notification] = Field(
        default_factory=dict,
        description="Notifications about the platform's own sync, by name (docs/syncs.md#messages-to-the-platform).",
    )

    @property
    def impersonates(self) -> bool:
        """Whether the controllers may only act as service accounts."""
        return self.profile is Profile.MULTI_TENANT and self.controller_rights is ControllerRights.IMPERSONATE

    def lane_of(self, lane: str | None) -> str:
        """The lane of a tenant that names this one, or none; empty if the tenants share the platform's controllers."""
        return (lane or DEFAULT_LANE) if self.lanes else ""

    def resources_of(self, controller: Controller, lane: str = "") -> list[ControllerResources]:
        """The resources of a controller of a lane, or of the platform; later ones are merged over earlier ones."""
        several: list[Mapping[Controller, ControllerResources]] = [self.resources]
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
            else FLUX.unsupported().of(self.version),
        )

    @field_validator("default_service_account")
    @classmethod
    def _powerless(cls, account: str) -> str:
        if account in {name for each in Controller for name in (each.value, account_of(each))}:
            raise ValueError(
                RESERVED(
                    owner="Flux itself; objects in flux-system that name no account would run with its permissions"
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
            raise ValueError(TWICE(what="a controller"))
        return components

    @model_validator(mode="after")
    def _something_to_report(self) -> FluxConfig:
        if self.notifications and self.sync is None:
            raise MisplacedValueError(
                ("notifications",),
                NO_EFFECT(
                    reason="it reports on flux.sync, which is not set",
                    remedy="set flux.sync, or use tenancy.notifications for notifications about tenants",
                ),
            )
        return self

    @model_validator(mode="after")
    def _lanes_fit(self) -> FluxConfig:
        if not self.lanes and self.set_lanes:
            raise MisplacedValueError(
                ("setLanes",), NO_EFFECT(reason="there are no lanes", remedy="remove it, or set flux.lanes")
            )
        if not self.lanes:
            return self
        if DEFAULT_LANE not in self.lanes:
            raise MisplacedValueError(
                ("lanes",), Message("FT-CFG-861", f"lacks the lane {DEFAULT_LANE} of tenants that name none", "add it")
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
            raise MisplacedValueError(("extraArgs",), SET_BY(what=SELECTOR[:-1], owner="flux.lanes"))
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
                if any(enables(SECRETS_CACHE, each) for each in more):
                    raise MisplacedValueError(
                        ("extraArgs",),
                        NOT_ALLOWED(
                            what=f"the feature gate {SECRETS_CACHE}",
                            owner="controllerRights: impersonate",
                            why=f"{controller.value} would watch all Secrets of the cluster",
                        ),
                    )
        return self
