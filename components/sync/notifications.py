"""The objects of a notification as plain manifests: a Secret with its credentials, a Provider and an Alert.

An Alert gets the events of its own namespace only, so a tenant with several namespaces has one in each.

Source: https://fluxcd.io/flux/components/notification/ and `--no-cross-namespace-refs` in
internal/server/event_handlers.go of notification-controller 1.9
"""

from __future__ import annotations

from urllib.parse import urlsplit

from components.plan.planned import Planned, Stage
from components.sync.notifications_config import Notification
from components.sync.provider_types import Address
from components.vocabulary.manifests import Manifest
from components.vocabulary.object_meta import ObjectMeta

PROVIDER_API = "notification.toolkit.fluxcd.io/v1beta3"
SECRET_NAME = r"[a-z0-9-]+\.[a-z0-9-]+-[0-9a-f]{8}"
"""Pattern of the generated names of Secrets: namespace, notification, and what the provider adds."""
# With the Secret, whether it has one or not, twice while it is replaced.
_ROOM = {"count/providers.notification.toolkit.fluxcd.io": 1, "count/secrets": 2}


def planned_notification(meta: ObjectMeta, key: str, config: Notification, repository: str | None) -> list[Planned]:
    """A notification: an immutable Secret if it has credentials, a Provider that refers to it, and an Alert.

    Args:
        meta: name of the sync, and namespace and labels of the objects.
        key: name of the notification.
        config: the notification.
        repository: URL of the sync's repository; None if it applies none.
    """
    name = f"{meta.name}-{key}"
    spec: Manifest = {"type": config.type}
    if (address := stated_address(config, repository)) is not None:
        spec["address"] = address
    if config.channel is not None:
        spec["channel"] = config.channel
    if config.username is not None and config.password is None:
        spec["username"] = config.username
    secrets: list[Planned] = []
    if data := _secret_data(config):
        # Resources of a stack have unique names, and neither a namespace nor a key contains a dot.
        prefix = f"{meta.namespace}.{key}"
        secrets.append(Planned(Stage.CONTENT, meta.immutable_secret(prefix, data), room={}))
        spec["secretRef"] = {"name": prefix}
        if config.certificate_authority is not None:
            spec["certSecretRef"] = {"name": prefix}
    metadata = meta.metadata(name)
    credentials = tuple(each.key for each in secrets)
    provider = Planned(
        Stage.CONTENT,
        {"apiVersion": PROVIDER_API, "kind": "Provider", "metadata": metadata, "spec": spec},
        needs=credentials,
        room=_ROOM,
    )
    alert = {"apiVersion": PROVIDER_API, "kind": "Alert", "metadata": metadata, "spec": _alert(name, config)}
    return [*secrets, provider, Planned(Stage.CONTENT, alert, needs=(*credentials, provider.key))]


def stated_address(config: Notification, repository: str | None) -> str | None:
    """The address that everybody may read; None if it is a credential or belongs to the type.

    Args:
        config: the notification.
        repository: URL of the sync's repository; None if it applies none.
    """
    if config.provider.address is Address.REPOSITORY and config.address is None and config.secret_address is None:
        url = urlsplit(repository or "")
        # Flux would take the port of SSH for that of the host's API.
        return f"https://{url.hostname}{url.path}" if url.scheme == "ssh" else repository
    return config.address


def _secret_data(config: Notification) -> dict[str, str]:
    """The entries of the Secret, not encoded.

    Source: https://fluxcd.io/flux/components/notification/providers/#secret-reference
    """
    secrets = {"address": config.secret_address, "token": config.token, "password": config.password}
    data = {key: value.get_secret_value().strip() for key, value in secrets.items() if value is not None}
    if config.password is not None and config.username is not None:
        data["username"] = config.username
    if config.certificate_authority is not None:
        data["ca.crt"] = config.certificate_authority
    return data


def _alert(name: str, config: Notification) -> Manifest:
    spec: Manifest = {
        "providerRef": {"name": name},
        "eventSeverity": config.severity,
        "eventSources": [{"kind": kind, "name": "*"} for kind in config.sent_kinds],
    }
    lists = {"inclusionList": list(config.include), "exclusionList": list(config.exclude)}
    spec |= {key: entries for key, entries in lists.items() if entries}
    return spec | ({"eventMetadata": dict(config.metadata)} if config.metadata else {})
