"""PlatformSync: the platform team's own repository, reconciled with the platform's rights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi

from components.cluster.generated_names import generated_names, referring
from components.cluster.manifests import register
from components.flux.config import PlatformSyncConfig
from components.flux.platform_objects import platform_kustomization
from components.git.source import GitAccess, RegisteredSource, register_source
from components.sync.decryption_objects import decryption_objects
from components.sync.notification_objects import notification_objects
from components.sync.notifications import register_notifications
from components.sync.notifications_config import Notification
from components.vocabulary.names import PLATFORM


@dataclass(frozen=True)
class PlatformSyncArgs:
    """What PlatformSync needs.

    Attributes:
        config: the `flux.sync` section of the stack.
        path: the folder of the repository to apply.
        access: what all Git sources of the stack share.
        notifications: the messages about it, by name.
    """

    config: PlatformSyncConfig
    path: str
    access: GitAccess
    notifications: Mapping[str, Notification] = field(default_factory=dict)


class PlatformSync(pulumi.ComponentResource):
    """The GitRepository and the Kustomization `flux-system`, as `flux bootstrap` would create them.

    Attributes:
        path: the folder that is applied.
        source: the repository.
        sync: the Kustomization.
    """

    path: str
    source: RegisteredSource
    sync: pulumi.CustomResource

    def __init__(self, name: str, args: PlatformSyncArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("flux-tenancy:index:PlatformSync", name, None, opts)
        self.path = args.path
        self.source = register_source(PLATFORM, args.config.source, args.access, parent=self, after=[])
        decryption = decryption_objects(PLATFORM, args.config.decryption)
        decrypting = [register(manifest, pulumi.ResourceOptions(parent=self)) for manifest in decryption.manifests]
        names = generated_names(zip(decryption.manifests, decrypting, strict=True))
        notifications = [
            notification_objects(PLATFORM, key, each, args.config.source.url)
            for key, each in args.notifications.items()
        ]
        notifying = register_notifications(notifications, parent=self, after=[])
        self.sync = register(
            referring(platform_kustomization(args.config, args.path, decryption.spec), names),
            pulumi.ResourceOptions(parent=self, depends_on=[self.source.source, *decrypting, *notifying]),
        )
        self.register_outputs({})
