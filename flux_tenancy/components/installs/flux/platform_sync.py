"""PlatformSync: the platform team's own repository, reconciled with the platform's rights.

Its objects have the same names as `flux bootstrap` uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi

from flux_tenancy.components.git.source import GitAccess, planned_source
from flux_tenancy.components.plan import Planned, Registered, Stage, register_planned
from flux_tenancy.components.sync.decryption import decryption_objects
from flux_tenancy.components.sync.kustomization import kustomization
from flux_tenancy.components.sync.notifications import Notification, planned_notification
from flux_tenancy.components.vocabulary.names import PLATFORM_META, Controller

if TYPE_CHECKING:
    from flux_tenancy.components.installs.flux.config import PlatformSyncConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest


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
