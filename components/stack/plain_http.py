"""Which hosts Flux's controllers may connect to without TLS: those that the stack itself names or allows so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from components.flux.controllers import Controller
from components.policies.kyverno_only import onboards
from components.sources.config import ExternalArtifactSource
from components.sources.urls import fetched_url, is_encrypted
from components.stack.config import StackConfig

_ANY = "*"
_PLAIN = "http://"
# The schemes of entries in allow-lists that allow sources without TLS; for `oci://` and `bucket://` with `insecure`.
_PLAIN_SCHEMES = (_PLAIN, "oci://", "bucket://")


def plain_http(config: StackConfig) -> dict[Controller, tuple[str, ...]]:
    """The hosts by controller, with their ports; `*` for any.

    A URL that is a secret is not among them: its host would be readable in the controller's Deployment.
    """
    policies = config.policies
    own = [tenant.policies for tenant in config.tenants.values()]
    # The lists of a namespace that is onboarded by label are in the cluster only.
    unknown: list[tuple[str, ...]] = [()] if onboards(policies) or not own else []
    sources = [*_declared_sources(config)]
    messages = [*sources, *_declared_notifications(config)]
    if policies.sources.plain_http:
        entries = _entries(policies.sources.allowed, [*(each.sources for each in own), *unknown])
        sources += [_host(each) for each in entries if each == _ANY or each.startswith(_PLAIN_SCHEMES)]
    if policies.notifications.plain_http:
        messages += _entries(policies.notifications.hosts, [*(each.notifications for each in own), *unknown])
    hosts = {
        Controller.SOURCE: sources,
        Controller.IMAGE_REFLECTOR: sources,
        Controller.IMAGE_AUTOMATION: sources,
        Controller.NOTIFICATION: messages,
    }
    return {controller: tuple(dict.fromkeys(each)) for controller, each in hosts.items() if each}


def _entries(shared: Sequence[str] | None, own: Iterable[Sequence[str]]) -> list[str]:
    """The entries of all lists; `*` if a tenant may use anything, because neither list has any."""
    lists = list(own)
    if shared is None and () in lists:
        return [_ANY]
    return [*(shared or ()), *(entry for entries in lists for entry in entries)]


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
    """Host and port of a URL, without a user."""
    return urlsplit(url).netloc.rpartition("@")[2].lower() or url
