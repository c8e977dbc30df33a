"""What Flux's security profile needs from the other sections of a stack."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flux_tenancy.components.installs.flux.profile import StackFacts
from flux_tenancy.components.stack.checks.plain_http import plain_http
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.sync.decryption import key_service_hosts
from flux_tenancy.components.tenant.capsule.objects import capsule_limits
from flux_tenancy.components.tenant.config import TenantConfig
from flux_tenancy.components.tenant.tenancy_config import TenantLimits


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
