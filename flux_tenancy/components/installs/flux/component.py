"""FluxInstall and PlatformSync: a pinned and locked-down Flux release, and the repository of the platform itself.

The objects of PlatformSync have the same names as `flux bootstrap` uses.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi

from flux_tenancy.components.engine.state import made_once
from flux_tenancy.components.git.source import GitAccess, planned_source
from flux_tenancy.components.installs.flux.config import FluxConfig, Profile
from flux_tenancy.components.installs.flux.egress import (
    REPLACED,
    ArtifactHost,
    SeenNames,
    artifact_hosts,
    artifact_secret,
    restarted,
)
from flux_tenancy.components.installs.flux.profile import NO_TENANTS, StackFacts, configured, in_phases
from flux_tenancy.components.installs.flux.release import component_of, lane_of
from flux_tenancy.components.plan import Planned, Registered, Stage, register, register_planned
from flux_tenancy.components.sync.decryption import decryption_objects
from flux_tenancy.components.sync.kustomization import kustomization
from flux_tenancy.components.sync.notifications import Notification, planned_notification
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import PLATFORM_META, RECONCILERS, Controller

if TYPE_CHECKING:
    from flux_tenancy.components.installs.flux.config import PlatformSyncConfig


# A controller starts within seconds, so one that crashes or cannot be scheduled is reported soon.
AVAILABLE = pulumi.CustomTimeouts(create="5m", update="5m")
NAME_BYTES = 16


@dataclass(frozen=True)
class FluxInstallArgs:
    """What FluxInstall needs.

    Attributes:
        release: the objects of that release, its digest already verified
            (`components.installs.flux.release.read_release`).
        before: resources that the controllers need in namespaces that already exist, as when an installation is
            updated.
        facts: what the profile needs to know about the rest of the stack.
        names: the names of artifact servers that are replaced.
    """

    config: FluxConfig
    release: Sequence[Manifest]
    before: Sequence[pulumi.Resource] = ()
    facts: StackFacts = NO_TENANTS
    names: SeenNames = SeenNames()


class FluxInstall(pulumi.ComponentResource):
    """Flux's custom resource definitions, access rules and controllers.

    A resource that depends on `last` is created once the controllers are available, and deleted before them.

    Attributes:
        last: the objects that are registered last, after all others.
        rights: the manifests that give the controllers their rights, and their service accounts.
        profile: the security profile in force.
    """

    last: list[pulumi.Resource]
    rights: list[Manifest]
    version: pulumi.Output[str]
    profile: pulumi.Output[str]

    def __init__(self, name: str, args: FluxInstallArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("flux-tenancy:index:FluxInstall", name, None, opts)
        phases = in_phases(configured(args.release, args.config, args.facts), args.config)
        namespaces = self._phase(phases.namespaces, after=[])
        definitions = self._phase(phases.definitions, after=namespaces)
        access = self._phase(phases.access, after=[*namespaces, *definitions])
        named = phases.controllers
        if args.config.profile is Profile.MULTI_TENANT:
            hosts = artifact_hosts(phases.controllers)
            objects, entries = self._artifact_hosts(hosts, args.names, after=namespaces)
            access += objects
            replaced = {host: entries[host.name] for host in hosts if host.resource in args.names.all}
            named = [_with_names(each, replaced) for each in phases.controllers]
        controllers = self._phase(named, after=[*access, *args.before])
        # Whoever depends on these depends on everything. Else each tenant would list all of Flux in the state.
        self.last = self._phase(phases.powers, after=controllers) or controllers
        self.rights = [*phases.access, *phases.powers]
        self.version = pulumi.Output.from_input(args.config.version)
        self.profile = pulumi.Output.from_input(args.config.profile.value)
        self.register_outputs({"version": self.version, "profile": self.profile})

    def _phase(self, manifests: list[Manifest], after: Sequence[pulumi.Resource]) -> list[pulumi.Resource]:
        opts = pulumi.ResourceOptions(parent=self, depends_on=list(after), custom_timeouts=AVAILABLE)
        return [register(manifest, opts) for manifest in manifests]

    def _artifact_hosts(
        self, hosts: Sequence[ArtifactHost], names: SeenNames, after: Sequence[pulumi.Resource]
    ) -> tuple[list[pulumi.Resource], Mapping[str, pulumi.Output[str]]]:
        """Services with names that no tenant can guess, and the Secret that tells kustomize-controller the names.

        Each name is generated once; later updates keep the one in the state until it is seen where tenants read. Also
        returns the entries of the Secret. See `components.installs.flux.egress`.
        """
        opts = pulumi.ResourceOptions(parent=self, depends_on=list(after))
        keep_name = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["metadata.name"]))
        services: list[pulumi.Resource] = []
        entries: dict[str, pulumi.Output[str]] = {}
        for host in hosts:
            annotations = {REPLACED: "replaced"} if host.resource in names.all else {}
            manifest = host.service(made_once(lambda: f"artifacts-{secrets.token_hex(NAME_BYTES)}"), annotations)
            service = register(manifest, opts if host.resource in names.seen else keep_name, host.resource)
            # The SDK sets an attribute for each property of a resource.
            metadata: pulumi.Output[Manifest] = service.metadata  # type: ignore[attr-defined]
            services.append(service)
            entries[host.name] = metadata["name"].apply(host.entry)
        return [*services, register(artifact_secret(entries), opts)], entries


def _with_names(manifest: Manifest, replaced: Mapping[ArtifactHost, pulumi.Output[str]]) -> Manifest:
    """An object of the release; a controller that applies starts again with the names that were replaced."""
    controller = component_of(manifest)
    if manifest["kind"] != "Deployment" or controller not in RECONCILERS:
        return manifest
    needed = [entry for host, entry in replaced.items() if host.serves(controller, lane_of(manifest))]
    return restarted(manifest, needed)


@dataclass(frozen=True)
class PlatformSyncArgs:
    """What PlatformSync needs.

    Attributes:
        planned: its objects (`planned_platform_sync`).
        options: further options of an object in the cluster.
    """

    planned: Sequence[Planned]
    options: Callable[[Manifest], pulumi.ResourceOptions] = lambda _: pulumi.ResourceOptions()


class PlatformSync(pulumi.ComponentResource):
    """The GitRepository and the Kustomization `flux-system`, as `flux bootstrap` would create them.

    Attributes:
        registered: all of its resources, by the key of what was planned.
    """

    registered: Registered

    def __init__(self, name: str, args: PlatformSyncArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("flux-tenancy:index:PlatformSync", name, None, opts)
        own = pulumi.ResourceOptions(parent=self)
        self.registered = register_planned(
            args.planned, lambda each: pulumi.ResourceOptions.merge(own, args.options(each.manifest))
        )
        self.register_outputs({})


def planned_platform_sync(
    config: PlatformSyncConfig,
    path: str,
    access: GitAccess,
    notifications: Mapping[str, Notification],
    provider_api: str,
) -> Iterator[Planned]:
    """All objects of the platform's own sync.

    Args:
        config: the `flux.sync` section of the stack.
        notifications: the messages about it, by name.
    """
    yield from planned_source(PLATFORM_META, config.source, access)
    decryption = decryption_objects(PLATFORM_META, config.decryption)
    for manifest in decryption.manifests:
        yield Planned(Stage.CONTENT, manifest)
    for key, each in notifications.items():
        yield from planned_notification(PLATFORM_META, key, each, config.source.url, provider_api)
    yield Planned(Stage.SYNCS, platform_kustomization(config, path, decryption.spec))


def platform_path(config: PlatformSyncConfig, stack: str) -> str:
    """The folder of the platform's repository that belongs to a stack."""
    return config.path or default_path(stack)


def default_path(stack: str) -> str:
    """The folder of a stack that does not set one."""
    return f"./clusters/{stack}"


def platform_kustomization(config: PlatformSyncConfig, path: str, decryption: Manifest) -> Manifest:
    """The Kustomization of the platform.

    It names a service account, since under the multi-tenant profile the default one has no rights.
    """
    return kustomization(
        PLATFORM_META.metadata(PLATFORM_META.name),
        config,
        path=path,
        service_account=Controller.KUSTOMIZE.value,
        decryption=decryption,
    )
