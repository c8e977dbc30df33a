"""Which hosts Flux's controllers may connect to without TLS: those that the stack itself names or allows so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from flux_tenancy.components.allowlists.source_patterns import ANYTHING
from flux_tenancy.components.installs.flux.egress import host_and_port
from flux_tenancy.components.sources.config import ExternalArtifactSource
from flux_tenancy.components.sources.objects import fetched_url, is_encrypted
from flux_tenancy.components.vocabulary.names import Controller

if TYPE_CHECKING:
    from flux_tenancy.components.stack.config import StackConfig

_PLAIN = "http://"
# The schemes of entries in allow-lists that allow sources without TLS; for `oci://` and `bucket://` with `insecure`.
_PLAIN_SCHEMES = (_PLAIN, "oci://", "bucket://")


def plain_http(config: StackConfig) -> dict[Controller, tuple[str, ...]]:
    """The hosts by controller, with their ports; `*` for any.

    A URL that is a secret is not among them: its host would be readable in the controller's Deployment.
    """
    policies = config.policies
    own = [tenant.policies for tenant in config.tenants.values()]
    sources = [*_declared_sources(config)]
    messages = [*sources, *_declared_notifications(config)]
    if policies.sources.plain_http:
        entries = (*policies.sources.allowed, *(entry for each in own for entry in each.sources))
        sources += [_host(each) for each in entries if each == ANYTHING or each.startswith(_PLAIN_SCHEMES)]
    if policies.notifications.plain_http:
        entries = (*policies.notifications.hosts, *(entry for each in own for entry in each.notifications))
        messages += [host_and_port(each) for each in entries]
    hosts = {
        Controller.SOURCE: sources,
        Controller.IMAGE_REFLECTOR: sources,
        Controller.IMAGE_AUTOMATION: sources,
        Controller.NOTIFICATION: messages,
    }
    return {controller: tuple(dict.fromkeys(each)) for controller, each in hosts.items() if each}


def _declared_sources(config: StackConfig) -> Iterator[str]:
    yield from (_host(each.url) for each in config.sources.values() if not is_encrypted(each))
    for tenant in config.active_tenants.values():
        for source in tenant.sources.values():
            if not isinstance(source, ExternalArtifactSource) and not is_encrypted(source):
                yield _host(fetched_url(source))


def _declared_notifications(config: StackConfig) -> Iterator[str]:
    """Hosts of notifications, and of Git repositories, which messages about commits go to by default."""
    several = [config.flux.notifications, config.tenancy.notifications]
    several += [tenant.notifications for tenant in config.active_tenants.values()]
    for each in (notification for notifications in several for notification in notifications.values()):
        if each.address is not None and each.address.lower().startswith(_PLAIN):
            yield _host(each.address)


def _host(url: str) -> str:
    """Host and port of a URL, without a user; `*` of itself."""
    return url if url == ANYTHING else host_and_port(urlsplit(url).netloc.rpartition("@")[2].lower())
