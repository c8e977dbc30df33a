"""What Flux's profile needs to know about the rest of the stack, such as the hosts that controllers may connect to
without TLS: those that the stack itself names or allows so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from flux_tenancy.components.allowlists.source_patterns import ANYTHING
from flux_tenancy.components.installs.flux.egress import host_and_port
from flux_tenancy.components.installs.flux.profile import StackFacts
from flux_tenancy.components.sources.config import ExternalArtifactSource
from flux_tenancy.components.sources.objects import fetched_url, is_encrypted
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.sync.decryption import key_service_hosts
from flux_tenancy.components.tenant.capsule.objects import capsule_limits
from flux_tenancy.components.tenant.config import TenantConfig
from flux_tenancy.components.tenant.limits import TenantLimits
from flux_tenancy.components.vocabulary.names import Controller

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


def stack_facts(config: StackConfig) -> StackFacts:
    """Hosts that the controllers need, and how many objects that occupy a worker the largest tenant may have."""
    identities = [each.workload_identity for each in config.decryptions.values() if each.workload_identity is not None]
    hosts = (host for identity in identities for host in key_service_hosts(identity))
    # A tenant that is onboarded by label has one namespace.
    limits = [[config.tenancy.limits], *(list(_limits(tenant, config)) for tenant in config.tenants.values())]
    return StackFacts(
        key_services=tuple(dict.fromkeys(hosts)),
        kustomizations=max(sum(each.most_kustomizations for each in own) for own in limits),
        helm_releases=max(sum(each.most_helm_releases for each in own) for own in limits),
        sources=max(sum(each.most_charts for each in own) for own in limits),
        plain_http=plain_http(config),
    )


def _limits(tenant: TenantConfig, config: StackConfig) -> Iterator[TenantLimits]:
    """The limits of each namespace in which Flux applies for a tenant; in those that it makes, only with the release's
    rights."""
    names: Iterable[str] = tenant.namespace_names
    if config.makes_namespaces and not config.flux.impersonates:
        names = (tenant.home, *[""] * capsule_limits(tenant, config.tenancy).namespaces)
    for name in names:
        yield tenant.limits_in(name, config.tenancy.limits)
