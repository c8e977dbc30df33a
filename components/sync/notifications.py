"""Registers the objects of notifications."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pulumi

from components.cluster.generated_names import generated_names, referring
from components.cluster.manifests import register
from components.sync.notification_objects import NotificationObjects


def register_notifications(
    notifications: Iterable[NotificationObjects],
    parent: pulumi.Resource,
    after: Sequence[pulumi.Input[pulumi.Resource]],
) -> list[pulumi.Resource]:
    """Register notifications, each Alert after its Provider; returns all of their resources.

    A changed credential is another Secret, which exists before the Provider refers to it.

    Args:
        notifications: their objects.
        parent: the component that they belong to.
        after: the resources to depend on.
    """
    registered: list[pulumi.Resource] = []

    def opts(*more: pulumi.Resource) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=parent, depends_on=[*after, *more])

    for each in notifications:
        secrets = [(each.secret, register(each.secret, opts()))] if each.secret is not None else []
        secret_resources = [secret for _, secret in secrets]
        provider = register(referring(each.provider, generated_names(secrets)), opts(*secret_resources))
        registered += [*secret_resources, provider, register(each.alert, opts(*secret_resources, provider))]
    return registered
